"""A call in a view goes where the view's own list said, and is told why it must not."""

from bench.catalogues import Known, built, definition, found, server, view, viewed
from pointsman_contract import rawjson
from pointsman_contract.meta import Definitions, Override, Policy
from pointsman_contract.view import Discovery, NameForm
from pointsman_router import dispatch
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Decision
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import CATALOGUE_KEY, Form
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal

DESK = "tools/support"
VIEW, WHOLE = Endpoint(Form.DOTTED, view=DESK), Endpoint(Form.DOTTED)
GITHUB = Known(server("tools/github"), found("search", "read"))
TICKETS = Known(server("tools/tickets"), found("search", "close"))
ENFORCED = Definitions(policy=Policy.ENFORCE)


def called(of: Catalogue, name: str, named: str | None = None, *, at: Endpoint = VIEW) -> Decision:
    params = {"name": rawjson.quote(name)}
    if named is not None:
        params["_meta"] = rawjson.assemble({CATALOGUE_KEY: rawjson.quote(named)})
    return dispatch.decide(of, at, Request(b"1", "tools/call", params), Revision.MODERN, 100)


def is_changed(decision: Decision) -> bool:
    return isinstance(decision, Failure) and decision.code == -32015


def is_unknown(decision: Decision) -> bool:
    return isinstance(decision, Refusal) and decision.code == -32602


def test_a_bare_name_that_leads_to_another_server_now_was_chosen_for_the_first() -> None:
    first = built(GITHUB, TICKETS, views=[view(servers=["github"], names=NameForm.BARE)])
    then = first.views[DESK].revision
    now = built(
        GITHUB,
        TICKETS,
        views=[view(servers=["tickets"], names=NameForm.BARE)],
        previous=first,
    )

    assert isinstance(called(first, "search", then), Forward)
    assert first.revision == now.revision
    assert is_changed(called(now, "search", then))
    assert isinstance(called(now, "search", now.views[DESK].revision), Forward)


def test_what_changes_outside_of_a_view_is_no_concern_of_its_calls() -> None:
    first = built(GITHUB, TICKETS, views=[view(servers=["github"])])
    then = first.views[DESK].revision
    other = Known(TICKETS.server, found(definition("close", description="new")))
    now = built(GITHUB, other, views=[view(servers=["github"])], previous=first)

    assert now.revision != first.revision
    assert now.views[DESK].revision == then
    assert isinstance(called(now, "github.search", then), Forward)


def test_a_view_knows_no_revision_of_the_whole() -> None:
    made = built(GITHUB, TICKETS, views=[view(servers=["github"])])

    assert is_changed(called(made, "github.search", made.revision))


def test_what_an_owner_words_anew_is_another_list_in_a_view_too() -> None:
    first = built(GITHUB, views=[view(servers=["github"])])
    then = first.views[DESK].revision
    worded = server("tools/github", tools=(Override(name="search", description="Finds."),))
    now = built(Known(worded, GITHUB.finding), views=[view(servers=["github"])], previous=first)

    assert now.views[DESK].revision != then
    assert is_changed(called(now, "github.search", then))
    assert isinstance(called(now, "github.read", then), Forward)


def test_only_a_tool_that_the_view_would_show_is_said_to_wait_for_approval() -> None:
    waiting = Known(server("tools/github", definitions=ENFORCED), found("search", "read"))
    made = built(waiting, views=[view(servers=["github"], tools=["github.search"])])
    bare = built(waiting, views=[view(servers=["github"], names=NameForm.BARE)])

    assert viewed(made) == []
    assert is_changed(called(made, "github.search"))
    assert is_changed(called(made, "github__search"))
    assert is_unknown(called(made, "github.read"))
    assert is_changed(called(made, "github.read", at=WHOLE))
    assert is_unknown(called(made, "search"))
    assert is_changed(called(bare, "search"))


def test_where_tools_are_searched_for_none_goes_by_the_name_of_what_searches() -> None:
    likewise = Known(server("tools/github"), found("search_tools", "call_tool", "read"))
    listed = view(servers=["github"], names=NameForm.BARE)
    searched = view(servers=["github"], names=NameForm.BARE, discovery=Discovery.SEARCH)

    assert viewed(built(likewise, views=[listed])) == ["call_tool", "read", "search_tools"]
    assert viewed(built(likewise, views=[searched])) == [
        *("github.call_tool", "github.search_tools", "read")
    ]
