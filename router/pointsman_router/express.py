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
from pointsman_router.upstream import Begun, Calls, Glance

# A call that takes longer gets a task, and with it deadlines and signs of life that count seconds.
_QUICK_S = 0.1
# Agents of one kind call some tools each; whoever calls thousands only costs himself.
_FORESEEN_MAX = 4096

_LOG = logging.getLogger(__name__)

Key = tuple[Meaning, str, bytes]


class Host(Protocol):
    """Who the calls came to."""

    def land(self, flight: "Flight", answer: bytes) -> None:
        """Send the answer, which is a whole message, and be done with the call."""

    def carry(self, flight: "Flight") -> None:
        """Carry a call that has begun to its answer, whatever that takes."""


class Flight:
    """One call between its sending and its answer."""

    __slots__ = ("_express", "_id", "begun", "catalogue", "foreseen", "heard", "is_over", "line")

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
        self.line = line
        self.heard = heard
        self.foreseen = foreseen
        self.catalogue = catalogue
        """The snapshot that it was sent from."""
        self.is_over = False

    def news(self) -> None:
        """Look at what has come of the answer."""
        if self.is_over:
            return
        try:
            self._look()
        except Exception:  # whatever it is, it costs this one call
            _LOG.exception("a call failed inside the router")
            if self.is_over:
                self.line.cut()
            else:
                self._express.hand_over(self)

    def leave(self) -> None:
        """Have the call carried: its agent is gone, or the router ends."""
        self._express.hand_over(self)

    def _look(self) -> None:
        found = self.begun.by.glance(self.begun)
        if found is Glance.EARLY:
            return
        told = self._express.told(self, found) if isinstance(found, bytes) else None
        if told is None:
            self._express.hand_over(self)
        else:
            self._express.land(self, jsonrpc.response(self._id, told))


class Express:
    """Carries calls that are known before they come, as long as nothing else happens."""

    def __init__(
        self,
        host: Host,
        *,
        calls: Callable[[str], Calls | None],
        current: Callable[[], Catalogue],
        server_info: bytes,
    ) -> None:
        self._host = host
        self._calls = calls
        self._current = current
        self._server_info = server_info
        self._foreseen: dict[Key, Foreseen | None] = {}
        self._foreseen_in: Catalogue | None = None
        self._flights: dict[Flight, None] = {}
        self._seen: set[Flight] = set()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, line: Connection, heard: Heard) -> bool:
        """Send the call that was heard; False where it is not known, or cannot go at once."""
        call = usualcall.read(heard.body)
        catalogue = self._current()
        if call is None or catalogue is not self._foreseen_in:
            return False
        foreseen = self._foreseen.get((heard.meaning, call.name, call.meta))
        if foreseen is None or (calls := self._calls(foreseen.server)) is None:
            return False
        flight = Flight(self, line, heard, call.id, foreseen, catalogue)
        begun = calls.begin(foreseen.call, call.arguments, foreseen.worded, flight.news)
        if begun is None:
            return False
        flight.begun = begun
        foreseen.worded = begun.worded
        line.left = flight.leave
        self._flights[flight] = None
        if self._timer is None:
            self._look_later()
        return True

    def learn(
        self, heard: Heard, catalogue: Catalogue, foresee: Callable[[], Foreseen | None]
    ) -> None:
        """Remember what the next call like this one comes to, unless that is known."""
        call = usualcall.read(heard.body)
        if call is None:
            return
        if catalogue is not self._foreseen_in or len(self._foreseen) >= _FORESEEN_MAX:
            self._foreseen.clear()
            self._foreseen_in = catalogue
        key = (heard.meaning, call.name, call.meta)
        if key not in self._foreseen:
            self._foreseen[key] = foresee()

    def hand_over_all(self) -> None:
        """Have every call carried that is on its way."""
        for flight in tuple(self._flights):
            self.hand_over(flight)

    def told(self, flight: Flight, result: bytes) -> bytes | None:
        """Return the result as the agent may see it; None where it has to be told why not."""
        foreseen = flight.foreseen
        try:
            return translation.result(
                result,
                foreseen.revision,
                is_plain=foreseen.is_plain,
                server_info=self._server_info,
            )
        except (Malformed, CannotBeTold):
            return None

    def land(self, flight: Flight, answer: bytes) -> None:
        """End a flight at its goal."""
        self._end(flight)
        self._host.land(flight, answer)

    def hand_over(self, flight: Flight) -> None:
        """End a flight before it."""
        if not flight.is_over:
            self._end(flight)
            self._host.carry(flight)

    def _end(self, flight: Flight) -> None:
        flight.is_over = True
        flight.line.left = None
        del self._flights[flight]

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_QUICK_S, self._look)

    def _look(self) -> None:
        """Hand over what was on its way at the last look already."""
        self._timer = None
        for flight in self._seen.intersection(self._flights):
            self.hand_over(flight)
        self._seen = set(self._flights)
        if self._flights:
            self._look_later()
