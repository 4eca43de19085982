"""The router's admin port at work, and what it answers."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import aiohttp
from aiohttp.test_utils import TestServer
from prometheus_client import CollectorRegistry
from yarl import URL

from pointsman_contract import report
from pointsman_contract.report import Change, Report, ServerReport, State
from pointsman_router import catalogue
from pointsman_router.admin import Admin
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.recent import Recent


def reporting(*ids: str, fault: str | None = None) -> Report:
    servers = tuple(ServerReport(id=id_, state=State.PENDING, since="then") for id_ in ids)
    return Report(
        instance="router-1", started_at="then", catalogue="c" * 16, fault=fault, servers=servers
    )


class Port:
    """An admin port that listens, and the router's parts that it reads."""

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
        admin: Admin,
        catalogues: Current[Catalogue],
        reports: Current[Report | None],
        recent: Recent,
    ) -> None:
        self.url = url
        self._session = session
        self.admin = admin
        self.catalogues = catalogues
        self.reports = reports
        self.recent = recent

    async def get(self, path: str, *, method: str = "GET", **headers: str) -> "Answer":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._session.request(
            method, URL(f"{self.url}{path}", encoded=True), headers=named
        ) as response:
            return Answer(response.status, response.headers, await response.read())


class Answer:
    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def tag(self) -> str:
        return self.headers["ETag"].strip('"')

    @property
    def document(self) -> Report | Change:
        return report.load(self.body)


@asynccontextmanager
async def listening(
    first: Report | None = None,
    *,
    unready: Callable[[], str | None] = lambda: None,
    metrics: CollectorRegistry | None = None,
    allowed_hosts: tuple[str, ...] = (),
    wait_max_s: float = 60.0,
) -> AsyncIterator[Port]:
    reports: Current[Report | None] = Current(first)
    catalogues = Current(catalogue.empty())
    recent = Recent(lambda: "2026-01-01T00:00:00Z")
    admin = Admin(
        catalogues=catalogues,
        reports=reports,
        recent=recent,
        unready=unready,
        metrics=metrics or CollectorRegistry(),
        allowed_hosts=allowed_hosts,
        wait_max_s=wait_max_s,
    )
    async with TestServer(admin.application()) as server, aiohttp.ClientSession() as session:
        url = str(server.make_url("/")).rstrip("/")
        yield Port(url, session, admin, catalogues, reports, recent)
