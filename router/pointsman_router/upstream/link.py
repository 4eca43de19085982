"""The way to one server: what discovery lists and the door calls through."""

import asyncio
from collections.abc import Callable, Mapping

from pointsman_contract.report import ServerReason
from pointsman_router.failures import Executed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.offer import Listing
from pointsman_router.registry import Skip, Target
from pointsman_router.upstream import messages, modern, pages, trouble
from pointsman_router.upstream.asking import Call, Listener
from pointsman_router.upstream.calls import Calls
from pointsman_router.upstream.desk import Desk
from pointsman_router.upstream.dial import Dialler
from pointsman_router.upstream.era import Modern, Session, Terms
from pointsman_router.upstream.exchange import Wire
from pointsman_router.upstream.farewell import Farewells
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.listening import Listening
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.opening import Opener
from pointsman_router.upstream.pages import Listable, Pages, Refused
from pointsman_router.upstream.pool import Attempt
from pointsman_router.upstream.rpc import Ask, Rpc
from pointsman_router.upstream.session import Standing
from pointsman_router.upstream.throttle import Throttle
from pointsman_router.upstream.trouble import Trouble

_NONE = Pages(())
# What may be wrong with one list of an upstream whose others are worth serving.
_OF_ONE_LIST = frozenset(
    [ServerReason.LIST_TOO_LARGE, ServerReason.CURSOR_LOOP, ServerReason.PROTOCOL_VIOLATION]
)


class Link:
    """The wire to one server: its connections, its terms, its bounds. Needs a running loop."""

    def __init__(
        self,
        target: Target,
        *,
        dialler: Dialler,
        desk: Desk,
        version: str,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._exposes = target.exposes
        self._desk = desk
        self._wire = Wire(target.url, dialler, self._limits, user_agent=f"pointsman/{version}")
        self._rpc = Rpc(self._wire, self._limits)
        self._myself = modern.Self(version)
        opener = Opener(
            self._rpc,
            self._limits,
            protocol=target.protocol,
            version=version,
            myself=self._myself,
        )
        self._standing = Standing(
            self._rpc,
            opener,
            protocol=target.protocol,
            revise_s=self._limits.revise_s,
            part=self._part,
        )
        self._farewells = Farewells(self._wire, self._limits)
        self._listening = Listening(
            self._wire,
            self._rpc,
            self._limits,
            myself=self._myself,
            tell=self._tell_renewal,
            turns=desk.turns,
            exposes=target.exposes,
        )
        self._throttle = Throttle()
        self.calls = Calls(
            self._wire,
            self._rpc,
            self._standing,
            self._limits,
            myself=self._myself,
            throttle=self._throttle,
            tell_renewal=self._tell_renewal,
        )
        """The calls at the server, those that need no task included."""
        self._on_renewal: Callable[[], None] = lambda: None

    def on_renewal(self, tell: Callable[[], None]) -> None:
        """Have `tell` called when the upstream's list may be another: it began anew, or says so."""
        self._on_renewal = tell

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones included."""
        return self._wire.open_connections

    @property
    def terms(self) -> Terms | None:
        """What was agreed with the upstream, or found out about it, if anything was."""
        return self._standing.current

    @property
    def listens(self) -> bool:
        """Whether there is a stream on which the upstream tells of changes, or soon will be."""
        return self._listening.is_open

    async def list(self) -> Listing:
        """Return all pages of what is exposed; raises Trouble, and then nothing was kept."""
        self.calls.demand_open()
        try:
            async with asyncio.timeout(self._limits.listing_s):
                await self._standing.revise()
                return await self._list()
        except TimeoutError:
            raise trouble.late(self._limits.listing_s) from None
        except Trouble as met:
            self._throttle.heed(met)
            raise

    async def call(self, call: Call, listener: Listener | None = None) -> Result | RpcError:
        """Return what the upstream answers to a call, as `Calls.call` does."""
        return await self.calls.call(call, listener)

    async def close(self) -> None:
        """Let the calls in flight end, end the session, close the connections; never raises.

        Cancelled, it closes the connections at once.
        """
        self.calls.refuse()
        try:
            await self._listening.close()
            await self.calls.settled()
            await self._standing.close()
            await self._farewells.bidden()
        finally:
            self.calls.close()
            await self._standing.close()
            await self._rpc.close()
            await self._wire.close()

    async def _list(self) -> Listing:
        listed, refused = dict.fromkeys(pages.ALL, _NONE), {}
        # All of them share one bound: what is read of them is in memory together.
        left = self._limits.list_max_bytes
        for of in pages.ALL:
            if of.exposed not in self._exposes:
                continue
            match await self._every(of, left):
                case Pages() as whole:
                    listed[of] = whole
                    left -= sum(map(len, whole.items))
                case Trouble() as why if of.kind is None:
                    raise why
                case Trouble() as why:
                    # Whoever answers so is there: what it lists beside it is worth serving.
                    refused[of.kind] = Skip(why.reason, why.message)
        terms = await self._standing.get()
        if not self.calls.is_closed:
            self._listening.attend(terms)
        ttls_ms = (each.ttl_ms for each in listed.values() if each.ttl_ms is not None)
        return Listing(
            listed[pages.TOOLS].items,
            terms.revision,
            terms.server_info,
            ttl_ms=min(ttls_ms, default=None),
            private=any(each.private for each in listed.values()),
            prompts=listed[pages.PROMPTS].items,
            resources=listed[pages.RESOURCES].items,
            templates=listed[pages.TEMPLATES].items,
            refused=refused,
        )

    async def _every(self, of: Listable, max_bytes: int) -> Pages | Trouble:
        """Return all pages of a list, none of what the upstream does not have, or what is wrong.

        Raises Trouble that is not the list's own.
        """
        capability = of.method.partition("/")[0]
        if of is not pages.TOOLS and not _may_offer(await self._standing.get(), capability):
            return _NONE

        async def page(params: Mapping[str, bytes]) -> Result | RpcError:
            return await self._page(of.method, params)

        try:
            found = await pages.every(of, page, self._limits, max_bytes)
        except Trouble as met:
            if _is_of_one_list(met):
                return met
            raise
        match found:
            case Pages() as whole:
                return whole
            case Refused(why, is_unknown):
                promised = of is pages.TOOLS and (await self._standing.get()).offers_tools
                return _NONE if is_unknown and not promised else why

    async def _page(self, method: str, params: Mapping[str, bytes]) -> Result | RpcError:
        def build(terms: Terms) -> Ask:
            headers: Mapping[str, str]
            match terms:
                case Session():
                    meta, headers = None, terms.headers
                case Modern():
                    meta = self._myself.idle_meta
                    headers = self._myself.headers(method, params)
            return Ask(
                method,
                messages.params(params, meta),
                headers,
                max_bytes=self._limits.page_max_bytes,
                first_byte_s=self._limits.first_byte_s,
                harmless=True,
                room=self._desk.large_pages,
                turns=self._desk.turns,
            )

        return (await self._standing.ask(build, Attempt()))[0]

    def _part(self, session: Session) -> None:
        self._listening.leave(session)
        self._farewells.bid(session)

    def _tell_renewal(self) -> None:
        self._on_renewal()


def _may_offer(terms: Terms, capability: str) -> bool:
    return terms.declared is None or capability in terms.declared


def _is_of_one_list(met: Trouble) -> bool:
    # What was met before the list was asked for, as in opening a session, is the upstream's.
    return met.reason in _OF_ONE_LIST and met.executed is not Executed.NO
