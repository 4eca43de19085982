"""A call goes where the list that its agent chose from said, or nowhere."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import NOW_S, Known, built, definition, found, listed, server
from pointsman_contract import rawjson
from pointsman_contract.meta import Definitions, Override, Policy
from pointsman_contract.report import ServerReason
from pointsman_router import catalogue, dispatch, failures
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Decision, Echoed, Listed
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision
from pointsman_router.failures import Executed, Failure
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import CATALOGUE_KEY, Form
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal

DOTTED, SAFE, ONE = Endpoint(Form.DOTTED), Endpoint(Form.SAFE), Endpoint(Form.BARE, "tools/github")
GITHUB = server("tools/github")
SEARCH = Known(GITHUB, found("search", "read"))
FIRST = built(SEARCH)
OTHER_SEARCH = definition("search", description="Searches elsewhere.")
# Each way to call the tool, as agents of its endpoint do.
WAYS = [
    pytest.param(DOTTED, "github.search", id="dotted"),
    pytest.param(SAFE, "github__search", id="safe"),
    pytest.param(ONE, "search", id="on the endpoint of its server"),
]
every_way = pytest.mark.parametrize(("view", "name"), WAYS)


def called(
    of: Catalogue,
    name: str = "github.search",
    named: str | bytes | None = None,
    *,
    view: Endpoint = DOTTED,
    revision: Revision = Revision.V2025_11_25,
) -> Decision:
    """What becomes of a call that names a revision, which may be any JSON."""
    params = {"name": rawjson.quote(name)}
    if named is not None:
        raw = named if isinstance(named, bytes) else rawjson.quote(named)
        params["_meta"] = rawjson.assemble({CATALOGUE_KEY: raw, "vendor": b"1"})
    return dispatch.decide(of, view, Request(b"1", "tools/call", params), revision, 100)


def changed(decision: Decision) -> Failure:
    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason) == (-32015, "DefinitionChanged")
    assert decision.executed is Executed.NO
    assert not decision.retryable
    return decision


def unknown(decision: Decision) -> bool:
    return isinstance(decision, Refusal) and decision.code == -32602


# --- the revision that a call names


@every_way
def test_a_call_that_names_the_list_in_force_goes_on(view: Endpoint, name: str) -> None:
    decision = called(FIRST, name, FIRST.revision, view=view)

    assert isinstance(decision, Forward)
    assert decision.call.meta == {"vendor": b"1"}


@every_way
@pytest.mark.parametrize(
    "after",
    [
        pytest.param([Known(GITHUB, found("search"))], id="a sibling went"),
        pytest.param([SEARCH, Known(server("tools/x"), found("a"))], id="another server came"),
        pytest.param(
            [Known(server("tools/github", timeout_s=7), found("search", "new"))], id="time"
        ),
        pytest.param(
            [Known(GITHUB, found(definition("search", icons=[{"src": "x"}]), "new"))], id="an icon"
        ),
    ],
)
def test_a_call_goes_on_where_only_other_things_changed(
    view: Endpoint, name: str, after: list[Known]
) -> None:
    now = built(*after, previous=FIRST)

    assert now.revision != FIRST.revision
    assert isinstance(called(now, name, FIRST.revision, view=view), Forward)


@every_way
@pytest.mark.parametrize(
    ("after", "says"),
    [
        pytest.param(Known(GITHUB, found(OTHER_SEARCH, "read")), "not what", id="its definition"),
        pytest.param(
            Known(
                server("tools/github", tools=[Override(name="search", title="Find")]),
                SEARCH.finding,
            ),
            "not what",
            id="what its owner words",
        ),
        pytest.param(
            Known(
                server("tools/github", tools=[Override(name="search", title="Find")]),
                found(OTHER_SEARCH, "read"),
            ),
            "not what",
            id="both",
        ),
    ],
)
def test_a_call_is_refused_where_its_tool_changed_since(
    view: Endpoint, name: str, after: Known, says: str
) -> None:
    now = built(after, previous=FIRST)

    failure = changed(called(now, name, FIRST.revision, view=view))

    assert failure.server == "tools/github"
    assert says in failure.message
    assert "List or search the tools again" in failures.text(failure)
    assert "Nothing was executed" in failures.text(failure)
    assert isinstance(called(now, name, view=view), Forward)


@every_way
def test_what_an_owner_words_hides_no_other_definition(view: Endpoint, name: str) -> None:
    worded = server(
        "tools/github", tools=[Override(name="search", title="Find", description="Finds.")]
    )
    first = built(Known(worded, found(definition("search", description="Searches."), "read")))
    now = built(Known(worded, found(OTHER_SEARCH, "read")), previous=first)

    assert {line.names[DOTTED.form]: line.rest for line in first.lines[DOTTED.form]} == {
        line.names[DOTTED.form]: line.rest for line in now.lines[DOTTED.form]
    }
    assert "not what" in changed(called(now, name, first.revision, view=view)).message
    assert isinstance(called(now, name, now.revision, view=view), Forward)


@every_way
@pytest.mark.parametrize(
    ("after", "reason"),
    [
        pytest.param(Known(GITHUB, found("read")), "removed", id="it went"),
        pytest.param(
            Known(
                server("tools/github", tools=[Override(name="search", hide=True)]), SEARCH.finding
            ),
            "removed",
            id="its owner hides it",
        ),
        pytest.param(
            Known(server("tools/github", out=ServerReason.SUSPENDED), SEARCH.finding),
            "suspended",
            id="its server is suspended",
        ),
    ],
)
@pytest.mark.parametrize("is_named", [False, True])
def test_a_call_learns_what_became_of_its_tool_whether_it_names_a_list_or_not(
    view: Endpoint, name: str, after: Known, reason: str, is_named: bool
) -> None:
    now = built(after, previous=FIRST)

    decision = called(now, name, FIRST.revision if is_named else None, view=view)

    assert isinstance(decision, Refusal)
    assert decision.code == -32602
    assert json.loads(decision.data or b"") == {"reason": reason}


@every_way
def test_a_name_of_which_nothing_is_remembered_led_somewhere_when_it_was_chosen(
    view: Endpoint, name: str
) -> None:
    now = replace(built(Known(GITHUB, found("read")), previous=FIRST), departed={})

    failure = changed(called(now, name, FIRST.revision, view=view))

    assert failure.server == "tools/github"
    assert "gone" in failure.message
    assert unknown(called(now, name, view=view))


def test_a_name_that_leads_to_another_server_is_not_followed() -> None:
    taken = Known(server("tools/new", prefix="github"), found("search", "read"))
    now = built(taken, previous=FIRST)

    assert changed(called(now, named=FIRST.revision)).server == "tools/new"
    forward = called(now, named=now.revision)
    assert isinstance(forward, Forward)
    assert forward.route.server == "tools/new"


def test_a_name_that_was_nobodys_and_is_one_tools_now_was_not_chosen() -> None:
    now = built(Known(GITHUB, found("search", "read", "new")), previous=FIRST)

    assert changed(called(now, "github.new", FIRST.revision)).server == "tools/github"
    assert changed(called(now, "new", FIRST.revision, view=ONE)).server == "tools/github"
    assert isinstance(called(now, "github.new"), Forward)


@pytest.mark.parametrize("named", ["", "0" * 16, "x" * 4096, "\u202e"])
def test_a_list_that_this_replica_does_not_know_is_no_list_to_choose_from(named: str) -> None:
    for of in (FIRST, built(SEARCH)):
        failure = changed(called(of, named=named))

        assert "does not know" in failure.message
        assert named not in failures.text(failure) or not named
        assert "List or search the tools again" in failures.text(failure)


@pytest.mark.parametrize("named", [None, "0" * 16, FIRST.revision])
@pytest.mark.parametrize(("view", "name"), [(DOTTED, "github.nothing"), (ONE, "nothing")])
def test_a_name_that_never_led_anywhere_is_unknown_whatever_is_named(
    named: str | None, view: Endpoint, name: str
) -> None:
    now = built(Known(GITHUB, found("search")), previous=FIRST)

    assert unknown(called(now, name, named, view=view))
    assert unknown(called(FIRST, name, named, view=view))


@pytest.mark.parametrize("raw", [b"5", b"null", b"true", b"{}", b"[]", b'["a"]'])
@pytest.mark.parametrize("name", ["github.search", "github.nothing"])
def test_a_revision_that_is_no_string_is_an_invalid_parameter(raw: bytes, name: str) -> None:
    decision = called(FIRST, name, raw)

    assert isinstance(decision, Refusal)
    assert (decision.status, decision.code) == (200, -32602)
    assert CATALOGUE_KEY in decision.message


def test_a_list_that_came_back_is_as_good_as_new() -> None:
    other = built(Known(GITHUB, found(OTHER_SEARCH, "read")), previous=FIRST)
    again = built(SEARCH, previous=other)

    assert again.revision == FIRST.revision
    assert isinstance(called(again, named=FIRST.revision), Forward)
    changed(called(again, named=other.revision))
    assert isinstance(called(again, "github.read", other.revision), Forward)


def test_a_call_may_name_yesterdays_list_and_none_that_is_older() -> None:
    def later(seconds: float, *tools: str, previous: Catalogue) -> Catalogue:
        return built(
            Known(GITHUB, found("search", *tools)), now_s=NOW_S + seconds, previous=previous
        )

    second = later(60, "a", previous=FIRST)
    day = later(60 + 24 * 3600 - 1, "b", previous=second)
    more = later(60 + 24 * 3600, "c", previous=day)

    assert isinstance(called(day, named=FIRST.revision), Forward)
    changed(called(more, named=FIRST.revision))
    assert isinstance(called(more, named=second.revision), Forward)


def test_headers_that_fit_an_older_definition_are_not_held_against_a_new_one() -> None:
    region = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
    now = built(Known(GITHUB, found(definition("search", inputSchema=region))), previous=FIRST)

    changed(called(now, named=FIRST.revision, revision=Revision.MODERN))


def test_the_built_in_tool_is_always_the_same() -> None:
    echo = built()

    assert isinstance(called(echo, "echo", FIRST.revision), Echoed)
    assert isinstance(called(echo, "echo", echo.revision), Echoed)


def test_before_anything_was_read_no_list_is_known() -> None:
    assert unknown(called(catalogue.empty(), named=FIRST.revision))


TOOLS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["one", "two"]))
WORLDS = st.dictionaries(st.sampled_from(["tools/x", "tools/y"]), TOOLS)
# Two servers that take turns at one prefix, or each have their own.
PREFIXES: list[Callable[[str], str]] = [
    lambda id_: id_.rpartition("/")[2],
    lambda id_: "both",
]


@given(st.lists(st.tuples(WORLDS, st.sampled_from(PREFIXES)), min_size=1, max_size=6))
def test_calls_pass_exactly_where_the_named_list_showed_what_is_there_now(
    worlds: list[tuple[Mapping[str, Mapping[str, str]], Callable[[str], str]]],
) -> None:
    now, showed = catalogue.empty(), {}
    for world, prefix in worlds:
        some = dict(list(world.items())[:1]) if prefix("x") == "both" else world
        known = [
            Known(
                server(id_, prefix=prefix(id_)),
                found(*(definition(tool, title=title) for tool, title in tools.items())),
            )
            for id_, tools in some.items()
        ]
        now = built(*known, previous=now)
        showed[now.revision] = {
            f"{prefix(id_)}.{tool}": (id_, tool, title)
            for id_, tools in some.items()
            for tool, title in tools.items()
        }
    current = showed[now.revision]

    for revision, table in showed.items():
        for name in current.keys() | table.keys():
            decision = called(now, name, revision)
            assert isinstance(decision, Forward) == (table.get(name) == current.get(name))
            assert isinstance(decision, Forward | Failure) == (name in current)
            assert isinstance(decision, Forward | Failure) or unknown(decision)


# --- definitions that wait to be approved


def enforced(**approved: str) -> Known:
    definitions = Definitions(policy=Policy.ENFORCE, approved=approved)
    return Known(server("tools/github", definitions=definitions), found("search", "read"))


@every_way
@pytest.mark.parametrize("before", [None, FIRST], ids=["a fresh replica", "one that served it"])
@pytest.mark.parametrize("named", [None, "0" * 16, FIRST.revision])
@pytest.mark.parametrize(
    ("approved", "says"),
    [({}, "is not approved"), ({"search": f"sha256:{'0' * 64}"}, "has changed")],
    ids=["never approved", "changed"],
)
def test_a_call_of_a_tool_that_waits_to_be_approved_says_so(
    view: Endpoint,
    name: str,
    before: Catalogue | None,
    named: str | None,
    approved: dict[str, str],
    says: str,
) -> None:
    now = built(enforced(**approved), previous=before)

    failure = changed(called(now, name, named, view=view))

    assert failure.server == "tools/github"
    assert says in failure.message
    assert "a person has approved it" in failures.text(failure)


def test_a_tool_that_waits_says_nothing_where_it_is_not_looked_for() -> None:
    now = built(enforced(), Known(server("tools/x"), found("a")))

    assert unknown(called(now, "github.delete"))
    assert unknown(called(now, "search"))
    assert unknown(called(now, "github.search", view=ONE))
    assert unknown(called(now, "search", view=Endpoint(Form.BARE, "tools/x")))
    assert unknown(called(now, "search", view=Endpoint(Form.BARE, "tools/nobody")))


def test_a_tool_is_called_again_once_it_is_approved() -> None:
    waits = built(enforced(), previous=FIRST)
    (digest,) = {
        tool.digest for tool in FIRST.exposures["tools/github"].tools if tool.name == "read"
    }
    now = built(enforced(read=digest), previous=waits)

    assert listed(now) == ["github.read"]
    assert isinstance(called(now, "github.read"), Forward)
    assert isinstance(called(now, "github.read", FIRST.revision), Forward)
    changed(called(now, "github.search"))


@pytest.mark.parametrize("revision", Revision)
@pytest.mark.parametrize("view", [DOTTED, SAFE, ONE], ids=["dotted", "safe", "one server"])
def test_a_list_names_the_revision_that_calls_may_name(view: Endpoint, revision: Revision) -> None:
    decision = dispatch.decide(FIRST, view, Request(b"1", "tools/list", {}), revision, 100)

    assert isinstance(decision, Listed)
    name = decision.tools[0].names[view.form]
    assert isinstance(called(FIRST, name, decision.revision, view=view, revision=revision), Forward)


def test_what_a_refusal_says_is_what_the_contract_says() -> None:
    failure = changed(called(FIRST, named="0" * 16))

    assert json.loads(failures.meta(failure)) == {
        "code": -32015,
        "reason": "DefinitionChanged",
        "server": "tools/github",
        "retryable": False,
        "executed": "no",
    }
