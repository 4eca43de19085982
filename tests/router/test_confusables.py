"""Names that may be taken for each other are served, and flagged."""

import itertools
import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import Known, built, built_of, found, listed, only, server
from bench.worlds import World, worlds
from pointsman_contract.meta import Definitions, Override, Policy
from pointsman_contract.report import SkippedTool, printable
from pointsman_router import confusables, flags
from pointsman_router.confusables import Likeness
from pointsman_router.exposure import Exposure
from pointsman_router.listing import Form


def flagged(exposure: Exposure) -> list[str]:
    assert {flag.reason for flag in exposure.flagged} <= {"ConfusableName"}
    assert all(flag.message.isprintable() for flag in exposure.flagged)
    return [flag.name for flag in exposure.flagged]


ALIKE = [
    pytest.param("list", "LIST", id="capitals"),
    pytest.param("list", "Iist", id="a capital I"),
    pytest.param("list", "1ist", id="a one"),
    pytest.param("LIST", "L1ST", id="a one among capitals"),
    pytest.param("get_o", "get_0", id="a zero"),
    pytest.param("GO", "g0", id="a zero for a capital"),
    pytest.param("search", "sear\u0441h", id="a Cyrillic letter"),
    pytest.param("copy", "\u0441\u043e\u0440\u0443", id="a word of Cyrillic letters"),
    pytest.param("TEXT", "\u0422\u0415\u0425\u0422", id="Cyrillic capitals"),
    pytest.param("\u0441\u043e\u0440\u0443", "c\u043ep\u0443", id="two ways to mix"),
    pytest.param("call", "\u03f2all", id="a Greek symbol"),
    pytest.param("only", "\u03bfnly", id="a Greek letter"),
    pytest.param("ABET", "\u0391\u0392\u0395\u03a4", id="Greek capitals"),
    pytest.param("search", "\uff53\uff45arch", id="fullwidth letters"),
    pytest.param("a_b", "a\uff3fb", id="a fullwidth line"),
    pytest.param("read", "\U0001d42bead", id="mathematical ones"),
    pytest.param("a-b", "a\u2010b", id="another hyphen"),
    pytest.param("name", "\u0578ame", id="an Armenian letter"),
    pytest.param("DEPLOY", "\u13a0EPLOY", id="a Cherokee letter"),
    pytest.param("file", "\ufb01le", id="a ligature"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_look_alike_are_served_and_each_is_flagged_with_the_other(
    one: str, other: str
) -> None:
    made = built_of(server(), found(one, other, "neither"))

    assert {tool.name for tool in only(made).tools} == {one, other, "neither"}
    assert set(flagged(only(made))) == {one, other}
    messages = {flag.name: flag.message for flag in only(made).flagged}
    assert f"github.{other}" in messages[one]
    assert f"github.{one}" in messages[other]
    assert only(made).skipped == ()


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["list", "lists"], id="a letter more"),
        pytest.param(["get_a", "get_b"], id="another letter"),
        pytest.param(["tool_1", "tool_2", "tool_10"], id="numbers"),
        pytest.param(["e", "é", "è"], id="accents"),
        pytest.param(["\u043f\u043e\u0438\u0441\u043a", "search"], id="two languages"),
        pytest.param(["\u0441\u043e\u0440\u0443"], id="a word of look-alikes by itself"),
        pytest.param(["\u043f\u043e\u0438\u0441\u043a_api"], id="words of two scripts"),
        pytest.param(["\u03b1_blend"], id="a letter for a variable"),
        pytest.param(["読む_file", "naïve", "größe"], id="other scripts and accents"),
        pytest.param(["m²", "½"], id="digits that are none"),
        pytest.param(["yaz\u0131c\u0131"], id="Turkish"),
    ],
)
def test_what_does_not_look_alike_is_not_flagged(names: list[str]) -> None:
    assert flagged(only(built_of(server(), found(*names)))) == []


@pytest.mark.parametrize(
    ("tool", "reads"),
    [
        pytest.param("sear\u0441h", "search", id="a Cyrillic letter in a Latin word"),
        pytest.param(
            "\u0441\u043e\u0440\u0443_file", "copy_file", id="a Cyrillic word among Latin"
        ),
        pytest.param("\u03bfpen", "open", id="a Greek letter"),
        pytest.param("\uff53earch", "search", id="a fullwidth letter"),
        pytest.param("\u212aelvin", "Kelvin", id="a sign for a letter"),
    ],
)
def test_a_name_that_mixes_scripts_is_flagged_by_itself(tool: str, reads: str) -> None:
    made = built_of(server(), found(tool, "other"))

    assert flagged(only(made)) == [tool]
    assert f"reads like {reads}" in only(made).flagged[0].message
    assert len(listed(made)) == 2


def test_tools_of_two_servers_are_flagged_at_both() -> None:
    one = Known(server("a/tool1", prefix="tool1"), found("read", "write", "only"))
    other = Known(server("b/tooll", prefix="tooll"), found("read", "WRITE"))
    third = Known(server("c/else", prefix="else"), found("read"))

    made = built(one, other, third)

    assert {id_: flagged(exposure) for id_, exposure in made.exposures.items()} == {
        "a/tool1": ["read", "write"],
        "b/tooll": ["WRITE", "read"],
        "c/else": [],
    }
    assert "tooll.read" in made.exposures["a/tool1"].flagged[0].message


def test_a_flag_comes_and_goes_with_what_looks_alike() -> None:
    one = Known(server("a/tool1", prefix="tool1"), found("read"))
    other = Known(server("b/tooll", prefix="tooll"), found("read"))
    alone = built(one)

    both = built(one, other, previous=alone)
    again = built(one, previous=both)

    assert flagged(both.exposures["a/tool1"]) == ["read"]
    assert again.exposures["a/tool1"] == alone.exposures["a/tool1"]
    assert built(one, other, previous=both).exposures["a/tool1"] is both.exposures["a/tool1"]
    assert both.lines[Form.SAFE][0] is alone.lines[Form.SAFE][0]


def test_several_that_look_alike_are_counted() -> None:
    (first, *_) = only(built_of(server(), found("list", "Iist", "1ist", "LIST"))).flagged

    assert first.message.startswith("its name looks like github.Iist and 2 more")


def test_what_is_not_served_is_taken_for_nothing() -> None:
    hidden = server(tools=[Override(name="Iist", hide=True)])
    waits = server(definitions=Definitions(policy=Policy.ENFORCE))

    assert flagged(only(built_of(hidden, found("list", "Iist")))) == []
    assert flagged(only(built_of(waits, found("list", "Iist")))) == []


def test_a_flag_changes_neither_the_revision_nor_what_agents_see() -> None:
    one = Known(server("a/tool1", prefix="tool1"), found("read"))
    other = Known(server("b/tooll", prefix="tooll"), found("read"))

    made = built(one, other)

    assert listed(made) == ["tool1.read", "tooll.read"]
    assert {route.tool for route in made.routes.values()} == {"read"}


def test_the_table_holds_letters_that_are_none_of_ascii_each_once() -> None:
    found_in = list(itertools.chain.from_iterable(confusables._ALIKE.values()))

    assert len(set(found_in)) == len(found_in)
    assert not any(letter.isascii() for letter in found_in)
    assert all(key.isascii() and len(key) == 1 for key in confusables._ALIKE)


LETTERS = st.text(st.sampled_from("aoO0lI1|_\u0430\u043e\u0399\uff4f\u00e9"), max_size=6)


@given(LETTERS, st.integers(0, 5))
def test_a_letter_that_is_exchanged_for_one_that_looks_like_it_changes_no_look(
    name: str, at: int
) -> None:
    letter = name[at : at + 1]
    others = [*confusables._ALIKE.get(letter, ""), letter.swapcase()]

    for other in others:
        exchanged = name[:at] + other + name[at + 1 :]
        assert set(confusables.looks(exchanged)) & set(confusables.looks(name))


@given(st.dictionaries(LETTERS, st.sampled_from("xyz")))
def test_a_name_is_like_the_names_of_others_that_share_a_look_with_it(
    owners: dict[str, str],
) -> None:
    found_in = confusables.likenesses(owners)

    for one, owner in owners.items():
        like = [
            other
            for other in owners
            if owner != owners[other]
            and set(confusables.looks(one)) & set(confusables.looks(other))
        ]
        assert found_in.get(one) == (Likeness(min(like), len(like)) if like else None)


@given(st.text(st.sampled_from("ao0l1|_9")), st.text(st.sampled_from("ao0l1|_9")))
def test_names_without_capitals_are_alike_where_their_plainest_looks_are(
    one: str, other: str
) -> None:
    is_alike = bool(set(confusables.looks(one)) & set(confusables.looks(other)))

    assert is_alike == (confusables.plainest(one) == confusables.plainest(other))


# --- what it takes


def took_s(work: Callable[[], object]) -> float:
    """What it takes of the processor."""
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


def cases(number: int) -> list[str]:
    """Names that look alike, each with other capitals."""
    return [
        "".join(
            letter.upper() if number >> at & 1 else letter for at, letter in enumerate("abcdefghij")
        )
        for number in range(number)
    ]


LOOK_ALIKE = [
    Known(server(f"tools/{name}"), found("read", "write", name)) for name in ("al0", "alo", "a10")
]


def test_the_marks_of_one_endless_name_are_not_brought_in_order() -> None:
    endless = "p\u0430" + "\u0301" * 15_000 + "\u0316" * 15_000
    longest = "p\u0430" + "\u0301" * 127 + "\u0316" * 127

    assert took_s(lambda: confusables.likenesses({endless: "a", f"{endless}b": "b"})) < 0.5
    assert took_s(lambda: confusables.is_disguised(endless)) < 0.5
    assert len(flagged(only(built_of(server(), found(longest))))) == 1


def test_what_differs_beyond_what_lists_show_is_no_likeness_of_its_own() -> None:
    long = ["a" * 200, "A" * 200]

    assert flagged(only(built_of(server(), found(*long)))) == []


def test_thousands_of_names_that_all_look_alike_are_told_apart_at_once() -> None:
    names = {f"{server}.{name}": server for server in "xyz" for name in cases(1000)}
    same = {
        f"{server}{name}": server for server in ("\u0441", "c", "\u03f2") for name in cases(1000)
    }

    assert confusables.likenesses(names) == {}
    assert {each.count for each in confusables.likenesses(same).values()} == {2000}
    assert took_s(lambda: confusables.likenesses(same)) < 0.5


def test_servers_that_look_alike_are_looked_at_anew_only_where_one_of_them_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = built(*LOOK_ALIKE, Known(server("tools/quiet"), found("a")))
    looked: list[int] = []
    beside = flags.beside

    def counted(tools: Mapping[str, Mapping[str, str]]) -> Mapping[str, tuple[SkippedTool, ...]]:
        looked.append(len(tools))
        return beside(tools)

    monkeypatch.setattr(flags, "beside", counted)
    quiet = built(*LOOK_ALIKE, Known(server("tools/quiet"), found("b")), previous=first)
    then = list(looked)
    fewer = Known(LOOK_ALIKE[0].server, found("read"))
    changed = built(fewer, *LOOK_ALIKE[1:], previous=quiet)

    assert flagged(first.exposures["tools/alo"]) == ["alo", "read", "write"]
    assert quiet.exposures["tools/alo"] is first.exposures["tools/alo"]
    assert (then, looked) == ([], [3])
    assert flagged(changed.exposures["tools/al0"]) == ["read"]
    assert "and 1 more" in changed.exposures["tools/al0"].flagged[0].message


@given(worlds())
def test_flags_name_served_tools_and_depend_on_nothing_but_the_world(world: World) -> None:
    made = built(*world)

    for exposure in made.exposures.values():
        served = {printable(tool) for tool in exposure.bare}
        assert {flag.name for flag in exposure.flagged} <= served
    assert {id_: one.flagged for id_, one in built(*reversed(world)).exposures.items()} == {
        id_: one.flagged for id_, one in made.exposures.items()
    }
