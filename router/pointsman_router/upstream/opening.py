"""How terms with one upstream are agreed on: by asking for its era, and by `initialize`."""

import asyncio
from http import HTTPStatus

from pointsman_contract import rawjson
from pointsman_contract.meta import Protocol
from pointsman_contract.rawjson import Malformed
from pointsman_contract.report import ServerReason, printable
from pointsman_router import eras
from pointsman_router.failures import Executed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.refusals import Code
from pointsman_router.upstream import era, messages, modern, trouble
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
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Ask, Lost, Rpc
from pointsman_router.upstream.trouble import Trouble

_PROBE = "server/discover"
_SESSION_ID_MAX_LENGTH = 1024
"""Longer ids would not fit a header line beside their name at common limits."""


class Opener:
    """Finds out how to speak with one upstream, as far as its resource leaves that open."""

    def __init__(
        self, rpc: Rpc, limits: Limits, *, protocol: Protocol, version: str, myself: modern.Self
    ) -> None:
        self._rpc = rpc
        self._limits = limits
        self._protocol = protocol
        self._version = version
        self._myself = myself

    async def open(self) -> Terms:
        """Return terms with the upstream; raises Trouble."""
        try:
            async with asyncio.timeout(self._limits.opening_s):
                return await self._open()
        except TimeoutError:
            raise trouble.late(self._limits.opening_s, Executed.NO) from None

    async def probe(self) -> Verdict:
        """Return what the upstream says of its era now, whatever was found before."""
        verdict = await self._probe()
        if isinstance(verdict, AskAgain):
            verdict = await self._probe()
        return verdict

    async def _open(self) -> Terms:
        if self._protocol is Protocol.LEGACY:
            return await self._negotiate()
        verdict = await self.probe()
        match verdict:
            case Undecided(met):
                raise _advised(met) if self._protocol is Protocol.AUTO else met
            case Modern():
                return verdict
            case _ if self._protocol is Protocol.MODERN:
                return Modern()
            case Legacy():
                return await self._negotiate()
            case AskAgain():
                raise trouble.unsupported(
                    f"the upstream names {eras.Revision.MODERN}, and refuses a request in it"
                )
            case Incompatible(supported):
                raise trouble.unsupported(
                    "the upstream speaks no revision that is spoken here; it names"
                    f" {printable(supported, 64)}"
                )

    async def _probe(self) -> Verdict:
        ask = Ask(
            _PROBE,
            messages.params({}, self._myself.idle_meta),
            self._myself.headers(_PROBE, {}),
            max_bytes=self._limits.page_max_bytes,
            first_byte_s=self._limits.first_byte_s,
            harmless=True,
        )
        try:
            answered = await self._rpc.ask(ask, None, Attempt())
        except Trouble as met:
            return era.judge(met)
        # Without a session none can be lost.
        return Legacy() if isinstance(answered, Lost) else era.judge(answered.outcome)

    async def _negotiate(self) -> Session:
        """Open a session in the newest legacy revision that both sides speak."""
        session = await self._initialize()
        await self._rpc.tell("notifications/initialized", session)
        return session

    async def _initialize(self) -> Session:
        ask = Ask(
            "initialize",
            messages.initialize_params(eras.LEGACY_NEWEST, self._version),
            {},
            max_bytes=self._limits.page_max_bytes,
            first_byte_s=self._limits.first_byte_s,
            harmless=True,
        )
        try:
            answered = await self._rpc.ask(ask, None, Attempt())
        except Trouble as met:
            not_allowed = met.status == HTTPStatus.METHOD_NOT_ALLOWED
            raise _other_transport() if not_allowed else met from None
        if isinstance(answered, Lost):
            raise trouble.session_lost()
        match answered.outcome:
            case RpcError(Code.UNSUPPORTED_VERSION):
                raise trouble.unsupported(
                    "the upstream speaks no revision that opens with initialize"
                )
            case RpcError(code, message):
                raise trouble.rpc_error("initialize", code, message)
            case Result(raw):
                try:
                    return _agreed(rawjson.members(raw), answered.session_id)
                except Malformed:
                    raise trouble.violation("its answer to initialize is incomplete") from None


def _agreed(result: dict[str, bytes], session_id: str | None) -> Session:
    stated = rawjson.string(result.get("protocolVersion", b"null"))
    revision = eras.legacy_named(stated)
    if revision is None:
        raise trouble.unsupported(
            f"the upstream answers initialize with protocol version {printable(stated, 32)},"
            " which is not spoken here"
        )
    headers = {"MCP-Protocol-Version": revision.value}
    if session_id is not None:
        if not _is_session_id(session_id):
            raise trouble.violation("its session id is not visible ASCII")
        headers["Mcp-Session-Id"] = session_id
    capabilities = rawjson.members(result.get("capabilities", b"{}"))
    return Session(
        session_id,
        revision,
        "tools" in capabilities,
        headers,
        era.server_info(result.get("serverInfo")),
        # Without a session nobody can know whose stream it is.
        session_id is not None and era.tells_changes(capabilities),
        frozenset(capabilities),
        frozenset() if session_id is None else era.tells_beside(capabilities),
    )


def _advised(met: Trouble) -> Trouble:
    """Help with older servers that stumble over a request that they do not know."""
    stumbles = met.status is not None and met.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if not stumbles and met.reason is not ServerReason.TIMEOUT:
        return met
    return met.advising(
        f"it was asked for {_PROBE}: if only revisions before 2026 are spoken there, set"
        " protocol: Legacy"
    )


def _is_session_id(text: str) -> bool:
    return 0 < len(text) <= _SESSION_ID_MAX_LENGTH and all("!" <= one <= "~" for one in text)


def _other_transport() -> Trouble:
    return trouble.unsupported(
        "the upstream takes no POST at the path in url (HTTP 405): it may speak only HTTP+SSE"
        " of 2024-11-05, which is not served"
    )
