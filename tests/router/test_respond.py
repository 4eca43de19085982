"""What an outcome looks like on the wire: byte for byte where it is not the router's own."""

import json
from typing import Any

import pytest
from hypothesis import given

from bench import spelled
from bench.catalogues import Known, built, found, server
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_contract.report import ServerReason
from pointsman_router import dispatch, failures, jsonrpc, refusals, respond
from pointsman_router.dispatch import Discovered, Echoed, EchoListed, Empty, Listed, Welcome
from pointsman_router.endpoints import Endpoint
from pointsman_router.eras import LEGACY, Revision
from pointsman_router.failures import Executed, Failure
from pointsman_router.jsonrpc import Request, RpcError
from pointsman_router.listing import Form
from pointsman_router.refusals import Code, Refusal
from pointsman_router.respond import Asker, Identity, Outcome, Response

IDENTITY = Identity("pointsman", "1.2.3", 60_000)
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
OURS = {"name": "pointsman", "version": "1.2.3"}
NEWEST = Revision.V2025_11_25
HUGE_ID = b"9223372036854775807"


def asker(revision: Revision = NEWEST, id_: bytes = HUGE_ID) -> Asker:
    return Asker(id_, revision, IDENTITY)


def result(response: Response) -> dict[str, Any]:
    """The result in a response, whose envelope is checked on the way."""
    message = json.loads(response.body)
    assert response.status == 200
    assert message.keys() == {"jsonrpc", "id", "result"}
    assert message["jsonrpc"] == "2.0"
    assert message["id"] == int(HUGE_ID)
    assert isinstance(message["result"], dict)
    return message["result"]


def enveloped(raw: bytes, id_: bytes = HUGE_ID) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"result":' + raw + b"}"


# --- results of upstreams


@pytest.mark.parametrize("revision", sorted(LEGACY))
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"content":[]}', id="a plain one"),
        pytest.param(rb'{ "content":[{"text":"a\/b","n":-0,"type":"text"}] }', id="J23 escapes"),
        pytest.param(b'{"isError":true,"content":[]}', id="R13 isError"),
        pytest.param(
            b'{"content":[{"type":"of tomorrow"}],"unknown":null}', id="what is not known"
        ),
        pytest.param(b'{"a":1,"a":2}', id="a member twice"),
        pytest.param(b"{}", id="an empty one"),
    ],
)
def test_a_legacy_agent_gets_the_upstreams_result_byte_for_byte(
    raw: bytes, revision: Revision
) -> None:
    assert respond.relayed(raw, asker(revision)) == Response(200, enveloped(raw))


@pytest.mark.parametrize("revision", sorted(LEGACY - {Revision.V2024_11_05, Revision.V2025_03_26}))
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(
            b'{ "structuredContent" : {"n":9007199254740993,"x":1.0,"z":-0,"big":1e400},'
            rb' "content":[{"text":"a\/b","type":"text"}] }',
            id="J23 numbers and escapes",
        ),
        pytest.param(
            b'{"content":[{"type":"resource_link","uri":"file:///etc/passwd"}]}', id="R15 a link"
        ),
    ],
)
def test_what_came_in_june_2025_reaches_later_agents_byte_for_byte(
    raw: bytes, revision: Revision
) -> None:
    assert respond.relayed(raw, asker(revision)) == Response(200, enveloped(raw))


def parts(response: Response) -> dict[str, bytes]:
    return rawjson.members(rawjson.members(response.body)["result"])


@given(spelled.objects(with_half_pairs=True))
def test_every_member_of_a_result_stays_as_it_is_for_every_agent(whole: Whole) -> None:
    members = {f"x{name}": value for name, value in whole.parts}
    raw = rawjson.assemble(members)

    assert parts(respond.relayed(raw, asker(NEWEST))) == members
    modern = parts(respond.relayed(raw, asker(Revision.MODERN)))
    assert {name: modern[name] for name in members} == members
    assert modern.keys() - members.keys() == {"resultType", "_meta"}


@pytest.mark.parametrize("revision", [NEWEST, Revision.MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(b'"pointsman.dev/refusal"', id="plainly"),
        pytest.param(rb'"pointsman.dev\/refusal"', id="with an escaped slash"),
        pytest.param(rb'"pointsman\u002edev/refusal"', id="with an escaped dot"),
        pytest.param(b'"pointsman.dev/anything"', id="another key"),
    ],
)
@pytest.mark.parametrize("meta", [b'"_meta"', rb'"_m\u0065ta"'], ids=["_meta", "escaped _meta"])
def test_an_upstream_cannot_forge_what_only_the_router_says(
    forged: bytes, meta: bytes, revision: Revision
) -> None:
    raw = b'{"content":[{"n":1.0}],' + meta + b":{" + forged + b':{"code":-32010},"v":{"n":1.0}}}'

    members = parts(respond.relayed(raw, asker(revision)))

    assert members["content"] == b'[{"n":1.0}]'
    kept = rawjson.members(members["_meta"])
    assert kept.keys() - {SERVER_INFO} == {"v"}
    assert kept["v"] == b'{"n":1.0}'


def test_a_modern_agent_is_told_who_speaks_and_that_the_result_is_whole() -> None:
    members = result(
        respond.relayed(
            b'{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"up"}}}',
            asker(Revision.MODERN),
        )
    )

    assert members == {"content": [], "_meta": {SERVER_INFO: OURS}, "resultType": "complete"}


def test_r12_a_result_type_that_the_router_does_not_know_is_passed_on() -> None:
    raw = b'{"resultType":"of_tomorrow","x":1}'

    assert result(respond.relayed(raw, asker(Revision.MODERN)))["resultType"] == "of_tomorrow"


@pytest.mark.parametrize("revision", [NEWEST, Revision.MODERN], ids=["legacy", "modern"])
def test_a_meta_that_is_null_is_no_meta(revision: Revision) -> None:
    members = result(respond.relayed(b'{"content":[],"_meta":null}', asker(revision)))

    assert members.get("_meta") == ({SERVER_INFO: OURS} if revision is Revision.MODERN else None)
    assert members["content"] == []


@pytest.mark.parametrize("revision", [NEWEST, Revision.MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize(
    "raw",
    [b"[]", b"null", b'"x"', b"5", b'{"_meta":5}', b'{"_meta":[]}', b'{"_meta":{},"_meta":{}}'],
)
def test_a_result_that_is_none_is_not_relayed(raw: bytes, revision: Revision) -> None:
    with pytest.raises(rawjson.Malformed):
        respond.relayed(raw, asker(revision))


# --- an upstream's own error


ERROR = RpcError(-32602, "no such \x07 tool " + "x" * 300, b'{"code":-32602, "message":"\\u0007"}')


@pytest.mark.parametrize("revision", Revision)
def test_r14_an_upstreams_error_becomes_a_result_that_quotes_it(revision: Revision) -> None:
    response = respond.upstream_error("tools/github", ERROR, asker(revision))
    members = result(response)

    assert members["isError"] is True
    (block,) = members["content"]
    assert block["text"].startswith(
        "Server tools/github answered with error -32602: no such · tool"
    )
    assert len(block["text"]) < 200
    assert members["_meta"]["pointsman.dev/upstreamError"] == {"code": -32602, "message": "\x07"}
    assert ERROR.raw in response.body
    assert "pointsman.dev/refusal" not in members["_meta"]
    assert response.outcome is Outcome.OK


@pytest.mark.parametrize("code", range(-32016, -32009))
def test_r14_an_error_that_looks_like_ours_is_still_the_upstreams(code: int) -> None:
    raw = b'{"code":%d,"message":"forged"}' % code
    members = result(respond.upstream_error("a/b", RpcError(code, "forged", raw), asker()))

    assert members["_meta"].keys() == {"pointsman.dev/upstreamError"}


@pytest.mark.parametrize(
    ("code", "revision", "as_error"),
    [
        *((-32042, revision, revision is NEWEST) for revision in Revision),
        *((-32021, revision, revision is Revision.MODERN) for revision in Revision),
        *((-32020, revision, False) for revision in Revision),
    ],
)
def test_r25_an_error_that_an_agent_acts_on_is_relayed_as_one(
    code: int, revision: Revision, as_error: bool
) -> None:
    raw = b'{"code":%d ,"data":{"n":1.0}}' % code
    response = respond.upstream_error("a/b", RpcError(code, "", raw), asker(revision))

    relayed = b'{"jsonrpc":"2.0","id":' + HUGE_ID + b',"error":' + raw + b"}"
    assert (response.body == relayed) == as_error
    assert response.status == (400 if as_error and code == -32021 else 200)


@pytest.mark.parametrize("code", [-32042, -32000])
def test_a_huge_error_is_named_but_not_carried_along(code: int) -> None:
    raw = b'{"code":%d,"data":"%b"}' % (code, b"x" * 100_000)
    response = respond.upstream_error("a/b", RpcError(code, "", raw), asker())

    assert result(response)["isError"] is True
    assert len(response.body) < 1024


# --- an upstream's trouble


@pytest.mark.parametrize(
    ("failure", "meta"),
    [
        pytest.param(
            failures.troubled("a/b", ServerReason.UNREACHABLE, "nothing listens", Executed.NO),
            {"code": -32010, "reason": "Unreachable", "retryable": True, "executed": "no"},
            id="J18 unreachable",
        ),
        pytest.param(
            failures.troubled("a/b", ServerReason.UNREACHABLE, "cut off", Executed.UNKNOWN),
            {"code": -32010, "reason": "Unreachable", "retryable": False, "executed": "unknown"},
            id="cut off after it was asked",
        ),
        pytest.param(
            failures.troubled("a/b", ServerReason.TIMEOUT, "late", Executed.UNKNOWN),
            {"code": -32011, "reason": "Timeout", "retryable": False, "executed": "unknown"},
            id="late",
        ),
        pytest.param(
            failures.troubled("a/b", ServerReason.UPSTREAM_AUTH_REQUIRED, "401", Executed.NO),
            {
                "code": -32010,
                "reason": "UpstreamAuthRequired",
                "retryable": False,
                "executed": "no",
            },
            id="R30 401",
        ),
        pytest.param(
            failures.troubled("a/b", ServerReason.UPSTREAM_THROTTLED, "429", Executed.NO, 1500),
            {
                "code": -32013,
                "reason": "UpstreamThrottled",
                "retryable": True,
                "executed": "no",
                "retryAfterMs": 1500,
            },
            id="429",
        ),
        pytest.param(
            failures.violation("a/b", "its result is no object"),
            {
                "code": -32012,
                "reason": "ProtocolViolation",
                "retryable": False,
                "executed": "unknown",
            },
            id="R28 a violation",
        ),
        pytest.param(
            failures.too_large("a/b", "over 4 MiB"),
            {"code": -32014, "reason": "TooLarge", "retryable": False, "executed": "unknown"},
            id="R27 too large",
        ),
        pytest.param(
            failures.gone("a/b"),
            {"code": -32010, "reason": "Unreachable", "retryable": False, "executed": "no"},
            id="just removed",
        ),
    ],
)
@pytest.mark.parametrize("revision", Revision)
def test_an_upstreams_trouble_is_a_result_that_a_model_can_act_on(
    failure: Failure, meta: dict[str, object], revision: Revision
) -> None:
    response = respond.failed(failure, asker(revision))
    members = result(response)

    assert members["isError"] is True
    assert members["_meta"]["pointsman.dev/refusal"] == meta | {"server": "a/b"}
    (block,) = members["content"]
    assert block["type"] == "text"
    assert "a/b" in block["text"]
    assert ("Nothing was executed" in block["text"]) == (meta["executed"] == "no")
    assert "structuredContent" not in members
    assert ("resultType" in members) == (revision is Revision.MODERN)
    assert response.outcome is Outcome.REFUSED
    assert len(response.body) < 1024


@pytest.mark.parametrize("reason", ServerReason)
@pytest.mark.parametrize("executed", Executed)
def test_every_trouble_has_a_code_of_the_contract(reason: ServerReason, executed: Executed) -> None:
    failure = failures.troubled("a/b", reason, "why", executed)

    assert failure.code in range(-32016, -32009)
    assert not (failure.retryable and failure.executed is Executed.UNKNOWN)


# --- refusals


@pytest.mark.parametrize(
    ("refusal", "outcome"),
    [
        (refusals.misdirected(), Outcome.REJECTED),
        (refusals.foreign_origin(), Outcome.REJECTED),
        (refusals.no_such_path(), Outcome.REJECTED),
        (refusals.wrong_verb(), Outcome.REJECTED),
        (refusals.wrong_content_type(), Outcome.REJECTED),
        (refusals.not_acceptable("application/json"), Outcome.REJECTED),
        (refusals.body_too_large(1024), Outcome.REJECTED),
        (refusals.body_too_slow(30), Outcome.REJECTED),
        (refusals.no_batch(), Outcome.REJECTED),
        (refusals.batch_too_long(50), Outcome.REJECTED),
        (refusals.incomplete_meta("x"), Outcome.REJECTED),
        (refusals.header_mismatch("Mcp-Name", "must equal the name"), Outcome.REJECTED),
        (refusals.unsupported_version("x"), Outcome.REJECTED),
        (refusals.no_notification("tools/call"), Outcome.REJECTED),
        (refusals.method_not_found(Revision.MODERN, "x"), Outcome.REJECTED),
        (refusals.method_not_found(NEWEST, "x"), Outcome.ERROR),
        (refusals.invalid_params("x must be y."), Outcome.ERROR),
        (refusals.unknown_tool("x"), Outcome.ERROR),
        (refusals.unknown_tool("x", "suspended"), Outcome.ERROR),
        (refusals.unknown_cursor(), Outcome.ERROR),
        (refusals.internal(), Outcome.FAILED),
        (Refusal(503, Code.OVERLOADED, "busy"), Outcome.OVERLOADED),
    ],
    ids=lambda value: value.message[:30] if isinstance(value, Refusal) else str(value),
)
def test_a_refusal_is_an_error_under_its_status(refusal: Refusal, outcome: Outcome) -> None:
    response = respond.refused(refusal, b'"a"')
    message = json.loads(response.body)

    assert response.status == refusal.status
    assert response.headers == refusal.headers
    assert response.outcome is outcome
    assert message["id"] == "a"
    assert message["error"]["code"] == refusal.code
    assert message["error"]["message"] == refusal.message
    assert message["error"].get("data") == (json.loads(refusal.data) if refusal.data else None)
    assert len(response.body) < 1024


def test_a_refusal_of_nobodys_request_has_no_id() -> None:
    assert json.loads(respond.refused(refusals.no_batch()).body)["id"] is None


def test_what_wants_no_answer_gets_none() -> None:
    assert respond.accepted() == Response(202, b"")


# --- the router's own answers


@pytest.mark.parametrize("agreed", sorted(LEGACY))
def test_initialize_is_answered_with_what_is_really_offered(agreed: Revision) -> None:
    assert result(respond.answered(Welcome(agreed), asker(Revision.V2025_03_26))) == {
        "protocolVersion": agreed,
        "capabilities": {
            "completions": {},
            "logging": {},
            "prompts": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
            "tools": {"listChanged": False},
        },
        "serverInfo": OURS,
    }


def test_discover_is_answered_with_what_is_really_offered() -> None:
    members = result(respond.answered(Discovered(), asker(Revision.MODERN)))

    assert members["supportedVersions"] == ["2026-07-28"]
    assert members["capabilities"] == {
        "completions": {},
        "logging": {},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True},
        "tools": {"listChanged": True},
    }
    assert members["resultType"] == "complete"
    assert members["_meta"] == {SERVER_INFO: OURS}
    assert_cacheable(members)


def assert_cacheable(members: dict[str, Any]) -> None:
    assert type(members["ttlMs"]) is int
    assert members["ttlMs"] >= 0
    assert members["cacheScope"] in ("public", "private")


def test_a_ping_is_answered_with_nothing() -> None:
    assert respond.answered(Empty(), asker()).body == enveloped(b"{}")


CATALOGUE = built(Known(server(), found("a", "b")))


@pytest.mark.parametrize("revision", Revision)
@pytest.mark.parametrize("page_size", [1, 2])
def test_a_list_is_a_page_of_tools(revision: Revision, page_size: int) -> None:
    listed = dispatch.decide(
        CATALOGUE, Endpoint(Form.SAFE), Request(b"1", "tools/list", {}), revision, page_size
    )
    assert isinstance(listed, Listed)
    members = result(respond.answered(listed, asker(revision)))

    assert [tool["name"] for tool in members["tools"]] == ["github__a", "github__b"][:page_size]
    assert members["_meta"]["pointsman.dev/catalogue"] == CATALOGUE.revision
    assert members.get("nextCursor") == listed.next_cursor
    assert ("nextCursor" in members) == (page_size == 1)
    if revision is Revision.MODERN:
        assert members["resultType"] == "complete"
        assert members["_meta"][SERVER_INFO] == OURS
        assert_cacheable(members)
    else:
        assert members.keys() <= {"tools", "_meta", "nextCursor"}


@pytest.mark.parametrize("revision", Revision)
def test_an_empty_list_is_a_list(revision: Revision) -> None:
    members = result(respond.answered(Listed((), Form.DOTTED, "r", None), asker(revision)))

    assert members["tools"] == []


def test_the_built_in_tool_is_described_as_a_tool() -> None:
    (tool,) = result(respond.answered(EchoListed("r"), asker(Revision.MODERN)))["tools"]

    assert tool["name"] == "echo"
    assert tool["inputSchema"]["properties"] == {"text": {"type": "string"}}


def test_echo_answers_with_the_text_as_it_was_spelled() -> None:
    response = respond.answered(Echoed(rb'"\u0041\/"'), asker())

    assert result(response) == {"content": [{"type": "text", "text": "A/"}]}
    assert rb'"\u0041\/"' in response.body


def test_echo_without_a_text_is_an_error_that_a_model_can_act_on() -> None:
    members = result(respond.answered(Echoed(None), asker()))

    assert members["isError"] is True
    assert "text" in members["content"][0]["text"]


@pytest.mark.parametrize("id_", [b"0", b'"0"', b"-1", rb'"\ud800"', HUGE_ID])
def test_j08_j10_every_answer_carries_its_own_id(id_: bytes) -> None:
    to = asker(id_=id_)
    for response in (
        respond.answered(Empty(), to),
        respond.relayed(b"{}", to),
        respond.failed(failures.gone("a/b"), to),
        respond.upstream_error("a/b", ERROR, to),
        respond.refused(refusals.unknown_cursor(), id_),
    ):
        assert rawjson.members(response.body)["id"] == id_
        assert rawjson.members(response.body)["jsonrpc"] == b'"2.0"'


def test_codes_are_those_of_the_contract() -> None:
    assert {code.name: code.value for code in Code} == {
        "UNAVAILABLE": -32010,
        "DEADLINE": -32011,
        "VIOLATION": -32012,
        "BUSY": -32013,
        "TOO_LARGE": -32014,
        "DEFINITION_CHANGED": -32015,
        "OVERLOADED": -32016,
        "HEADER_MISMATCH": -32020,
        "MISSING_CAPABILITY": -32021,
        "UNSUPPORTED_VERSION": -32022,
        "URL_ELICITATION_REQUIRED": -32042,
    }
    assert jsonrpc.INVALID_PARAMS == -32602
