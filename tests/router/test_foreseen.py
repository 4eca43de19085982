"""What is known of the next call of a kind is what that call would be decided to be."""

import pytest
from hypothesis import given

from bench import spelled
from bench.catalogues import Known, built, definition, found, server
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_router import dispatch, prompts
from pointsman_router.catalogue import Catalogue
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import LEGACY, Revision
from pointsman_router.foreseen import Foreseen, foreseen
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import Form
from pointsman_router.outgoing import Forward
from pointsman_router.upstream import Call
from pointsman_router.upstream.wording import OPEN_ARGUMENTS

PROTOCOL = "io.modelcontextprotocol/"
STEADY = (
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"tasks":{}},'
    b'"io.modelcontextprotocol/logLevel":"info"}'
)
REGION = {"type": "string", "x-mcp-header": "Region"}
CATALOGUE = built(
    Known(
        server("tools/github", timeout_s=7),
        found(
            "search",
            definition("lists", outputSchema={"type": "array"}),
            definition("headed", inputSchema={"type": "object", "properties": {"r": REGION}}),
        ),
    )
)


def decided(
    params: dict[str, bytes], revision: Revision, *, of: Catalogue = CATALOGUE
) -> tuple[Request, Forward]:
    request = Request(b"1", "tools/call", params)
    forward = dispatch.decide(of, Endpoint(Form.DOTTED), request, revision, 100)
    assert isinstance(forward, Forward)
    return request, forward


def call(tool: str = "github.search", **more: bytes) -> dict[str, bytes]:
    return {"name": rawjson.quote(tool), "arguments": b'{"a":1}'} | more


NAMING = b'{"pointsman.dev/catalogue":"%b"}' % CATALOGUE.revision.encode()


@pytest.mark.parametrize("revision", [*sorted(LEGACY), Revision.MODERN])
@pytest.mark.parametrize(
    "meta",
    [None, b"{}", STEADY, NAMING],
    ids=["no _meta", "an empty one", "a steady one", "one that names the list"],
)
def test_a_plain_call_is_foreseen_but_for_its_arguments(
    revision: Revision, meta: bytes | None
) -> None:
    request, forward = decided(call() if meta is None else call(_meta=meta), revision)

    known = foreseen(request, forward, revision)

    assert known is not None
    assert (known.server, known.revision, known.is_plain) == ("tools/github", revision, True)
    assert known.call == Call(
        "tools/call",
        {"name": b'"search"', "arguments": OPEN_ARGUMENTS},
        {},
        7.0,
        capabilities=forward.call.capabilities,
        log_level=forward.call.log_level,
    )
    assert list(known.call.params) == list(forward.call.params)


def test_what_its_results_may_hold_is_foreseen_too() -> None:
    request, forward = decided(call("github.lists"), Revision.V2025_11_25)

    known = foreseen(request, forward, Revision.V2025_11_25)

    assert isinstance(known, Foreseen)
    assert not known.is_plain


@pytest.mark.parametrize(
    ("params", "revision"),
    [
        pytest.param(
            call(_meta=b'{"progressToken":1}'), Revision.V2025_11_25, id="a progress token"
        ),
        pytest.param(
            call(_meta=b'{"progressToken":null}'), Revision.MODERN, id="null for a progress token"
        ),
        pytest.param(call(_meta=b'{"vendor.example/x":1}'), Revision.MODERN, id="a vendor's key"),
        pytest.param(call(_meta=b'{"traceparent":"00-a-b-01"}'), Revision.MODERN, id="a trace"),
        pytest.param(
            call(_meta=b'{"io.modelcontextprotocol/other":1}'), Revision.MODERN, id="a new key"
        ),
        pytest.param(
            call(_meta=STEADY[:-1] + b',"x":1}'), Revision.MODERN, id="one beside the steady ones"
        ),
        pytest.param(call("github.headed"), Revision.V2025_11_25, id="a header that repeats"),
        pytest.param(call(requestState=b'"s"'), Revision.MODERN, id="a state to take up"),
        pytest.param(call(inputResponses=b"{}"), Revision.MODERN, id="input that was asked for"),
    ],
)
def test_a_call_that_may_be_another_one_next_time_is_not_foreseen(
    params: dict[str, bytes], revision: Revision
) -> None:
    request, forward = decided(params, revision)

    assert foreseen(request, forward, revision) is None


@pytest.mark.parametrize("revision", [Revision.V2025_11_25, Revision.MODERN])
def test_a_call_through_another_tool_is_not_foreseen(revision: Revision) -> None:
    view = Endpoint(Form.DOTTED, discover=True)
    direct = call()
    through = call("call_tool") | {"arguments": b'{"name":"github.search","arguments":{"a":1}}'}

    known = []
    for params in (direct, through):
        request = Request(b"1", "tools/call", params)
        forward = dispatch.decide(CATALOGUE, view, request, revision, 100)
        assert isinstance(forward, Forward)
        known.append(foreseen(request, forward, revision))

    assert [each is not None for each in known] == [True, False]


def test_only_calls_of_tools_are_foreseen() -> None:
    request = Request(b"1", "prompts/get", {"name": b'"greet"'})
    route = prompts.Route("tools/github", "greet", 7.0)
    forward = Forward(route, Call("prompts/get", {"name": b'"greet"'}, {}, 7.0))

    assert foreseen(request, forward, Revision.MODERN) is None


@given(spelled.objects(), spelled.objects())
def test_two_calls_of_a_kind_are_foreseen_alike(one: Whole, other: Whole) -> None:
    known = []
    for arguments in (one, other):
        params = call() | {"arguments": arguments.data.strip(b" \t\r\n")}
        request, forward = decided(params, Revision.V2025_11_25)
        known.append(foreseen(request, forward, Revision.V2025_11_25))

    assert known[0] == known[1] is not None
