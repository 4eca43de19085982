"""Usual calls on their way without a task: sent where they come in, answered where that comes in.

Whatever is unusual about one of them is left to whoever carries calls in tasks, and who finds
everything as if it had carried that call from the start.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from pointsman_contract.rawjson import Malformed
from pointsman_router import jsonrpc, translation, usualcall
from pointsman_router.agentline import Connection
from pointsman_router.catalogue import Catalogue
from pointsman_router.foreseen import Foreseen
from pointsman_router.heads import Heard, Meaning
from pointsman_router.translation import CannotBeTold
from pointsman_router.upstream import Begun, Calls, Glance, Wording

# A call that takes longer gets a task, and with it deadlines and signs of life that count seconds.
_QUICK_S = 0.1
# Agents of one kind call some tools each.
_KNOWN_MAX = 4096

_LOG = logging.getLogger(__name__)


class Host(Protocol):
    """Who the calls came to."""

    def land(self, flight: "Flight", answer: bytes) -> None:
        """Send the answer, which is a whole message, and be done with the call."""

    def carry(self, flight: "Flight") -> None:
        """Carry a call that has begun to its answer, whatever that takes."""


class Flight:
    """One call between its sending and its answer."""

    __slots__ = ("_express", "_id", "_is_over", "begun", "catalogue", "foreseen", "heard", "line")

    begun: Begun

    def __init__(
        self,
        express: "Express",
        line: Connection,
        heard: Heard,
        id_: bytes,
        foreseen: Foreseen,
        catalogue: Catalogue,
    ) -> None:
        self._express = express
        self._id = id_
        self._is_over = False
        self.line = line
        self.heard = heard
        self.foreseen = foreseen
        self.catalogue = catalogue
        """The snapshot that it was sent from."""

    def news(self) -> None:
        """Look at what has come of the answer, and end where it has."""
        if self._is_over:
            return
        try:
            found = self.begun.by.glance(self.begun)
            if found is Glance.EARLY:
                return
            told = self._told(found) if isinstance(found, bytes) else None
            if told is None:
                self.hand_over()
            else:
                self._end()
                self._express.host.land(self, jsonrpc.response(self._id, told))
        except Exception:  # whatever it is, it costs this one call
            _LOG.exception("a call failed inside the router")
            if self._is_over:
                self.begun.by.drop(self.begun)
                self.line.cut()
            else:
                self.hand_over()

    def hand_over(self) -> None:
        """Have the call carried: something else than its answer has come."""
        if not self._is_over:
            self._end()
            self._express.host.carry(self)

    def _told(self, result: bytes) -> bytes | None:
        """Return the result as the agent may see it; None where it has to be told why not."""
        try:
            return translation.result(
                result,
                self.foreseen.revision,
                is_plain=self.foreseen.is_plain,
                server_info=self._express.server_info,
                declared=self.foreseen.call.capabilities,
            )
        except (Malformed, CannotBeTold):
            return None

    def _end(self) -> None:
        self._is_over = True
        self.line.left = None
        del self._express.flights[self]


class _Known:
    """What calls of one kind come to, and how the last one was worded for its upstream."""

    __slots__ = ("foreseen", "url", "worded")

    def __init__(self, foreseen: Foreseen | None, url: str | None) -> None:
        self.foreseen = foreseen
        self.url = url
        self.worded: Wording | None = None


class Express:
    """Carries calls that are known before they come, as long as nothing else happens."""

    def __init__(
        self,
        host: Host,
        *,
        calls: Callable[[str, str | None], Calls | None],
        current: Callable[[], Catalogue],
        server_info: bytes,
    ) -> None:
        self.host = host
        self.server_info = server_info
        self.flights: dict[Flight, None] = {}
        self._calls = calls
        self._current = current
        self._known: dict[tuple[Meaning, str, bytes], _Known] = {}
        self._known_in: Catalogue | None = None
        self._seen: set[Flight] = set()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, line: Connection, heard: Heard) -> bool:
        """Send the call that was heard; False where it is not known, or cannot go at once."""
        call = usualcall.read(heard.body)
        catalogue = self._current()
        if call is None or catalogue is not self._known_in:
            return False
        known = self._known.get((heard.meaning, call.name, call.meta))
        if known is None or (foreseen := known.foreseen) is None:
            return False
        calls = self._calls(foreseen.server, known.url)
        if calls is None:
            return False
        flight = Flight(self, line, heard, call.id, foreseen, catalogue)
        begun = calls.begin(foreseen.call, call.arguments, known.worded, flight.news)
        if begun is None:
            return False
        flight.begun = begun
        known.worded = begun.worded
        line.left = flight.hand_over
        self.flights[flight] = None
        if self._timer is None:
            self._look_later()
        return True

    def learn(
        self, heard: Heard, catalogue: Catalogue, foresee: Callable[[], Foreseen | None]
    ) -> None:
        """Remember what the next call like this one comes to, unless that is known."""
        call = usualcall.read(heard.body)
        if call is None or catalogue is not self._current():
            return
        if catalogue is not self._known_in:
            self._known.clear()
            self._known_in = catalogue
        key = (heard.meaning, call.name, call.meta)
        if key not in self._known:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            foreseen = foresee()
            url = catalogue.url(foreseen.server) if foreseen else None
            self._known[key] = _Known(foreseen, url)

    def hand_over_all(self) -> None:
        """Have every call carried that is on its way."""
        for flight in tuple(self.flights):
            flight.hand_over()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_QUICK_S, self._look)

    def _look(self) -> None:
        """Hand over what was on its way at the last look already."""
        self._timer = None
        for flight in self._seen.intersection(self.flights):
            flight.hand_over()
        self._seen = set(self.flights)
        if self.flights:
            self._look_later()
