"""What tools are called, whatever they and their servers call themselves."""

import re
from collections import defaultdict

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.nasty import ALL_NAMED, LENGTHS, NAMED, SAFE, THOROUGH, TOOLS
from pointsman_contract import names
from pointsman_contract.names import NoPrefix

# Lone surrogates included: a name may come from a document that holds them.
ANY_TEXT = st.text(st.characters(), max_size=80)
PREFIXES = NAMED.map(lambda named: named[0])
SPEAKING = st.text("ab_-.A9é ", min_size=1, max_size=12)
HASH = re.compile(r".*_[0-9a-f]{8}", re.ASCII | re.DOTALL)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        pytest.param("github", "github", id="a plain name"),
        pytest.param("my-server", "my_server", id="a hyphen"),
        pytest.param("My.Server", "my_server", id="capitals and a dot"),
        pytest.param("--a---b--", "a_b", id="runs, and hyphens at the ends"),
        pytest.param("7zip", "s_7zip", id="a digit in front"),
        pytest.param("été 2024", "t_2024", id="letters beyond ASCII"),
        pytest.param("a" * 32, "a" * 32, id="the longest that stays whole"),
        pytest.param("a" * 33, "aaaaaaaaaaaaaaaaaaaaaaa_852785c8", id="one more"),
        pytest.param("a" * 22 + "-" + "b" * 20, "a" * 22 + "_1ebcf41e", id="no two underscores"),
    ],
)
def test_a_server_has_the_prefix_that_its_name_makes(name: str, prefix: str) -> None:
    assert names.prefix_from(name) == prefix


@pytest.mark.parametrize("name", ["", "-", "...", "日本語", "\U0001f600", "\ud800"])
def test_a_name_without_letter_or_digit_makes_no_prefix(name: str) -> None:
    with pytest.raises(NoPrefix):
        names.prefix_from(name)


@given(ANY_TEXT | SPEAKING)
def test_whatever_prefix_a_name_makes_fits_what_may_be_asked_for(name: str) -> None:
    try:
        prefix = names.prefix_from(name)
    except NoPrefix:
        assert not re.search("[a-z0-9]", name.lower(), re.ASCII)
        return

    assert names.is_prefix(prefix)
    assert len(prefix) <= names.PREFIX_MAX_LENGTH


@THOROUGH
@given(PREFIXES)
def test_a_prefix_makes_itself(prefix: str) -> None:
    assert names.is_prefix(prefix)
    assert names.prefix_from(prefix) == prefix


@pytest.mark.parametrize(
    "text",
    ["", "a", "a_b", "abc9", "A", "9a", "_a", "a_", "a__b", "a-b", "a.b", "ä", "a\n", "a" * 33],
)
def test_only_words_of_small_letters_and_digits_may_stand_in_front(text: str) -> None:
    assert names.is_prefix(text) == (text in {"a", "a_b", "abc9"})


@pytest.mark.parametrize(
    ("tool", "dotted", "listed", "safe"),
    [
        pytest.param("add", "x.add", "x.add", "x__add", id="a plain name"),
        pytest.param("a-b_C9", "x.a-b_C9", "x.a-b_C9", "x__a-b_C9", id="all that is safe"),
        pytest.param("a.b", "x.a.b", "x.a.b", "x__a_b_2e7336dc", id="a dot"),
        pytest.param("a/b c", "x.a/b c", "x.a/b c", "x__a_b_c_0af99a60", id="a slash and a space"),
        pytest.param("é", "x.é", "x.é", "x____4a99557e", id="a letter beyond ASCII"),
        pytest.param(
            "t" * 62,
            "x." + "t" * 62,
            "x." + "t" * 62,
            "x__" + "t" * 52 + "_e280b097",
            id="too long in the safe form",
        ),
        pytest.param(
            "t" * 63,
            "x." + "t" * 63,
            "x." + "t" * 53 + "_cdfb51ce",
            "x__" + "t" * 52 + "_cdfb51ce",
            id="too long in both forms",
        ),
    ],
)
def test_a_tool_has_these_names(tool: str, dotted: str, listed: str, safe: str) -> None:
    found = names.of("x", tool)

    assert (found.dotted, found.listed, found.safe) == (dotted, listed, safe)


@THOROUGH
@given(NAMED, TOOLS)
def test_listed_names_are_never_longer_than_asked_for_and_safe_ones_are_safe(
    named: tuple[str, str], other: str
) -> None:
    prefix, tool = named
    least, most = names.LISTED_MAX_LENGTH_BOUNDS

    for each, lengths in ((tool, range(least, most + 1)), (other, (least, 64, most))):
        for max_length in lengths:
            found = names.of(prefix, each, max_length=max_length)
            assert len(found.listed) <= max_length
            assert len(found.safe) <= max_length
            assert SAFE.fullmatch(found.safe)
            assert found.dotted == f"{prefix}.{each}"


@pytest.mark.parametrize(
    ("tool", "bare"),
    [
        pytest.param("search", "search", id="a plain name"),
        pytest.param("create.issue", f"create_issue_{names._hash('create.issue')}", id="a dot"),
        pytest.param("t" * 64, "t" * 64, id="the longest that stays whole"),
        pytest.param("t" * 65, "t" * 55 + f"_{names._hash('t' * 65)}", id="one more"),
    ],
)
def test_a_tool_that_needs_no_prefix_goes_by_its_own_name_in_safe_letters(
    tool: str, bare: str
) -> None:
    assert names.bare(tool) == bare


@THOROUGH
@given(NAMED, LENGTHS)
def test_a_bare_name_is_safe_and_as_short_and_that_of_no_other_prefix(
    named: tuple[str, str], max_length: int
) -> None:
    prefix, tool = named
    assume(tool)
    bare = names.bare(tool, max_length=max_length)
    safe = names.of(prefix, tool, max_length=10_000).safe

    assert SAFE.fullmatch(bare)
    assert len(bare) <= max_length
    assert names.bare(tool, max_length=10_000) == safe.removeprefix(f"{prefix}__")


@THOROUGH
@given(st.lists(TOOLS, max_size=30, unique=True), LENGTHS)
def test_a_bare_name_that_two_tools_share_ends_in_a_hash(tools: list[str], max_length: int) -> None:
    holders: dict[str, set[str]] = defaultdict(set)
    for tool in tools:
        holders[names.bare(tool, max_length=max_length)].add(tool)

    assert all(HASH.fullmatch(name) for name, users in holders.items() if len(users) > 1)


@THOROUGH
@given(NAMED, NAMED)
def test_the_dotted_name_belongs_to_one_tool_of_one_server(
    named: tuple[str, str], other: tuple[str, str]
) -> None:
    assume(named != other)

    assert names.of(*named).dotted != names.of(*other).dotted


@THOROUGH
@given(ALL_NAMED, LENGTHS)
def test_a_name_that_two_tools_share_ends_in_a_hash(
    tools: list[tuple[str, str]], max_length: int
) -> None:
    holders: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for prefix, tool in tools:
        found = names.of(prefix, tool, max_length=max_length)
        for name in (found.dotted, found.listed, found.safe):
            holders[name].add((prefix, tool))

    # 32 bits may meet, and a tool may be called like another one's hash: whoever exposes tools
    # looks for that. Nothing else may ever make two tools share a name.
    assert all(HASH.fullmatch(name) for name, users in holders.items() if len(users) > 1)


@THOROUGH
@given(ALL_NAMED)
def test_a_dotted_name_is_never_a_safe_name(tools: list[tuple[str, str]]) -> None:
    called = [names.of(prefix, tool) for prefix, tool in tools]

    assert {each.dotted for each in called}.isdisjoint(each.safe for each in called)


def test_a_tool_called_like_the_short_form_of_another_shares_its_name() -> None:
    long = names.of("x", "t" * 100)
    lookalike = long.listed.removeprefix("x.")

    assert names.of("x", lookalike).listed == long.listed
    assert names.of("x", lookalike).dotted != long.dotted


@pytest.mark.parametrize(
    ("tool", "exposable"),
    [
        pytest.param("add", True, id="a plain name"),
        pytest.param("files/read.all v2", True, id="a space, a slash, a dot"),
        pytest.param("größe", True, id="letters beyond ASCII"),
        pytest.param("読む", True, id="another script"),
        pytest.param("", False, id="nothing"),
        pytest.param("a\nb", False, id="a line break"),
        pytest.param("a\x00", False, id="a null"),
        pytest.param("a\x7f", False, id="delete"),
        pytest.param("a\x85b", False, id="a control character beyond ASCII"),
        pytest.param("a\u200bb", False, id="a space of no width"),
        pytest.param("a\u202eb", False, id="a change of direction"),
        pytest.param("a\u2028b", False, id="a line separator"),
        pytest.param("a\ufeffb", False, id="a byte order mark"),
        pytest.param("a\u00adb", False, id="a soft hyphen"),
        pytest.param("a\u3164b", False, id="a filler"),
        pytest.param("a\u2800b", False, id="an empty pattern of Braille"),
        pytest.param("a\ufe0fb", False, id="a variation selector"),
        pytest.param("a\U000e0100b", False, id="a variation selector far out"),
        pytest.param("a\U000e0041b", False, id="a tag"),
        pytest.param("a\U000e0fffb", False, id="an unassigned tag"),
        pytest.param("a\u2065b", False, id="an unassigned mark"),
        pytest.param("a\ufff8b", False, id="an unassigned special"),
        pytest.param("a\ud800b", False, id="half of a surrogate pair"),
    ],
)
def test_a_tool_whose_name_hides_something_is_not_shown(tool: str, exposable: bool) -> None:
    assert names.is_exposable(tool) is exposable


@given(TOOLS)
def test_whether_a_tool_may_be_shown_can_be_asked_of_any_name(tool: str) -> None:
    assert names.is_exposable(tool) in {True, False}
