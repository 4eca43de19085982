"""What is told to people in Events, while nothing else waits for it."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pointsman_contract.report import printable
from pointsman_operator import events
from pointsman_operator.apierrors import ApiError
from pointsman_operator.events import Definition, Event
from pointsman_operator.metrics import Kind, Metrics
from pointsman_operator.ration import Ration
from pointsman_operator.seen import Resource
from pointsman_operator.spec import Identity
from pointsman_operator.status import Status

# Two for each of a thousand resources that come at once; the status has what does not fit.
WAITING_MAX = 2000


# Of a resource: more than a status lists of its tools, many times over. The oldest is forgotten.
DEFINITIONS_MAX = 1000


class Pen(Protocol):
    """What an Event is written with."""

    async def create_event(self, namespace: str, body: Mapping[str, object]) -> None:
        """Write it; raises ApiError."""
        ...


@dataclass(frozen=True, slots=True)
class _Told:
    event: Event
    identity: Identity
    at: str


class Narrator:
    """Writes Events one after another; one that cannot be written is not tried again."""

    def __init__(
        self,
        pen: Pen,
        ration: Ration,
        metrics: Metrics,
        *,
        instance: str,
        clock: Callable[[], datetime],
        logger: logging.Logger,
    ) -> None:
        self._pen = pen
        self._ration = ration
        self._writes = metrics.api_writes.labels(Kind.EVENT)
        self._instance = instance
        self._clock = clock
        self._logger = logger
        self._waiting: asyncio.Queue[_Told | None] = asyncio.Queue()
        self._fails = False
        self._definitions: dict[str, dict[Definition, None]] = {}

    def tell(self, resource: Resource, new: Status, now_s: float) -> None:
        """Have it told what happened to `resource` when its status became `new`."""
        key = resource.config_map
        known = self._definitions.get(key, {})
        happened = events.between(resource.status, new, known)
        self._remember(key, events.unapproved(resource.status) | events.unapproved(new))
        for event in happened:
            allowed = self._ration.take(key, event, now_s)
            if allowed is None:
                continue
            if self._waiting.qsize() >= WAITING_MAX:
                self._failed("too many wait")
                continue
            # Each has a time of its own: by it people see them in their order.
            at = self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self._waiting.put_nowait(_Told(allowed, resource.identity, at))

    def forget(self, key: str) -> None:
        """Note that a resource is gone for good."""
        self._ration.forget(key)
        self._definitions.pop(key, None)

    def _remember(self, key: str, definitions: frozenset[Definition]) -> None:
        # A list that empties and fills again, as with its upstream, is no news.
        if not definitions:
            return
        known = self._definitions.setdefault(key, {})
        for one in definitions:
            known.pop(one, None)
            known[one] = None
        while len(known) > DEFINITIONS_MAX:
            del known[next(iter(known))]

    async def run(self) -> None:
        """Write what is to be told, until `close`."""
        while (told := await self._waiting.get()) is not None:
            try:
                await self._write(told)
            except ApiError as exc:
                self._failed(f"{type(exc).__name__}: {printable(str(exc), 300)}")
            except Exception:
                # What people are told must not end what the operator is for.
                self._logger.exception("an Event ended by a fault")
            else:
                self._fails = False

    def close(self) -> None:
        """Have `run` end once everything was told."""
        self._waiting.put_nowait(None)

    async def _write(self, told: _Told) -> None:
        body = events.body_of(told.event, told.identity, instance=self._instance, at=told.at)
        self._writes.inc()
        await self._pen.create_event(told.identity.namespace or "", body)

    def _failed(self, why: str) -> None:
        # One that cannot be written is seldom alone.
        if not self._fails:
            self._logger.warning("an Event could not be written", extra={"fault": why})
        self._fails = True
