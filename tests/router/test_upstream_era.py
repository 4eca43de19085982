"""Which era an upstream speaks follows from what it answers, and from nothing else."""

import json
from http import HTTPStatus

import pytest

from pointsman_contract.report import ServerInfo
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import era, trouble
from pointsman_router.upstream.era import (
    AskAgain,
    Incompatible,
    Legacy,
    Modern,
    Session,
    Terms,
    Undecided,
    Verdict,
)
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.trouble import Trouble

PLAIN = Modern(Revision.MODERN, offers_tools=False, declared=frozenset())
SESSION = Session("s", Revision.V2025_11_25, offers_tools=True, headers={})
UNIMPORTANT = Result(b"{}")


def discovered(*versions: object, **more: object) -> Result:
    return Result(json.dumps({"supportedVersions": versions, **more}).encode())


def error(code: int, message: str = "no", data: object = None) -> RpcError:
    raw = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return RpcError(code, message, json.dumps(raw).encode())


def supports(*versions: str) -> RpcError:
    return error(-32022, data={"supported": versions, "requested": "2026-07-28"})


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        pytest.param(discovered("2026-07-28"), PLAIN, id="ours alone"),
        pytest.param(discovered("2025-11-25", "2026-07-28"), PLAIN, id="ours among others"),
        pytest.param(
            discovered(
                "2026-07-28",
                capabilities={"tools": {"listChanged": True}},
                _meta={"io.modelcontextprotocol/serverInfo": {"name": "a", "version": "1"}},
            ),
            Modern(
                Revision.MODERN,
                True,
                ServerInfo(name="a", version="1"),
                True,
                frozenset(["tools"]),
            ),
            id="all that it says of itself",
        ),
        pytest.param(
            discovered("2026-07-28", capabilities={"tools": []}),
            Modern(Revision.MODERN, offers_tools=True, declared=frozenset(["tools"])),
            id="an odd capability",
        ),
        pytest.param(discovered("2025-11-25"), Legacy(), id="only a legacy one"),
        pytest.param(discovered("2025-11-25", "2027-01-01"), Legacy(), id="a legacy one and later"),
        pytest.param(discovered("2027-01-01"), Incompatible("2027-01-01"), id="only a later one"),
        pytest.param(discovered(), Incompatible("none"), id="no revision"),
        pytest.param(discovered("a\nb"), Incompatible("a·b"), id="not printable"),
        pytest.param(Result(b'{"content":[]}'), Legacy(), id="no DiscoverResult"),
        pytest.param(Result(b'{"supportedVersions":"2026-07-28"}'), Legacy(), id="no list"),
        pytest.param(discovered(2026), Legacy(), id="a number for a revision"),
        pytest.param(supports("2026-07-28"), AskAgain(), id="-32022 with ours"),
        pytest.param(supports("2025-11-25"), Legacy(), id="-32022 with a legacy one"),
        pytest.param(
            supports("2027-01-01"), Incompatible("2027-01-01"), id="-32022 with a later one"
        ),
        pytest.param(error(-32022), Incompatible("none"), id="-32022 with nothing"),
        pytest.param(error(-32022, data=[1]), Incompatible("none"), id="-32022 with nonsense"),
        pytest.param(error(-32020), Modern(), id="-32020"),
        pytest.param(error(-32021), Modern(), id="-32021"),
        pytest.param(error(-32602, "params._meta is incomplete"), Modern(), id="-32602, _meta"),
        pytest.param(
            error(-32602, data={"missing": "io.modelcontextprotocol/protocolVersion"}),
            Modern(),
            id="-32602, a key of _meta",
        ),
        pytest.param(error(-32602, "Invalid params"), Legacy(), id="-32602, anything else"),
        pytest.param(error(-32601), Legacy(), id="-32601"),
        pytest.param(error(-32600, "Bad Request: Missing session ID"), Legacy(), id="SDK 1"),
        pytest.param(error(-32000, "Bad Request: Server not initialized"), Legacy(), id="TS 1"),
        pytest.param(error(-32603), Legacy(), id="any other error"),
        *(
            pytest.param(trouble.status(number), Legacy(), id=f"HTTP {number}")
            for number in (400, 404, 405, 406, 415, 421)
        ),
        pytest.param(trouble.senseless("HTML"), Legacy(), id="200 with a page"),
    ],
)
def test_an_answer_to_the_probe_decides(
    answer: Result | RpcError | Trouble, verdict: Verdict
) -> None:
    assert era.judge(answer) == verdict


@pytest.mark.parametrize(
    "met",
    [
        *(
            pytest.param(trouble.status(number), id=f"HTTP {number}")
            for number in (301, 307, 401, 403, 407, 408, 429, 500, 502, 503, 504)
        ),
        pytest.param(trouble.late(1.0), id="timeout"),
        pytest.param(trouble.refused(), id="connection refused"),
        pytest.param(trouble.unresolved(), id="no address"),
        pytest.param(trouble.tls_failed("no"), id="TLS"),
        pytest.param(trouble.lost(), id="connection lost"),
        pytest.param(trouble.violation("it broke off"), id="an answer cut short"),
        pytest.param(trouble.too_large(1), id="an answer over its bound"),
    ],
)
def test_what_says_nothing_of_the_era_is_no_verdict(met: Trouble) -> None:
    assert era.judge(met) == Undecided(met)


VERSION_WORDS = "Bad Request: Unsupported protocol version: 2026-07-28"


@pytest.mark.parametrize(
    ("terms", "status", "outcome", "refused"),
    [
        pytest.param(SESSION, 400, supports("2026-07-28"), True, id="legacy, -32022"),
        pytest.param(SESSION, 400, error(-32020), True, id="legacy, -32020"),
        pytest.param(SESSION, 400, error(-32602, "_meta"), True, id="legacy, no _meta"),
        pytest.param(SESSION, 400, error(-32602, "Unknown tool"), False, id="legacy, -32602"),
        pytest.param(SESSION, 200, error(-32602, "_meta"), False, id="legacy, 200"),
        pytest.param(SESSION, 404, error(-32601), False, id="legacy, no such method"),
        pytest.param(SESSION, 200, UNIMPORTANT, False, id="legacy, a result"),
        pytest.param(PLAIN, 400, supports("2025-11-25"), True, id="modern, -32022"),
        pytest.param(
            PLAIN, 400, error(-32600, "Missing session ID"), True, id="modern, no session"
        ),
        pytest.param(PLAIN, 400, error(-32600, VERSION_WORDS), True, id="modern, version"),
        pytest.param(PLAIN, 400, error(-32020), False, id="modern, a header"),
        pytest.param(PLAIN, 400, error(-32021), False, id="modern, a capability"),
        pytest.param(PLAIN, 404, error(-32601), False, id="modern, no such method"),
        pytest.param(PLAIN, 200, error(-32000, "session"), False, id="modern, 200"),
        pytest.param(PLAIN, 200, UNIMPORTANT, False, id="modern, a result"),
    ],
)
def test_only_a_refusal_shaped_like_the_other_era_puts_one_in_doubt(
    terms: Terms, status: int, outcome: Result | RpcError, refused: bool
) -> None:
    assert era.is_refused(terms, status, outcome) is refused


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415])
def test_a_plain_no_puts_only_the_modern_era_in_doubt(status: int) -> None:
    met = trouble.status(status)

    assert era.is_doubtful(PLAIN, met)
    assert not era.is_doubtful(SESSION, met)


@pytest.mark.parametrize(
    "met",
    [
        *(
            pytest.param(trouble.status(number), id=HTTPStatus(number).phrase)
            for number in (401, 403, 429, 500, 502, 503)
        ),
        pytest.param(trouble.late(1.0), id="timeout"),
        pytest.param(trouble.lost(), id="connection lost"),
        pytest.param(trouble.senseless("HTML"), id="a page"),
    ],
)
def test_an_outage_puts_no_era_in_doubt(met: Trouble) -> None:
    assert not era.is_doubtful(PLAIN, met)
    assert not era.is_doubtful(SESSION, met)
