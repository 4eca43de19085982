"""What an endpoint lists and calls: that of a view shows its own tools, and nothing else at all."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench.catalogues import Known, built, found, server
from bench.viewing import CATALOGUE, GITHUB, TICKETS, VIEWS
from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed
from pointsman_contract.report import ServerReason
from pointsman_router import catalogue, dispatch, endpoints
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import Decision, Listed, Listen
from pointsman_router.dispatch_beside import PromptsListed, UrisListed
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import Revision
from pointsman_router.exposure import Route
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import Form
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal
from pointsman_router.registry import NamedView, Registry

SUPPORT = Endpoint(Form.DOTTED, view="tools/support")


def decided(
    method: str,
    params: Mapping[str, bytes] | None = None,
    *,
    at: Endpoint = SUPPORT,
    of: Catalogue = CATALOGUE,
    revision: Revision = Revision.V2025_11_25,
    page_size: int = 100,
) -> Decision:
    return dispatch.decide(of, at, Request(b"1", method, params or {}), revision, page_size)


def called(name: str, *, at: Endpoint = SUPPORT, of: Catalogue = CATALOGUE) -> Decision:
    return decided("tools/call", {"name": rawjson.quote(name)}, at=at, of=of)


def route(decision: Decision) -> tuple[str, str]:
    assert isinstance(decision, Forward)
    assert isinstance(decision.route, Route)
    return decision.route.server, decision.route.tool


@pytest.mark.parametrize("name", ["github.search", "github__search"])
@pytest.mark.parametrize("form", [Form.DOTTED, Form.SAFE])
def test_a_tool_of_a_view_is_called_by_either_name(name: str, form: Form) -> None:
    assert route(called(name, at=replace(SUPPORT, form=form))) == ("tools/github", "search")


def test_a_bare_name_is_called_where_it_is_listed_alone() -> None:
    bare = Endpoint(Form.SAFE, view="tools/bare")

    assert route(called("close", at=bare)) == ("tools/tickets", "close")
    assert route(called("tickets.close", at=bare)) == ("tools/tickets", "close")
    assert isinstance(called("search", at=bare), Refusal)
    assert isinstance(called("close", at=Endpoint(Form.SAFE)), Refusal)


def test_a_view_has_nothing_to_say_of_names_that_left_the_whole() -> None:
    now = built(GITHUB, TICKETS, views=VIEWS, previous=CATALOGUE)
    less = built(Known(GITHUB.server, found("delete")), TICKETS, views=VIEWS, previous=now)
    whole, support, bare = Endpoint(Form.SAFE), SUPPORT, Endpoint(Form.SAFE, view="tools/bare")

    def said(name: str, at: Endpoint) -> bytes | None:
        refusal = called(name, at=at, of=less)
        assert isinstance(refusal, Refusal)
        return refusal.data

    assert said("all.find", whole) == b'{"reason": "removed"}'
    assert said("all.find", support) is None
    assert said("github.search", support) == b'{"reason": "removed"}'
    assert said("github__search", bare) == b'{"reason": "removed"}'
    assert said("github.delete", support) is None


def test_a_suspended_server_says_so_in_the_views_that_showed_it() -> None:
    asleep = Known(server("tools/github", out=ServerReason.SUSPENDED))
    now = built(asleep, TICKETS, views=VIEWS, previous=CATALOGUE)
    shown, other = called("github.search", of=now), called("github.delete", of=now)

    assert isinstance(shown, Refusal)
    assert shown.data == b'{"reason": "suspended"}'
    assert isinstance(other, Refusal)
    assert other.data is None


@pytest.mark.parametrize(
    "registry",
    [Registry(), Registry(views={"tools/support": NamedView("tools/support", None, "bad")})],
    ids=["nothing", "views alone"],
)
def test_there_is_no_echo_at_a_view(registry: Registry) -> None:
    made = catalogue.build(registry, {}, max_length=64, now_s=0.0)
    listed = decided("tools/list", of=made)

    assert made.echo
    assert isinstance(listed, Listed)
    assert listed.tools == ()
    assert isinstance(called("echo", of=made), Refusal)
    assert not isinstance(called("echo", at=Endpoint(Form.DOTTED), of=made), Refusal)
    assert endpoints.is_there(made, SUPPORT) is bool(registry.views)


def test_a_long_view_is_read_page_by_page() -> None:
    at = Endpoint(Form.DOTTED, view="tools/bare")
    shown = []
    cursor: str | None = None
    for _ in range(4):
        asked = {"cursor": rawjson.quote(cursor)} if cursor else None
        page = decided("tools/list", asked, at=at, page_size=1)
        assert isinstance(page, Listed)
        shown += [line.names[Form.DOTTED] for line in page.tools]
        cursor = page.next_cursor

    assert shown == ["close", "delete", "github.search", "tickets.search"]
    assert cursor is None


def test_a_view_shows_nothing_beside_tools() -> None:
    at = Endpoint(Form.DOTTED, view="tools/all")
    lists = [
        decided(f"{what}/list", at=at) for what in ("prompts", "resources", "resources/templates")
    ]

    assert isinstance(decided("tools/list", at=at), Listed)
    for listed in lists:
        assert isinstance(listed, PromptsListed | UrisListed)
        assert json.loads(listed.joined(Revision.MODERN)) == []
    for method, params in (
        ("prompts/get", {"name": b'"all.ask"'}),
        ("resources/read", {"uri": b'"test://a"'}),
        ("resources/read", {"uri": b'"row://1"'}),
        (
            "completion/complete",
            {
                "ref": b'{"type":"ref/prompt","name":"all.ask"}',
                "argument": b'{"name":"a","value":""}',
            },
        ),
    ):
        assert isinstance(decided(method, params, at=Endpoint(Form.DOTTED)), Forward)
        assert isinstance(decided(method, params, at=at), Refusal)


def test_what_was_beside_tools_is_no_more_known_after_it_left() -> None:
    now = built(GITHUB, views=VIEWS, previous=CATALOGUE)
    at = Endpoint(Form.DOTTED, view="tools/all")
    for method, params, reason in (
        ("prompts/get", {"name": b'"all.ask"'}, "reason"),
        ("resources/read", {"uri": b'"test://a"'}, "reason"),
    ):
        here, there = (
            decided(method, params, at=each, of=now) for each in (at, Endpoint(Form.DOTTED))
        )
        assert isinstance(here, Refusal)
        assert isinstance(there, Refusal)
        assert reason in json.loads(there.data or b"{}")
        assert reason not in json.loads(here.data or b"{}")


def test_a_stream_of_a_view_tells_of_tools_alone() -> None:
    wanted = {
        "notifications": b'{"toolsListChanged":true,"promptsListChanged":true,'
        b'"resourcesListChanged":true}'
    }

    assert decided("subscriptions/listen", wanted, revision=Revision.MODERN) == Listen(
        (Exposed.TOOLS,)
    )


@pytest.mark.parametrize(
    ("at", "discover"),
    [
        (Endpoint(Form.DOTTED), False),
        (Endpoint(Form.DOTTED, discover=True), True),
        (Endpoint(Form.BARE, "tools/github"), False),
        (SUPPORT, False),
        (replace(SUPPORT, discover=True), True),
        (replace(SUPPORT, view="tools/found"), True),
        (replace(SUPPORT, view="tools/broken"), False),
        (replace(SUPPORT, view="tools/nobody"), False),
    ],
    ids=[
        *("the whole", "the whole searched", "a server", "a view", "a view searched"),
        *("a view that is to be searched", "a broken view", "no view"),
    ],
)
def test_a_view_says_itself_whether_its_tools_are_searched_for(
    at: Endpoint, discover: bool
) -> None:
    assert endpoints.resolved(CATALOGUE, at) == replace(at, discover=discover)
