"""When two definitions of a tool, or two catalogues, count as the same."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import digest
from pointsman_contract.digest import Line

TOOL: Mapping[str, Any] = {
    "name": "add",
    "title": "Add",
    "description": "Adds two numbers, é and 😀 too.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "number", "maximum": 1.5}, "b": {"enum": [1, 10, -2]}},
        "required": ["a", "b"],
    },
    "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}},
    "annotations": {"readOnlyHint": True, "title": "Adder"},
}


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def of(**changes: object) -> str:
    return digest.definition(compact({**TOOL, **changes}))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param(f"sha256:{'0a' * 32}", True, id="a digest"),
        pytest.param(f"sha256:{'0A' * 32}", False, id="capitals"),
        pytest.param(f"sha256:{'0' * 63}", False, id="one short"),
        pytest.param(f"sha256:{'0' * 64}\n", False, id="a line end behind it"),
        pytest.param(f"sha512:{'0' * 64}", False, id="another kind"),
        pytest.param("0" * 64, False, id="no kind"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_a_digest_is_told_from_what_is_none(text: str, is_one: bool) -> None:
    assert digest.is_digest(text) is is_one


def test_a_digest_is_named_and_stays_the_same_for_ever() -> None:
    assert (
        digest.definition(b'{"name":"add","inputSchema":{"type":"object"}}')
        == "sha256:da82aa5e1df52779753ce2009992a31e74c537a5c74a111765aa1a0b3725d4a5"
    )


def shuffled(value: Any, shuffler: random.Random) -> Any:
    if isinstance(value, dict):
        members = [(key, shuffled(member, shuffler)) for key, member in value.items()]
        shuffler.shuffle(members)
        return dict(members)
    return [shuffled(item, shuffler) for item in value] if isinstance(value, list) else value


@given(
    st.randoms(use_true_random=False),
    st.sampled_from([None, 1, 4, "\t"]),
    st.booleans(),
    st.sampled_from([(",", ":"), (" , ", " : "), (",\n", ":\t")]),
)
def test_neither_order_of_keys_nor_white_space_nor_escapes_count(
    shuffler: random.Random, indent: int | str | None, ascii_only: bool, between: tuple[str, str]
) -> None:
    text = json.dumps(
        shuffled(dict(TOOL), shuffler), indent=indent, ensure_ascii=ascii_only, separators=between
    )

    assert digest.definition(text.encode()) == of()


@pytest.mark.parametrize(
    ("some", "others", "expected"),
    [
        pytest.param({"a": b"1"}, {"a": b"1"}, True, id="the same bytes"),
        pytest.param(
            {"a": b'[{"x":1,"y":"\xc3\xa9"}]', "b": b"2"},
            {"b": b"2", "a": b'[{"y": "\\u00e9", "x": 1}]'},
            True,
            id="another order of keys, white space and escapes",
        ),
        pytest.param({"a": b"1"}, {"a": b"1.0"}, False, id="another spelling of a number"),
        pytest.param({"a": b"[1,2]"}, {"a": b"[2,1]"}, False, id="the order of a list"),
        pytest.param({"a": b"1"}, {}, False, id="one member less"),
        pytest.param({"a": b"1"}, {"b": b"1"}, False, id="another member"),
    ],
)
def test_members_are_the_same_as_definitions_are(
    some: Mapping[str, bytes], others: Mapping[str, bytes], expected: bool
) -> None:
    assert digest.same(some, others) is expected
    assert digest.same(others, some) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(b"1", b"1.0", id="a whole number and one with a point"),
        pytest.param(b"1.0", b"1.00", id="a zero more"),
        pytest.param(b"100", b"1e2", id="an exponent"),
        pytest.param(b"1e2", b"1E2", id="the case of the exponent"),
        pytest.param(b"0", b"-0", id="a negative zero"),
        pytest.param(b"1", b'"1"', id="a number and its text"),
        pytest.param(b"true", b"1", id="a truth value and a number"),
        pytest.param(b"null", b'"null"', id="nothing and its word"),
        pytest.param(b"[1,2]", b"[2,1]", id="the order of a list"),
        pytest.param(b"{}", b"[]", id="an object and a list"),
        pytest.param(b'{"a":1,"a":2}', b'{"a":2}', id="a key twice"),
        pytest.param(b"9007199254740993", b"9007199254740992", id="beyond a double's precision"),
    ],
)
def test_what_readers_may_tell_apart_is_another_definition(one: bytes, other: bytes) -> None:
    digests = {
        digest.definition(b'{"name":"x","inputSchema":{"v":' + value + b"}}")
        for value in (one, other)
    }

    assert len(digests) == 2


@pytest.mark.parametrize("member", sorted(digest.DEFINING))
def test_each_defining_member_counts_when_it_changes_goes_or_comes(member: str) -> None:
    without = {key: value for key, value in TOOL.items() if key != member}
    digests = {of(), of(**{member: "other"}), digest.definition(compact(without))}

    assert len(digests) == 3


@pytest.mark.parametrize("member", ["icons", "_meta", "execution", "anything"])
def test_other_members_may_change_freely(member: str) -> None:
    assert of(**{member: [1, 2]}) == of()


class _Spelling(str):
    __slots__ = ()


def meaning(text: bytes) -> object:
    """What a definition says, numbers as they are spelled, keys as often as they stand there."""
    members = json.loads(
        text,
        parse_int=_Spelling,
        parse_float=_Spelling,
        object_pairs_hook=lambda pairs: ("object", tuple(sorted(pairs, key=lambda one: one[0]))),
    )
    return repr(members)


def test_every_change_of_one_byte_in_a_defining_member_is_detected() -> None:
    original = compact(TOOL)
    before = digest.definition(original)
    changed = undetected = 0
    for at in range(1, len(original) - 1):
        for byte in b'0129aZ"\\ {}[],:.-\xc3':
            text = original[:at] + bytes([byte]) + original[at + 1 :]
            try:
                is_another = meaning(text) != meaning(original)
            except ValueError:
                continue
            changed += is_another
            undetected += is_another and digest.definition(text) == before

    assert undetected == 0
    assert changed > 1000


@pytest.mark.parametrize("text", [b"[]", b"7", b"null", b'"x"', b"", b"{", b"\xff"])
def test_what_is_no_object_has_no_digest(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the promise is no narrower
        digest.definition(text)


def test_half_a_surrogate_pair_has_a_digest_of_its_own() -> None:
    one = digest.definition(b'{"name":"x","description":"\\ud83d"}')
    other = digest.definition(b'{"name":"x","description":"\\ud83e"}')

    assert one != other


LINES = st.lists(
    st.builds(Line, *(st.text("abc/._", min_size=1, max_size=6) for _ in range(4))),
    max_size=8,
    unique=True,
)


@given(LINES, st.randoms(use_true_random=False))
def test_a_revision_does_not_depend_on_order(lines: list[Line], shuffler: random.Random) -> None:
    before = digest.revision(lines)
    shuffler.shuffle(lines)

    assert digest.revision(lines) == before
    assert len(before) == 16


@given(LINES, LINES)
def test_other_content_is_another_revision(one: list[Line], other: list[Line]) -> None:
    assert (digest.revision(one) == digest.revision(other)) == (set(one) == set(other))


def test_a_revision_stays_the_same_for_ever() -> None:
    lines = [Line("github.add", "tools/github", "add", "sha256:00"), Line("a.b", "a", "b", "c")]

    assert digest.revision(lines) == "78ce14aa8a7be6e9"
    assert digest.revision([]) == "e3b0c44298fc1c14"
