"""Who is let in before a body is read, and which endpoint a path means."""

from dataclasses import replace

import pytest

from pointsman_router import admission
from pointsman_router.admission import Head, Hosts
from pointsman_router.endpoints import Endpoint
from pointsman_router.listing import Form
from pointsman_router.refusals import Refusal

SERVED = admission.hosts(["localhost", "127.0.0.1", "[::1]", "Router.Tools.svc"])
GOOD = Head(
    verb="POST",
    target="/mcp",
    hosts=("localhost:8080",),
    origins=(),
    content_type="application/json",
    accept=("application/json, text/event-stream",),
)


def status(head: Head, served: Hosts = SERVED) -> int:
    """The HTTP status that ends a request here; 200 where it is let in."""
    admitted = admission.admit(head, served, Form.DOTTED)
    return admitted.status if isinstance(admitted, Refusal) else 200


def test_a_good_request_is_let_in() -> None:
    assert admission.admit(GOOD, SERVED, Form.DOTTED) == Endpoint(Form.DOTTED)


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "FOO"])
def test_h01_h02_only_post_is_served(verb: str) -> None:
    refusal = admission.admit(replace(GOOD, verb=verb, content_type=""), SERVED, Form.DOTTED)

    assert isinstance(refusal, Refusal)
    assert refusal.status == 405
    assert ("Allow", "POST") in refusal.headers


@pytest.mark.parametrize(
    "target",
    [
        *("/", "/x", "//mcp", "/mcp/../x", "/x/../mcp", "/./mcp", "/mcp%2f", "/mcp%2F", "/%6dcp"),
        *("/MCP", "/mcp//", "/mcp/x", "/mcp.json", "//localhost/mcp"),
        *("/mcp;x", "/mcp#x", "/mcp%00", "/mcp\\", "/mcp%3Fnames=safe"),
        *(
            "/mcp/servers",
            "/mcp/servers/",
            "/mcp/servers//",
            "/mcp/servers//x",
            "/mcp/servers/a//b",
        ),
        *("/mcp/servers/a/b/c", "/mcp/servers/a%2Fb", "/mcp/servers/a/b%2fc", "/mcp/servers/%2F"),
        *("/servers/a/b", "/mcp/Servers/a/b", "/mcp/servers/a/b//"),
    ],
)
def test_h03_any_other_path_is_not_found(target: str) -> None:
    assert status(replace(GOOD, target=target)) == 404


@pytest.mark.parametrize("target", ["", "*", "mcp", "localhost:80", "http://localhost/mcp"])
def test_h02_a_target_that_is_no_path_is_refused(target: str) -> None:
    assert status(replace(GOOD, target=target)) == 400


@pytest.mark.parametrize(
    ("target", "view"),
    [
        ("/mcp", Endpoint(Form.SAFE)),
        ("/mcp/", Endpoint(Form.SAFE)),
        ("/mcp?", Endpoint(Form.SAFE)),
        ("/mcp?x=1", Endpoint(Form.SAFE)),
        ("/mcp?names=dotted", Endpoint(Form.DOTTED)),
        ("/mcp?names=safe", Endpoint(Form.SAFE)),
        ("/mcp/?names=dotted&x=1", Endpoint(Form.DOTTED)),
        ("/mcp?n%61mes=d%6Ftted", Endpoint(Form.DOTTED)),
        ("/mcp/servers/tools/github", Endpoint(Form.BARE, "tools/github")),
        ("/mcp/servers/tools/github/", Endpoint(Form.BARE, "tools/github")),
        ("/mcp/servers/tools/github?names=safe", Endpoint(Form.BARE, "tools/github")),
        ("/mcp/servers/github", Endpoint(Form.BARE, "github")),
        ("/mcp/servers/my%20server%C3%BC", Endpoint(Form.BARE, "my serverü")),
        ("/mcp/servers/..", Endpoint(Form.BARE, "..")),
        ("/mcp/views/tools/support", Endpoint(Form.SAFE, view="tools/support")),
        ("/mcp/views/tools/support/", Endpoint(Form.SAFE, view="tools/support")),
        ("/mcp/views/tools/support?names=dotted", Endpoint(Form.DOTTED, view="tools/support")),
        ("/mcp/views/tools/s%75pport?x=1", Endpoint(Form.SAFE, view="tools/support")),
        ("/mcp/views/support", Endpoint(Form.SAFE, view="support")),
        ("/mcp?discover=1", Endpoint(Form.SAFE, discover=True)),
        ("/mcp/?x=1&disc%6Fver=%31", Endpoint(Form.SAFE, discover=True)),
        ("/mcp?names=dotted&discover=1", Endpoint(Form.DOTTED, discover=True)),
        ("/mcp?discover=1&names=safe", Endpoint(Form.SAFE, discover=True)),
        (
            "/mcp/servers/tools/github?discover=1",
            Endpoint(Form.BARE, "tools/github", discover=True),
        ),
        ("/mcp/servers/github/?discover=1", Endpoint(Form.BARE, "github", discover=True)),
    ],
)
def test_a_path_means_one_endpoint(target: str, view: Endpoint) -> None:
    assert admission.admit(replace(GOOD, target=target), SERVED, Form.SAFE) == view


@pytest.mark.parametrize(
    "query",
    ["names=", "names", "names=bare", "names=Safe", "names=safe%20", "names=safe&names=safe"],
)
def test_names_that_are_none_are_refused(query: str) -> None:
    assert status(replace(GOOD, target=f"/mcp?{query}")) == 400
    assert status(replace(GOOD, target=f"/mcp/views/tools/support?{query}")) == 400


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a//b", "//a", "/a/b/c", "/a%2Fb", "/a/%2f", "/a/b//"],
)
def test_a_path_that_names_no_view_is_no_endpoint(path: str) -> None:
    assert status(replace(GOOD, target=f"/mcp/views{path}")) == 404


@pytest.mark.parametrize("path", ["/mcp", "/mcp/servers/github", "/mcp/servers/tools/github"])
@pytest.mark.parametrize(
    "query",
    [
        *("discover", "discover=", "discover=0", "discover=true", "discover=1%20", "discover=01"),
        *("discover=1&discover=1", "discover=1&discover=0", "names=safe&discover=2"),
    ],
)
def test_to_discover_is_asked_for_in_one_way(path: str, query: str) -> None:
    assert status(replace(GOOD, target=f"{path}?{query}")) == 400


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json ;x",
    ],
)
def test_json_may_be_announced_in_several_ways(content_type: str) -> None:
    assert status(replace(GOOD, content_type=content_type)) == 200


@pytest.mark.parametrize(
    "content_type",
    [
        *(
            "",
            "text/plain",
            "application/jsonp",
            "multipart/form-data; boundary=x",
            "application/*",
        ),
        *("application/json, text/plain", "text/plain; application/json", "application/vnd.x+json"),
    ],
)
def test_h04_anything_but_json_is_an_unsupported_type(content_type: str) -> None:
    assert status(replace(GOOD, content_type=content_type)) == 415


@pytest.mark.parametrize(
    ("accept", "modern", "legacy"),
    [
        pytest.param(("application/json, text/event-stream",), True, True, id="both"),
        pytest.param(("text/event-stream", "application/json"), True, True, id="in two headers"),
        pytest.param(("Application/JSON;q=0.9,TEXT/event-stream",), True, True, id="in capitals"),
        pytest.param(("*/*",), True, True, id="H05 anything"),
        pytest.param(("application/*, text/*",), True, True, id="anything of both kinds"),
        pytest.param(("application/json",), False, True, id="H05 JSON alone"),
        pytest.param(("text/event-stream",), False, False, id="H05 a stream alone"),
        pytest.param((), False, True, id="H05 nothing"),
        pytest.param(("text/html, image/*",), False, False, id="H05 neither"),
        pytest.param(("",), False, False, id="an empty header"),
    ],
)
def test_h05_an_agent_must_be_able_to_take_the_answer(
    accept: tuple[str, ...], modern: bool, legacy: bool
) -> None:
    allowed = admission.accepted(accept)
    refusals = [admission.accept_problem(allowed, modern=era) for era in (True, False)]

    assert [refusal is None for refusal in refusals] == [modern, legacy]
    assert {refusal.status for refusal in refusals if refusal} <= {406}


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost:8080", "LocalHost:1", "localhost.", "localhost.:8080"),
        *("127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:8080", "router.tools.svc:8080"),
        "router.tools.svc.",
    ],
)
def test_a_host_of_ours_is_answered(host: str) -> None:
    assert status(replace(GOOD, hosts=(host,))) == 200


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("",),
        ("evil.example",),
        ("localhost.evil.example",),
        ("evil.localhost",),
        ("localhost", "localhost"),
        ("localhost:80:80",),
        ("localhost:",),
        ("localhost:x",),
        ("localhost:8080@evil.example",),
        ("evil.example@localhost",),
        ("localhost, evil.example",),
        ("localhost/evil.example",),
        ("localhost..",),
        ("::1",),
        ("[::1",),
        ("127.0.0.2",),
        ("127.1",),
        ("localhost:\u0668\u0660",),
        ("\uff4cocalhost",),
    ],
    ids=str,
)
def test_h09_any_other_host_is_misdirected(hosts: tuple[str, ...]) -> None:
    assert status(replace(GOOD, hosts=hosts)) == 421


def test_h09_the_check_of_hosts_can_be_turned_off() -> None:
    anybody = admission.hosts(["*"])

    assert status(replace(GOOD, hosts=("evil.example",)), anybody) == 200
    assert status(replace(GOOD, origins=("http://localhost:3000",)), anybody) == 200
    assert status(replace(GOOD, origins=("http://evil.example",)), anybody) == 403


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://localhost:3000", "https://router.tools.svc", "http://[::1]:1"],
)
def test_a_page_of_our_own_may_ask(origin: str) -> None:
    assert status(replace(GOOD, origins=(origin,))) == 200


@pytest.mark.parametrize(
    "origins",
    [
        ("null",),
        ("",),
        ("http://evil.example",),
        ("http://localhost.evil.example",),
        ("http://localhost@evil.example",),
        ("http://localhost/",),
        ("http://localhost http://evil.example",),
        ("http://localhost", "http://localhost"),
        ("localhost",),
        ("//localhost",),
        ("file://localhost",),
        ("chrome-extension://localhost",),
        ("javascript://localhost",),
    ],
    ids=str,
)
def test_h10_any_other_page_may_not(origins: tuple[str, ...]) -> None:
    assert status(replace(GOOD, origins=origins)) == 403


BAD_HOST = replace(GOOD, hosts=("evil.example",))


@pytest.mark.parametrize(
    ("head", "first"),
    [
        pytest.param(replace(BAD_HOST, origins=("null",)), 421, id="host before origin"),
        pytest.param(
            replace(GOOD, origins=("null",), target="/x", verb="GET"), 403, id="origin before path"
        ),
        pytest.param(replace(GOOD, target="/x", verb="GET"), 404, id="path before verb"),
        pytest.param(replace(GOOD, verb="GET", content_type=""), 405, id="verb before type"),
    ],
)
def test_the_first_failure_wins(head: Head, first: int) -> None:
    assert status(head) == first
