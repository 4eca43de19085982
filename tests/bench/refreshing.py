"""A refresh at work between a directory and upstreams that the test moves."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

from bench.directories import document
from bench.waiting import until
from pointsman_contract import meta
from pointsman_contract.report import Report, ServerReason
from pointsman_router import catalogue, offer
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.offer import Finding, Listing
from pointsman_router.reading import Entry, Reading
from pointsman_router.refresh import Refresh
from pointsman_router.registry import Skip, Target
from pointsman_router.reporting import Self

NOT_LISTED = Finding(None, None)
UNREACHABLE = Skip(ServerReason.UNREACHABLE, "the upstream refuses connections")


def offering(*tools: str) -> Finding:
    listed = (
        json.dumps({"name": tool, "inputSchema": {"type": "object"}}).encode() for tool in tools
    )
    return Finding(offer.read(Listing(tuple(listed), "2025-11-25")), None)


def reading(*names: str, fault: str | None = None, loaded: bool = True, **members: Any) -> Reading:
    metas = [meta.load(document(**members), folder=name) for name in names]
    return Reading({found.id: Entry(found.id, found) for found in metas}, fault, loaded)


class Directory:
    """A source whose readings come when the test says so."""

    def __init__(self) -> None:
        self.readings: asyncio.Queue[Reading] = asyncio.Queue()

    async def next(self) -> Reading:
        return await self.readings.get()


class Upstreams:
    """A discovery whose findings come when the test says so; it follows as the real one does."""

    def __init__(self, stirred: asyncio.Event) -> None:
        self._stirred = stirred
        self.targets: dict[str, Target] = {}
        self.nudged: list[str] = []
        self.findings: Mapping[str, Finding] = {}
        self.on_renewal: dict[str, Finding] = {}

    @property
    def everyone_had_a_chance(self) -> bool:
        return all(finding != NOT_LISTED for finding in self.findings.values())

    def follow(self, targets: Mapping[str, Target]) -> None:
        kept = {id_ for id_ in targets if self.targets.get(id_) == targets[id_]}
        self.findings = MappingProxyType(
            {id_: self.findings[id_] if id_ in kept else NOT_LISTED for id_ in targets}
        )
        self.targets = dict(targets)

    def nudge(self, server_id: str) -> None:
        self.nudged.append(server_id)

    async def renewed(self, server_id: str, limit_s: float) -> bool:
        new = self.on_renewal.pop(server_id, None)
        if new is None:
            await asyncio.sleep(limit_s)
            return False
        self.found(**{server_id: new})
        return True

    def found(self, **findings: Finding) -> None:
        self.findings = MappingProxyType({**self.findings, **findings})
        self._stirred.set()


class House:
    """A refresh at work between a directory and upstreams that the test moves."""

    def __init__(self, *, patience_s: float = 60.0, pause_s: float = 0.05) -> None:
        stirred = asyncio.Event()
        self.directory = Directory()
        self.upstreams = Upstreams(stirred)
        self.catalogues = Current(catalogue.empty())
        self.reports: Current[Report | None] = Current(None)
        self.snapshots: list[Catalogue] = []
        self.catalogues.on_change(lambda: self.snapshots.append(self.catalogues.get()))
        self.refresh = Refresh(
            source=self.directory,
            discovery=self.upstreams,
            stirred=stirred,
            catalogues=self.catalogues,
            reports=self.reports,
            myself=Self("router-1", "2026-01-01T00:00:00Z"),
            max_length=64,
            pause_s=pause_s,
            patience_s=patience_s,
        )

    @property
    def tools(self) -> set[str]:
        return set(self.catalogues.get().routes)

    async def has_tools(self, *tools: str) -> None:
        dotted = {tool.replace("__", ".", 1) for tool in tools}
        await until(lambda: {name for name in self.tools if "." in name} == dotted, what=str(tools))


@asynccontextmanager
async def at_work(house: House) -> AsyncIterator[House]:
    working = asyncio.create_task(house.refresh.run())
    try:
        yield house
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
