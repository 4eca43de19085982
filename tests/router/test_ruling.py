"""What a server's owner makes of its tools: which are served, as what, and which are not."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import (
    OBJECT,
    Known,
    built,
    built_of,
    definition,
    found,
    listed,
    offered,
    only,
    server,
    skipped,
    view,
)
from pointsman_contract import digest, rawjson
from pointsman_contract.meta import Definitions, Override, Policy
from pointsman_contract.report import ServerReason, State
from pointsman_contract.view import NameForm
from pointsman_router import hiding, listing
from pointsman_router.eras import Revision
from pointsman_router.exposure import Exposure
from pointsman_router.listing import Form
from pointsman_router.registry import Server

OTHER_DIGEST = f"sha256:{'0' * 64}"
LEGACY = (Revision.V2025_03_26, Revision.V2025_06_18, Revision.V2025_11_25)


def shown_by(one: Server, *tools: str | bytes) -> Exposure:
    return only(built_of(one, found(*tools)))


def read(exposure: Exposure, revision: Revision = Revision.MODERN) -> dict[str, Any]:
    """What agents read of the only tool."""
    (line,) = exposure.lines.values()
    value = json.loads(listing.joined([line], Form.BARE, revision))[0]
    assert isinstance(value, dict)
    return value


def digest_of(tool: bytes) -> str:
    (only_one,) = offered(tool).tools
    return only_one.digest


# --- what hides


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"title": "a\u202eb"}, "title (U+202E)"),
        ({"annotations": {"title": "a\u200bb"}}, "annotations.title (U+200B)"),
        ({"description": "\U000e0041"}, "description (U+E0041)"),
        ({"inputSchema": OBJECT | {"title": "\x1b"}}, "inputSchema (U+001B)"),
        (
            {"title": "\u2060", "outputSchema": {"items": {"description": "\u3164"}}},
            "title (U+2060) and a title or description in outputSchema (U+3164)",
        ),
    ],
    ids=["title", "hinted title", "description", "input", "two of them"],
)
def test_a_tool_whose_text_hides_something_is_left_out_and_says_where(
    members: dict[str, Any], says: str
) -> None:
    made = shown_by(server(), definition("odd", **members), "good")
    (told,) = made.skipped

    assert [tool.name for tool in made.tools] == ["good"]
    assert made.bare.keys() == {"good"}
    assert (told.name, told.reason) == ("odd", "HiddenText")
    assert told.message.isprintable()
    assert says in told.message
    assert ("spec.tools" in told.message) == ("Schema" not in says)


def test_each_kind_of_bad_tool_costs_only_itself() -> None:
    header = OBJECT | {"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    bad = {
        "InvalidName": definition("a\u200bb"),
        "InvalidSchema": definition("schema", inputSchema={"type": "array"}),
        "InvalidHeaderAnnotation": definition("header", inputSchema=header),
        "TooLarge": definition("large", description="x" * 65536),
        "HiddenText": definition("hides", description="\u202e"),
        "HiddenByOwner": definition("hidden"),
        "DuplicateName": definition("twice"),
        "DefinitionChanged": definition("changed"),
    }
    approved = {name: digest_of(definition(name)) for name in ("good", "well", "hides")}
    one = server(
        definitions=Definitions(policy=Policy.ENFORCE, approved=approved),
        tools=[Override(name="hidden", hide=True)],
    )

    made = built_of(one, found("good", *bad.values(), definition("twice"), "well"))

    assert listed(made) == ["github.good", "github.well"]
    assert sorted(reason for _, reason in skipped(only(made))) == sorted(bad)
    assert all(told.message.isprintable() for told in only(made).skipped)


def test_an_allowed_tool_that_cannot_be_read_whole_is_left_out_and_not_missed() -> None:
    twice = b'{"name":"pay","title":"a","title":"b","inputSchema":{"type":"object"}}'

    made = shown_by(server(allowed=["pay", "ok"]), twice, "ok")

    assert made.bare.keys() == {"ok"}
    assert skipped(made) == [("pay", "InvalidSchema")]
    assert made.unmatched == ()


def test_clean_text_of_the_owner_lets_the_tool_in() -> None:
    hides = definition("add", title="A\u202e", description="B\u200b", annotations={"title": "\x1b"})
    told = [Override(name="add", title="Add"), Override(name="add", description="Adds.")]
    both = Override(name="add", title="Add", description="Adds.")

    assert [skipped(shown_by(server(tools=[one]), hides)) for one in told] == [
        [("add", "HiddenText")]
    ] * 2
    made = shown_by(server(tools=[both]), hides)
    assert made.skipped == ()
    assert {name: read(made)[name] for name in ("title", "description", "annotations")} == {
        "title": "Add",
        "description": "Adds.",
        "annotations": {"title": "Add"},
    }


def test_an_owner_cannot_clean_a_schema_and_is_not_told_to() -> None:
    hides = definition("add", title="A\u202e", inputSchema=OBJECT | {"title": "\u200b"})

    (told,) = shown_by(server(tools=[Override(name="add", title="Add")]), hides).skipped

    assert told.reason == "HiddenText"
    assert "inputSchema (U+200B)" in told.message
    assert "U+202E" not in told.message
    assert "spec.tools" not in told.message


# --- what the owner words


@pytest.mark.parametrize("revision", [*LEGACY, Revision.MODERN])
@pytest.mark.parametrize("has_texts", [True, False], ids=["in place of others", "of its own"])
def test_agents_read_what_the_owner_wrote(revision: Revision, has_texts: bool) -> None:
    own = {"title": "T", "description": "D"} if has_texts else {}
    override = Override(name="add", title="Größe", description='Adds "numbers".\n')

    shown = read(shown_by(server(tools=[override]), definition("add", **own)), revision)

    assert shown["description"] == 'Adds "numbers".\n'
    assert shown.get("title") == (None if revision is Revision.V2025_03_26 else "Größe")
    assert shown["inputSchema"] == OBJECT


def test_what_the_owner_does_not_word_stays_to_the_byte() -> None:
    raw = (
        rb'{"name":"add","x":[1.0 ],"inputSchema":{"type" : "object"},"title":"\u0041",'
        rb'"annotations":{"readOnlyHint":true, "title":"x"},"description":"D"}'
    )

    made = shown_by(server(tools=[Override(name="add", description="Adds.")]), raw)

    members = dict(made.candidates[0].tool.members)
    assert members == dict(rawjson.pairs(raw)) | {"description": b'"Adds."'}


def test_a_title_of_the_owner_is_in_every_place_that_has_one() -> None:
    hints = rb'{"title":"a","readOnlyHint":true,"title":"b"}'
    raw = b'{"name":"add","inputSchema":{"type":"object"},"annotations":%b}' % hints
    plain = raw.replace(b'"title":"a",', b"").replace(b',"title":"b"', b"")
    override = server(tools=[Override(name="add", title="Add")])

    twice, none = (
        dict(shown_by(override, each).candidates[0].tool.members)["annotations"]
        for each in (raw, plain)
    )

    assert twice == b'{"title":"Add","readOnlyHint":true,"title":"Add"}'
    assert none == b'{"readOnlyHint":true}'


def test_the_digest_is_that_of_the_upstreams_definition_and_the_revision_that_of_the_owners() -> (
    None
):
    raw = definition("add", description="D")
    plain = built_of(server(), found(raw, "other"))
    first, second, same = (
        built_of(server(tools=[Override(name="add", description=text)]), found(raw, "other"))
        for text in ("Adds.", "Adds two numbers.", "D")
    )

    assert only(first).tools == only(second).tools == only(plain).tools
    assert len({plain.revision, first.revision, second.revision}) == 3
    assert same.revision == plain.revision
    assert len(list(only(plain).digest_lines)) == len(list(only(first).digest_lines)) == 2


@pytest.mark.parametrize("names", NameForm)
def test_an_upstream_and_an_owner_that_swap_their_texts_make_another_revision(
    names: NameForm,
) -> None:
    first, second = (
        built(
            Known(
                server(tools=[Override(name="add", description=read)]),
                found(definition("add", description=original)),
            ),
            views=[view(names=names)],
        )
        for original, read in (("A", "B"), ("B", "A"))
    )

    assert first.revision != second.revision
    assert first.views["tools/support"].revision != second.views["tools/support"].revision


def test_the_bytes_that_agents_pay_for_are_those_that_they_read() -> None:
    raw = definition("add", description="x" * 1000)
    made = shown_by(server(tools=[Override(name="add", description="y" * 10)]), raw)

    assert made.schema_bytes == len(rawjson.assemble(made.candidates[0].tool.members))
    assert made.schema_bytes < 200


# --- what the owner hides


def test_a_hidden_tool_is_left_out_and_cannot_be_called() -> None:
    made = built_of(server(tools=[Override(name="delete", hide=True)]), found("delete", "add"))

    assert listed(made) == ["github.add"]
    assert made.routes.keys() == {"github.add", "github__add"}
    assert only(made).bare.keys() == {"add"}
    assert skipped(only(made)) == [("delete", "HiddenByOwner")]
    assert "spec.tools" in only(made).skipped[0].message


def test_a_hidden_tool_is_hidden_whatever_else_is_wrong_with_it() -> None:
    bad = [
        definition("a", title=5),
        definition("b", title="\u200b"),
        definition("c"),
        definition("d"),
        definition("d"),
    ]
    hidden = [Override(name=name, hide=True) for name in "abcd"]
    enforced = Definitions(policy=Policy.ENFORCE)

    made = shown_by(server(tools=hidden, definitions=enforced), *bad)

    assert sorted(skipped(made)) == [(name, "HiddenByOwner") for name in "abcd"]
    assert made.unapproved == {}
    assert (made.state, made.reason) == (State.SKIPPED, ServerReason.NO_TOOLS)


def test_an_override_of_what_is_not_allowed_shows_nothing() -> None:
    made = shown_by(
        server(allowed=["add"], tools=[Override(name="delete", title="D")]), "add", "delete"
    )

    assert [tool.name for tool in made.tools] == ["add"]
    assert (made.skipped, made.unmatched) == ((), ())


@pytest.mark.parametrize("allowed", [["*"], ["add"], ["add", "delte"]])
def test_an_override_of_a_tool_that_is_not_there_is_named(allowed: list[str]) -> None:
    wrong = Override(name="delte", hide=True)
    made = shown_by(server(allowed=allowed, tools=[wrong, Override(name="add")]), "add", "delete")

    assert made.unmatched == ("delte",)
    assert made.skipped == ()


def test_an_override_of_a_tool_that_is_left_out_has_met_it() -> None:
    made = shown_by(
        server(tools=[Override(name="add", title="Add")]), definition("add", title=5), "b"
    )

    assert made.unmatched == ()
    assert skipped(made) == [("add", "InvalidSchema")]


# --- what somebody approved


ADD = definition("add", description="Adds.")


def pinned(policy: Policy, **approved: str) -> Server:
    return server(definitions=Definitions(policy=policy, approved=approved))


@pytest.mark.parametrize("approved", [{}, {"add": OTHER_DIGEST}], ids=["not named", "another"])
def test_under_enforce_a_tool_that_is_not_approved_is_left_out(approved: dict[str, str]) -> None:
    made = built_of(
        pinned(Policy.ENFORCE, **approved, b=digest_of(definition("b"))), found(ADD, "b")
    )
    (told,) = only(made).skipped

    assert listed(made) == ["github.b"]
    assert not [name for name in made.routes if name.endswith("add")]
    assert (told.name, told.reason, told.digest) == ("add", "DefinitionChanged", digest_of(ADD))
    assert "pointsman approve" in told.message
    assert ("any more" in told.message) == bool(approved)
    assert only(made).flagged == ()
    assert made.unapproved.keys() == {"github.add", "github__add"}
    assert {waiting.is_changed for waiting in made.unapproved.values()} == {bool(approved)}


@pytest.mark.parametrize("approved", [{}, {"add": OTHER_DIGEST}], ids=["not named", "another"])
def test_under_warn_it_is_served_and_flagged(approved: dict[str, str]) -> None:
    made = built_of(pinned(Policy.WARN, **approved, b=digest_of(definition("b"))), found(ADD, "b"))
    (told,) = only(made).flagged

    assert listed(made) == ["github.add", "github.b"]
    assert (told.name, told.reason, told.digest) == ("add", "DefinitionChanged", digest_of(ADD))
    assert only(made).skipped == ()
    assert made.unapproved == {}


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(pinned(Policy.OFF, add=OTHER_DIGEST), id="off"),
        pytest.param(pinned(Policy.ENFORCE, add=digest_of(ADD), gone=OTHER_DIGEST), id="enforced"),
        pytest.param(pinned(Policy.WARN, add=digest_of(ADD), gone=OTHER_DIGEST), id="warned"),
    ],
)
def test_what_is_approved_or_not_asked_is_just_served(one: Server) -> None:
    made = built_of(one, found(ADD))

    assert listed(made) == ["github.add"]
    assert only(made).skipped == only(made).flagged == ()
    assert only(made).unmatched == ()
    assert made.revision == built_of(server(), found(ADD)).revision


def test_a_server_of_which_nothing_is_approved_says_so() -> None:
    made = shown_by(pinned(Policy.ENFORCE), "add", "b")

    assert (made.state, made.reason) == (State.SKIPPED, ServerReason.NO_TOOLS)
    assert made.message
    assert "skippedTools" in made.message
    assert skipped(made) == [("add", "DefinitionChanged"), ("b", "DefinitionChanged")]


def test_rewording_a_tool_does_not_change_what_was_approved() -> None:
    definitions = Definitions(policy=Policy.ENFORCE, approved={"add": digest_of(ADD)})
    reworded = server(definitions=definitions, tools=[Override(name="add", description="New.")])

    assert [tool.name for tool in shown_by(reworded, ADD).tools] == ["add"]


def test_text_that_hides_is_told_before_a_definition_that_waits() -> None:
    made = shown_by(pinned(Policy.ENFORCE), definition("add", description="\u202e"))

    assert skipped(made) == [("add", "HiddenText")]
    assert made.unapproved.keys() == {"add"}


def test_a_long_name_that_waits_to_be_approved_is_known_by_all_its_names() -> None:
    made = built_of(pinned(Policy.ENFORCE), found("x" * 100))
    (waiting,) = only(made).unapproved.values()

    assert made.unapproved.keys() == {
        waiting.names.dotted,
        waiting.names.listed,
        waiting.names.safe,
    }
    assert len(made.unapproved) == 3


# --- what alarms a pin, and what does not


MEMBERS = st.fixed_dictionaries(
    {
        "inputSchema": st.just(
            OBJECT | {"properties": {"a": {"type": "string"}, "b": {"const": 1.5}}}
        )
    },
    optional={
        "title": st.text("abc", max_size=3),
        "description": st.text(max_size=8),
        "annotations": st.fixed_dictionaries({}, optional={"readOnlyHint": st.booleans()}),
        "outputSchema": st.just(OBJECT | {"required": ["a"]}),
    },
)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same, its members in another order."""
    if isinstance(value, list):
        return [shuffled(each, chance) for each in value]
    if not isinstance(value, dict):
        return value
    members = list(value.items())
    chance.shuffle(members)
    return {name: shuffled(each, chance) for name, each in members}


@given(MEMBERS, st.randoms(use_true_random=False), st.sampled_from([(",", ":"), (" , ", " : ")]))
def test_another_order_or_layout_never_alarms_a_pin(
    members: dict[str, Any], chance: random.Random, separators: tuple[str, str]
) -> None:
    approved = digest.definition(definition("add", **members))
    other = shuffled({"name": "add", "_meta": {"n": 1}} | members, chance)
    raw = json.dumps(other, separators=separators, ensure_ascii=False).encode()

    for policy in Policy:
        made = shown_by(pinned(policy, add=approved), raw)
        assert "DefinitionChanged" not in {told.reason for told in (*made.skipped, *made.flagged)}


@given(MEMBERS, MEMBERS)
def test_a_change_of_anything_that_defines_a_tool_alarms_its_pin(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    approved = digest.definition(definition("add", **before))

    made = shown_by(pinned(Policy.ENFORCE, add=approved), definition("add", **after))

    assert (made.unapproved.keys() == {"add"}) == (before != after)
    assert ("add" in made.bare) <= (before == after)


# --- whatever an owner says


TEXTS = st.sampled_from(["Adds.", "Größe", "a\u202eb", "\u200b"])
CLEAN = st.sampled_from(["Adds.", "Clean"])
NAMES = st.sampled_from(["a", "b", "c", "d"])
TOOLS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {},
        optional={
            "title": TEXTS,
            "description": TEXTS,
            "annotations": st.fixed_dictionaries({"title": TEXTS}),
            "inputSchema": TEXTS.map(lambda text: OBJECT | {"description": text}),
        },
    ),
)
OVERRIDES = st.lists(
    st.builds(
        Override,
        name=NAMES,
        title=st.none() | CLEAN,
        description=st.none() | CLEAN,
        hide=st.booleans(),
    ),
    unique_by=lambda override: override.name,
)


@given(TOOLS, OVERRIDES, st.sampled_from(Policy), st.sets(NAMES), st.sets(NAMES), st.data())
def test_every_allowed_tool_is_served_as_its_owner_says_or_left_out_for_one_reason(
    tools: dict[str, dict[str, Any]],
    overrides: list[Override],
    policy: Policy,
    approved: set[str],
    allowed: set[str],
    data: st.DataObject,
) -> None:
    raw = {name: definition(name, **members) for name, members in tools.items()}
    digests = {name: digest_of(raw[name]) for name in raw}
    definitions = Definitions(
        policy=policy, approved={name: digests.get(name, OTHER_DIGEST) for name in approved}
    )
    everything = data.draw(st.booleans())
    one = server(
        allowed=["*"] if everything else sorted(allowed), definitions=definitions, tools=overrides
    )

    made = built_of(one, found(*raw.values()))

    exposure, hidden = only(made), {override.name for override in overrides if override.hide}
    served = {tool.name: tool.digest for tool in exposure.tools}
    left_out = {told.name: told for told in exposure.skipped}
    permitted = raw.keys() if everything else raw.keys() & allowed
    assert served.keys() | left_out.keys() == permitted
    assert len(served) + len(exposure.skipped) == len(permitted)
    assert served.items() <= digests.items()
    assert exposure.bare.keys() == served.keys()
    assert not served.keys() & hidden
    for candidate in exposure.candidates:
        assert hiding.found(dict(candidate.tool.members)) == ()
    unapproved = permitted - approved - hidden if policy is Policy.ENFORCE else set()
    assert exposure.unapproved.keys() == unapproved
    assert {flag.name for flag in exposure.flagged} == (
        served.keys() - approved if policy is Policy.WARN else set()
    )
    for told in (*exposure.skipped, *exposure.flagged):
        waits = told.reason == "DefinitionChanged"
        assert told.digest == (digests[told.name] if waits else None)
    assert (
        set(exposure.unmatched)
        == ({override.name for override in overrides} | (set() if everything else allowed))
        - raw.keys()
    )
