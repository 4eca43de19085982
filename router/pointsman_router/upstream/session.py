"""How a session with an upstream is opened: once for all who need it, anew when it is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed
from pointsman_contract.report import ServerInfo, printable
from pointsman_router import eras
from pointsman_router.failures import Executed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import messages, trouble
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Ask, Lost, Rpc, Session
from pointsman_router.upstream.trouble import Trouble

_SESSION_ID_MAX_LENGTH = 1024
"""Longer ids would not fit a header line beside their name at common limits."""


class Sessions:
    """The session in force; whoever finds it lost shares the next one with all others."""

    def __init__(self, open_one: Callable[[], Awaitable[Session]]) -> None:
        self._open_one = open_one
        self._current: Session | None = None
        self._opening: asyncio.Task[Session] | None = None

    @property
    def current(self) -> Session | None:
        """The session, if one is open."""
        return self._current

    async def get(self) -> Session:
        """Return the session, opened now if need be; raises Trouble about nothing sent yet."""
        if self._current is not None:
            return self._current
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(_look_at)
        try:
            return await asyncio.shield(self._opening)
        except Trouble as met:
            # One error for each who waits: an exception carries the trace of its raiser.
            raise met.unsent() from None

    def forget(self, session: Session) -> None:
        """Take note that the upstream does not know `session`, unless it was replaced already."""
        if self._current is session:
            self._current = None

    async def close(self) -> Session | None:
        """Give up opening; return the session that is left to be ended."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        left, self._current = self._current, None
        return left

    async def _open(self) -> Session:
        try:
            self._current = await self._open_one()
            return self._current
        finally:
            self._opening = None


async def negotiate(rpc: Rpc, limits: Limits, version: str) -> Session:
    """Open a session in the newest legacy revision that both sides speak; raises Trouble."""
    try:
        async with asyncio.timeout(limits.opening_s):
            session = await _initialize(rpc, limits, version)
            await rpc.tell("notifications/initialized", session)
            return session
    except TimeoutError:
        raise trouble.late(limits.opening_s, Executed.NO) from None


async def _initialize(rpc: Rpc, limits: Limits, version: str) -> Session:
    ask = Ask(
        "initialize",
        messages.initialize_params(eras.LEGACY_NEWEST, version),
        max_bytes=limits.page_max_bytes,
        first_byte_s=limits.first_byte_s,
        harmless=True,
    )
    try:
        answered = await rpc.ask(ask, None, Attempt())
    except Trouble as met:
        raise _other_transport() if met.status == HTTPStatus.METHOD_NOT_ALLOWED else met from None
    if isinstance(answered, Lost):
        raise trouble.session_lost()
    match answered.outcome:
        case RpcError(messages.UNSUPPORTED_VERSION):
            raise trouble.unsupported("the upstream speaks no revision that opens with initialize")
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
    if session_id is not None and not _is_session_id(session_id):
        raise trouble.violation("its session id is not visible ASCII")
    capabilities = rawjson.members(result.get("capabilities", b"{}"))
    return Session(session_id, revision, "tools" in capabilities, _info(result.get("serverInfo")))


def _is_session_id(text: str) -> bool:
    return 0 < len(text) <= _SESSION_ID_MAX_LENGTH and all("!" <= one <= "~" for one in text)


def _info(raw: bytes | None) -> ServerInfo | None:
    """Return what an upstream calls itself; it may be wrong without any harm."""
    try:
        said = rawjson.members(raw or b"{}")
        name, version = rawjson.string(said["name"]), rawjson.string(said["version"])
    except (Malformed, KeyError):
        return None
    return ServerInfo(name=printable(name), version=printable(version))


def _other_transport() -> Trouble:
    return trouble.unsupported(
        "the upstream takes no POST at the path in url (HTTP 405): it may speak only HTTP+SSE"
        " of 2024-11-05, which is not served"
    )


def _look_at(opening: asyncio.Task[Session]) -> None:
    """Retrieve what opening came to, in case that nobody waits any more."""
    if not opening.cancelled():
        opening.exception()
