"""What is to be done with a request, decided from one snapshot."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given

from bench import spelled
from bench.catalogues import Known, built, found, server, skip
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_contract.report import ServerReason
from pointsman_router import catalogue, dispatch, respond
from pointsman_router.catalogue import Catalogue
from pointsman_router.dispatch import (
    Decision,
    Discovered,
    Echoed,
    EchoListed,
    Empty,
    Listed,
    Welcome,
)
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import LEGACY, Revision
from pointsman_router.exposure import Route
from pointsman_router.jsonrpc import Notification, Request
from pointsman_router.listing import Form
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal
from pointsman_router.registry import Server

GITHUB = Known(
    server("tools/github", allowed=["search", "read"]), found("search", "read", "delete")
)
SEARCH = Known(server("tools/search", prefix="find"), found("search"))
CATALOGUE = built(GITHUB, SEARCH)
DOTTED, SAFE = Endpoint(Form.DOTTED), Endpoint(Form.SAFE)
ONE = Endpoint(Form.BARE, "tools/github")
NEWEST = Revision.V2025_11_25


Params = Mapping[str, bytes]


def decided(
    method: str,
    params: Params | None = None,
    *,
    view: Endpoint = DOTTED,
    of: Catalogue = CATALOGUE,
    revision: Revision = NEWEST,
    page_size: int = 100,
) -> Decision:
    return dispatch.decide(of, view, Request(b"1", method, params or {}), revision, page_size)


def called(
    name: str, params: Params | None = None, *, view: Endpoint = DOTTED, of: Catalogue = CATALOGUE
) -> Decision:
    whole = {"name": rawjson.quote(name), **(params or {})}
    return decided("tools/call", whole, view=view, of=of)


def refused(decision: Decision) -> Refusal:
    assert isinstance(decision, Refusal)
    return decision


def answer(decision: Decision) -> tuple[int, int]:
    return refused(decision).status, refused(decision).code


def names(decision: Decision) -> list[str]:
    assert isinstance(decision, Listed)
    return [line.names[decision.form] for line in decision.tools]


# --- methods


@pytest.mark.parametrize("revision", sorted(LEGACY))
def test_legacy_agents_open_with_initialize_and_may_ping(revision: Revision) -> None:
    asked = {"protocolVersion": b'"2025-06-18"'}

    assert decided("initialize", asked, revision=revision) == Welcome(Revision.V2025_06_18)
    assert decided("ping", revision=revision) == Empty()


def test_modern_agents_discover() -> None:
    assert decided("server/discover", revision=Revision.MODERN) == Discovered()


@pytest.mark.parametrize(
    ("method", "revision", "expected"),
    [
        pytest.param("nobody/knows", NEWEST, (200, -32601), id="J11 unknown, legacy"),
        pytest.param("nobody/knows", Revision.MODERN, (404, -32601), id="J11 unknown, modern"),
        pytest.param("server/discover", NEWEST, (200, -32601), id="a modern method, legacy"),
        pytest.param("initialize", Revision.MODERN, (404, -32601), id="a legacy method, modern"),
        pytest.param("ping", Revision.MODERN, (404, -32601), id="ping, modern"),
        pytest.param("resources/subscribe", NEWEST, (200, -32601), id="what is not offered"),
        pytest.param("Tools/List", NEWEST, (200, -32601), id="a method in capitals"),
        pytest.param("", NEWEST, (200, -32601), id="no method"),
        pytest.param("x" * 10_000, NEWEST, (200, -32601), id="a method of 10,000 letters"),
        pytest.param("a\x00\nb", NEWEST, (200, -32601), id="a method with control characters"),
    ],
)
def test_a_method_that_is_not_offered_is_not_found(
    method: str, revision: Revision, expected: tuple[int, int]
) -> None:
    refusal = refused(decided(method, revision=revision))

    assert (refusal.status, refusal.code) == expected
    assert len(refusal.message) < 200
    assert refusal.message.isprintable()


@pytest.mark.parametrize(
    "method",
    [
        *("notifications/initialized", "notifications/cancelled", "notifications/progress"),
        *("notifications/roots/list_changed", "notifications/vendor/x"),
    ],
)
def test_j28_what_agents_notify_is_acknowledged(method: str) -> None:
    assert dispatch.take_note(Notification(method, {"requestId": b"1"})) is None


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("tools/call", id="J09 a call without an id"),
        pytest.param("ping", id="J09 any request without an id"),
        pytest.param("notifications/tools/list_changed", id="J27 a list that changed"),
        pytest.param("notifications/message", id="J27 a log message"),
        pytest.param("notifications/resources/updated", id="J27 a resource that changed"),
        pytest.param("notifications", id="a word like the prefix"),
    ],
)
def test_what_only_servers_notify_is_refused(method: str) -> None:
    refusal = dispatch.take_note(Notification(method, {}))

    assert refusal is not None
    assert (refusal.status, refusal.code) == (400, -32600)


# --- calls


@pytest.mark.parametrize(
    ("name", "view"),
    [
        pytest.param("github.search", DOTTED, id="dotted on the dotted list"),
        pytest.param("github__search", SAFE, id="safe on the safe list"),
        pytest.param("github.search", SAFE, id="J34 dotted on the safe list"),
        pytest.param("github__search", DOTTED, id="J34 safe on the dotted list"),
        pytest.param("search", ONE, id="J20 bare on the endpoint of its server"),
    ],
)
def test_every_name_of_a_tool_leads_to_it(name: str, view: Endpoint) -> None:
    decision = called(name, {"arguments": b'{"q": 1.0}'}, view=view)

    assert isinstance(decision, Forward)
    assert isinstance(decision.route, Route)
    assert (decision.route.server, decision.route.tool) == ("tools/github", "search")
    assert decision.call.params == {"name": b'"search"', "arguments": b'{"q": 1.0}'}
    assert decision.call.timeout_s == decision.route.timeout_s


UNKNOWN = [
    pytest.param("search", DOTTED, id="J20 bare on the common endpoint"),
    pytest.param("github..search", DOTTED, id="J19 two dots"),
    pytest.param(".search", DOTTED, id="J19 a dot in front"),
    pytest.param("github.", DOTTED, id="J19 a dot behind"),
    pytest.param("github__", DOTTED, id="J19 two underscores behind"),
    pytest.param("GitHub.search", DOTTED, id="J19 capitals"),
    pytest.param("github%2Esearch", DOTTED, id="J19 a percent escape"),
    pytest.param("github.search ", DOTTED, id="J19 a blank behind"),
    pytest.param("github.search\n", DOTTED, id="J19 a line feed behind"),
    pytest.param("find.read", DOTTED, id="another server's tool"),
    pytest.param("", DOTTED, id="J15 empty"),
    pytest.param("x" * 10_240, DOTTED, id="J15 10 KiB"),
    pytest.param("github.search\x00", DOTTED, id="J15 NUL"),
    pytest.param("\ud800", DOTTED, id="J03 half a surrogate pair"),
    pytest.param("github.delete", DOTTED, id="J16 not allowed"),
    pytest.param("github__delete", SAFE, id="J16 not allowed, safe"),
    pytest.param("delete", ONE, id="J16 not allowed, on its server's endpoint"),
    pytest.param("github.search", ONE, id="dotted on a server's endpoint"),
    pytest.param("echo", DOTTED, id="echo where servers are registered"),
]


@pytest.mark.parametrize(("name", "view"), UNKNOWN)
def test_a_name_that_leads_nowhere_is_an_unknown_tool(name: str, view: Endpoint) -> None:
    refusal = refused(called(name, view=view))

    assert (refusal.status, refusal.code, refusal.data) == (200, -32602, None)
    assert refusal.message.startswith("Unknown tool: ")
    assert refusal.message.isprintable()
    assert len(respond.refused(refusal, b"1").body) < 1024


@pytest.mark.parametrize(
    ("name", "view"), [("github.delete", DOTTED), ("github__delete", SAFE), ("delete", ONE)]
)
@pytest.mark.parametrize("params", [{}, {"arguments": b'{"a":1}'}, {"_meta": b'{"a":1}'}], ids=str)
def test_j16_a_tool_that_is_not_allowed_answers_as_one_that_is_not_there(
    name: str, view: Endpoint, params: dict[str, bytes]
) -> None:
    without = built(Known(server("tools/github", allowed=["read"]), found("read")), SEARCH)

    there = respond.refused(refused(called(name, params, view=view)), b"1")
    not_there = respond.refused(refused(called(name, params, view=view, of=without)), b"1")

    assert there == not_there


EVASIONS = [
    spelling.format(tool)
    for tool in (
        *("Delete", "DELETE", "delete ", " delete", "delete\n", "delete\u00a0", "delete\x00"),
        *("delet\u0435", "\uff44elete", "de\u200blete", "delete/", "./delete", "../github.delete"),
        *("delete*", "*", "search,delete", "search delete", "search\ndelete", "delete#", "delete?"),
        "delete",
    )
    for spelling in (
        *("github.{}", "github__{}", "{}", "tools/github.{}", "tools/github/{}", "GITHUB.{}"),
        *("github.github.{}", "github._{}", "github___{}", "github:{}", "github/{}", " github.{}"),
        *("find.{}", "find.github.{}", "github..{}", "github.search.{}", "github%2E{}"),
    )
]


@pytest.mark.parametrize("view", [DOTTED, SAFE, ONE], ids=["dotted", "safe", "one server"])
@pytest.mark.parametrize("revision", [NEWEST, Revision.MODERN], ids=["legacy", "modern"])
def test_t25_no_spelling_reaches_a_tool_that_is_not_allowed(
    view: Endpoint, revision: Revision
) -> None:
    assert len(EVASIONS) > 300
    for name in EVASIONS:
        decision = decided(
            "tools/call", {"name": rawjson.quote(name)}, view=view, revision=revision
        )

        assert answer(decision) == (200, -32602)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({}, (200, -32602), id="J15 no name"),
        pytest.param({"name": b"5"}, (200, -32602), id="J15 a number"),
        pytest.param({"name": b"null"}, (200, -32602), id="J15 null"),
        pytest.param({"name": b'["github.search"]'}, (200, -32602), id="J15 a list"),
        pytest.param({"Name": b'"github.delete"'}, (400, -32600), id="J14 Name beside name"),
        pytest.param({"NAME": b'"github.delete"'}, (400, -32600), id="J14 NAME beside name"),
        pytest.param({"Arguments": b"{}"}, (400, -32600), id="J14 Arguments beside arguments"),
        pytest.param({"argument\u017f": b"{}"}, (400, -32600), id="J14 with a long s"),
        pytest.param({"_META": b"{}"}, (400, -32600), id="J14 _META"),
        pytest.param({"arguments": b"[]"}, (200, -32602), id="J21 arguments a list"),
        pytest.param({"arguments": b'"{}"'}, (200, -32602), id="J21 arguments a string"),
        pytest.param({"arguments": b"null"}, (200, -32602), id="J21 arguments null"),
        pytest.param({"_meta": b"5"}, (200, -32602), id="_meta a number"),
        pytest.param({"_meta": b'{"a":1,"a":2}'}, (200, -32602), id="_meta with a key twice"),
        *(
            pytest.param(
                {"_meta": b'{"progressToken":' + token + b"}"},
                (200, -32602),
                id=f"J25 the progress token {token.decode()}",
            )
            for token in (b"{}", b"[1]", b"true", b" false")
        ),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    params: dict[str, bytes], expected: tuple[int, int]
) -> None:
    good = {"name": b'"github.search"', "arguments": b"{}"} if params else {}

    assert answer(decided("tools/call", good | params)) == expected


def test_j21_a_call_without_arguments_has_empty_ones() -> None:
    decision = called("github.search")

    assert isinstance(decision, Forward)
    assert decision.call.params["arguments"] == b"{}"


def test_j14_other_unknown_parameters_are_nobodys_business() -> None:
    assert isinstance(called("github.search", {"task": b"{}", "Vendor": b"1"}), Forward)


@given(spelled.objects(with_half_pairs=True))
def test_arguments_go_on_byte_for_byte(whole: Whole) -> None:
    decision = called("github.search", {"arguments": whole.data.strip()})

    assert isinstance(decision, Forward)
    assert decision.call.params["arguments"] == whole.data.strip()


@pytest.mark.parametrize(
    ("key", "goes_on"),
    [
        ("traceparent", True),
        ("tracestate", True),
        ("baggage", True),
        ("vendor.example/x", True),
        ("modelcontextprotocol/x", True),
        ("com.example.mcp/x", True),
        ("io.modelcontextprotocol/protocolVersion", False),
        ("io.modelcontextprotocol/clientCapabilities", False),
        ("io.modelcontextprotocol/clientInfo", False),
        ("io.modelcontextprotocol/logLevel", False),
        ("dev.mcp/x", False),
        ("io.modelcontextprotocol.tools/x", False),
        ("pointsman.dev/refusal", False),
    ],
)
def test_j24_vendors_keys_go_on_and_reserved_ones_do_not(key: str, goes_on: bool) -> None:
    decision = called("github.search", {"_meta": rawjson.assemble({key: b'{ "a":1.0 }'})})

    assert isinstance(decision, Forward)
    assert decision.call.meta == ({key: b'{ "a":1.0 }'} if goes_on else {})


@pytest.mark.parametrize("token", [b'"a"', b"7", b"-1", b"1.5", b"null"])
def test_j25_a_progress_token_is_the_agents_own_matter(token: bytes) -> None:
    decision = called("github.search", {"_meta": b'{"progressToken":' + token + b"}"})

    assert isinstance(decision, Forward)
    assert decision.call.meta == {}
    assert decision.token == (None if token == b"null" else token)
    assert decision.call.wants_progress == (token != b"null")


def test_j24_a_large_meta_goes_on() -> None:
    large = b'"' + b"x" * 100_000 + b'"'
    decision = called("github.search", {"_meta": b'{"vendor":' + large + b"}"})

    assert isinstance(decision, Forward)
    assert decision.call.meta == {"vendor": large}


# --- names that went


@pytest.mark.parametrize("name", ["github.search", "github__read"])
@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (
            [Known(server("tools/github", out=ServerReason.SUSPENDED)), SEARCH],
            "suspended",
        ),
        ([SEARCH], "removed"),
    ],
    ids=["J18 suspended", "J18 removed"],
)
def test_a_name_that_went_says_what_became_of_it(
    name: str, after: list[Known], reason: str
) -> None:
    now = built(*after, previous=CATALOGUE)

    refusal = refused(called(name, of=now))

    assert (refusal.status, refusal.code) == (200, -32602)
    assert json.loads(refusal.data or b"") == {"reason": reason}
    assert refusal.message == f"Unknown tool: {name}"


def test_a_tool_that_never_was_allowed_says_nothing_when_its_server_goes() -> None:
    assert refused(called("github.delete", of=built(SEARCH, previous=CATALOGUE))).data is None


@pytest.mark.parametrize("after", [None, CATALOGUE], ids=["a fresh replica", "one that listed it"])
@pytest.mark.parametrize(
    ("allowed", "name", "view", "says"),
    [
        pytest.param(["search"], "github.search", DOTTED, True, id="C27 dotted"),
        pytest.param(["search"], "github__search", DOTTED, True, id="C27 safe"),
        pytest.param(["search"], "search", ONE, True, id="C27 the endpoint of the server"),
        pytest.param(["x" * 100], f"github.{'x' * 100}", SAFE, True, id="a long name in full"),
        pytest.param(["a.b"], "github.a.b", DOTTED, True, id="a tool with a dot"),
        pytest.param(["__x"], "github____x", SAFE, True, id="a tool that begins like a joint"),
        pytest.param(["*"], "github.any", DOTTED, False, id="never seen of every tool"),
        pytest.param(["*"], "any", ONE, False, id="never seen, one server"),
        pytest.param(["search"], "github.delete", DOTTED, False, id="J16 not allowed"),
        pytest.param(["search"], "delete", ONE, False, id="J16 not allowed, one server"),
        pytest.param(["*", "x"], "github.delete", DOTTED, False, id="C03 a star beside others"),
        pytest.param(["*"], "github.", DOTTED, False, id="the prefix and a joint"),
        pytest.param(["*"], "", ONE, False, id="no name"),
    ],
)
def test_a_suspended_servers_calls_say_so_whether_it_was_listed_before_or_not(
    allowed: list[str], name: str, view: Endpoint, says: bool, after: Catalogue | None
) -> None:
    suspended = server("tools/github", allowed=allowed, out=ServerReason.SUSPENDED)
    now = built(Known(suspended), SEARCH, previous=after)

    refusal = refused(called(name, view=view, of=now))

    assert (refusal.status, refusal.code) == (200, -32602)
    assert refusal.data == (b'{"reason": "suspended"}' if says else None)
    assert isinstance(called("find.search", of=now), Forward)


def test_on_the_endpoint_of_one_server_a_tool_that_went_says_so() -> None:
    now = built(Known(server("tools/github", allowed=["read"]), GITHUB.finding), previous=CATALOGUE)

    assert refused(called("search", view=ONE, of=now)).data == b'{"reason": "removed"}'
    assert refused(called("delete", view=ONE, of=now)).data is None


def test_on_the_endpoint_of_one_server_nothing_is_said_of_anothers_tools() -> None:
    taken_over = server("tools/new", prefix="github", allowed=["read"])
    now = built(Known(taken_over, found("search", "read")), previous=CATALOGUE)
    new = Endpoint(Form.BARE, "tools/new")

    assert refused(called("github.search", of=now)).data == b'{"reason": "removed"}'
    assert refused(called("search", view=new, of=now)).data is None


def test_a_server_that_no_good_file_ever_named_says_nothing() -> None:
    broken = Server("tools/github", None, skip(ServerReason.INVALID_META))

    assert refused(called("search", view=ONE, of=built(Known(broken)))).data is None


def test_on_the_endpoint_of_one_server_a_dotted_name_never_was_there() -> None:
    now = built(Known(server("tools/github", allowed=["read"]), GITHUB.finding), previous=CATALOGUE)

    assert refused(called("github.search", of=now)).data is not None
    assert refused(called("github.search", view=ONE, of=now)).data is None


# --- lists


@pytest.mark.parametrize(("view", "joint"), [(DOTTED, "."), (SAFE, "__")])
def test_a_list_shows_the_names_of_its_form(view: Endpoint, joint: str) -> None:
    assert names(decided("tools/list", view=view)) == [
        f"find{joint}search",
        f"github{joint}read",
        f"github{joint}search",
    ]


def test_the_endpoint_of_one_server_lists_its_tools_by_their_own_names() -> None:
    assert names(decided("tools/list", view=ONE)) == ["read", "search"]


@pytest.mark.parametrize(
    "reason", [ServerReason.SUSPENDED, ServerReason.INVALID_URL, ServerReason.PREFIX_CONFLICT]
)
def test_the_endpoint_of_a_server_that_exposes_nothing_lists_nothing(reason: ServerReason) -> None:
    made = built(Known(server("tools/github", out=reason), GITHUB.finding), SEARCH)

    assert names(decided("tools/list", view=ONE, of=made)) == []
    assert answer(called("search", view=ONE, of=made)) == (200, -32602)


@pytest.mark.parametrize("view", [DOTTED, SAFE, ONE], ids=["dotted", "safe", "one server"])
def test_pages_follow_each_other(view: Endpoint) -> None:
    seen: list[str] = []
    cursor = b"null"
    for _ in range(10):
        page = decided("tools/list", {"cursor": cursor}, view=view, page_size=1)
        assert isinstance(page, Listed)
        seen += names(page)
        if page.next_cursor is None:
            break
        cursor = rawjson.quote(page.next_cursor)

    assert seen == names(decided("tools/list", view=view))


def test_a_list_tells_its_revision() -> None:
    listed = decided("tools/list")

    assert isinstance(listed, Listed)
    assert listed.revision == CATALOGUE.revision


@pytest.mark.parametrize(
    "cursor",
    [b'"garbage"', b'""', b"5", b"{}", rb'"\ud800"', b'"' + b"x" * 10_240 + b'"'],
    ids=["J29 garbage", "empty", "a number", "an object", "half a pair", "J29 10 KiB"],
)
@pytest.mark.parametrize("of", [CATALOGUE, built()], ids=["servers", "echo"])
def test_a_cursor_that_no_router_wrote_is_refused(cursor: bytes, of: Catalogue) -> None:
    decision = decided("tools/list", {"cursor": cursor}, of=of)

    assert answer(decision) == (200, -32602)
    assert len(refused(decision).message) < 100


# --- echo


def test_where_nothing_is_registered_there_is_one_tool() -> None:
    assert decided("tools/list", of=built()) == EchoListed(built().revision)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (b'{"text":"hello"}', b'"hello"'),
        (rb'{ "text" : "\u0041\/\ud800" }', rb'"\u0041\/\ud800"'),
        (b'{"text":""}', b'""'),
        (b'{"text":5}', None),
        (b'{"text":null}', None),
        (b"{}", None),
    ],
)
def test_echo_returns_the_text_it_is_given(arguments: bytes, text: bytes | None) -> None:
    assert called("echo", {"arguments": arguments}, of=built()) == Echoed(text)


def test_beside_echo_there_is_nothing() -> None:
    assert answer(called("github.search", of=built())) == (200, -32602)
    assert answer(called("echo", {"arguments": b"[]"}, of=built())) == (200, -32602)


@pytest.mark.parametrize(
    "made",
    [
        catalogue.empty(),
        built(Known(server(out=ServerReason.INVALID_URL))),
        built(Known(server())),
    ],
    ids=["before anything was read", "M27 none usable", "none listed yet"],
)
def test_m27_where_servers_are_expected_there_is_no_echo(made: Catalogue) -> None:
    assert names(decided("tools/list", of=made)) == []
    assert answer(called("echo", of=made)) == (200, -32602)
