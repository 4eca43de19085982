"""A router as the operator sees it: an admin port whose report a test writes."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from bench import ports
from pointsman_contract import report
from pointsman_contract.report import Report, ServerReport, State, ViewReport

SINCE = "2026-01-01T00:00:00Z"


def serving(server: str, uid: str, *tools: str, generation: int = 1, **members: Any) -> Any:
    """The entry of a server that is served with these tools; `members` by their names on the wire.

    Another state than Serving, or a generation, is given as a member.
    """
    served = [
        {"name": tool, "exposedName": f"p.{tool}", "safeName": f"p__{tool}", "digest": "sha256:0"}
        for tool in tools
    ]
    plain = {
        "id": server,
        "uid": uid,
        "generation": generation,
        "state": State.SERVING,
        "toolCount": len(tools),
        "tools": served,
        "since": SINCE,
    }
    return ServerReport.model_validate(plain | members)


def serving_view(view: str, uid: str, digest: str, tools: int = 1, **members: Any) -> ViewReport:
    """The entry of a view whose document has this digest, and in which agents find `tools`."""
    plain = {
        "id": view,
        "uid": uid,
        "generation": 1,
        "digest": digest,
        "state": State.SERVING,
        "toolCount": tools,
        "since": SINCE,
    }
    return ViewReport.model_validate(plain | members)


class ReportingRouter:
    """Answers `/status` as a router does: whole, changed since, or unchanged after a wait."""

    def __init__(self, instance: str) -> None:
        self.port = ports.free_port()
        self.polls: list[dict[str, str]] = []
        self.hangs = False
        self.status = 200
        self._versions: list[Report] = [Report(instance=instance, started_at=SINCE, catalogue="0")]
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Its admin address."""
        return f"http://{ports.LOOPBACK}:{self.port}"

    @property
    def name(self) -> str:
        """What the operator calls it."""
        return f"{ports.LOOPBACK}:{self.port}"

    @property
    def report(self) -> Report:
        """What it reports now."""
        return self._versions[-1]

    async def reports(self, *servers: ServerReport) -> None:
        """Report exactly these servers from now on."""
        ordered = tuple(sorted(servers, key=lambda server: server.id))
        await self._become(self.report.model_copy(update={"servers": ordered}))

    async def also_reports(self, server: ServerReport) -> None:
        """Report this server in place of what was said of it, and the others as before."""
        others = [one for one in self.report.servers if one.id != server.id]
        await self.reports(*others, server)

    async def is_at_fault(self, fault: str | None) -> None:
        """Say from now on why the servers are older than the directory's."""
        await self._become(self.report.model_copy(update={"fault": fault}))

    async def reports_views(self, *views: ViewReport) -> None:
        """Report exactly these views from now on, and the servers as before."""
        ordered = tuple(sorted(views, key=lambda view: view.id))
        await self._become(self.report.model_copy(update={"views": ordered}))

    async def is_replaced(self, instance: str, servers: Iterable[ServerReport] = ()) -> None:
        """Be another instance from now on: nobody's tag is known."""
        self._versions.clear()
        await self._become(
            Report(instance=instance, started_at=SINCE, catalogue="0", servers=tuple(servers))
        )

    async def start(self) -> None:
        """Answer, on the same port as before."""
        application = web.Application()
        application.router.add_get("/status", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, ports.LOOPBACK, self.port, reuse_address=True).start()

    async def stop(self) -> None:
        """Refuse connections."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _become(self, new: Report) -> None:
        async with self._changed:
            self._versions.append(new)
            self._changed.notify_all()

    async def _answer(self, request: web.Request) -> web.Response:
        self.polls.append(dict(request.query))
        if self.hangs:
            await asyncio.Event().wait()
        if self.status != 200:
            return web.Response(status=self.status)
        since, wait_s = request.query.get("since"), float(request.query.get("wait", "0"))
        if since == self._tag():
            await self._news(since, wait_s)
        if since == self._tag():
            return web.Response(status=304, headers={"ETag": self._tag()})
        known = {self._tag(version): version for version in range(len(self._versions))}
        document: report.Report | report.Change = self.report
        if since in known:
            document = report.difference(self._versions[known[since]], self.report)
        return web.Response(
            body=report.dump(document),
            content_type="application/json",
            headers={"ETag": self._tag()},
        )

    async def _news(self, since: str, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s), self._changed:
                await self._changed.wait_for(lambda: self._tag() != since)
        except TimeoutError:
            return

    def _tag(self, version: int = -1) -> str:
        number = len(self._versions) - 1 if version < 0 else version
        return f'"{self.report.instance}-{number}"'


@asynccontextmanager
async def reporting(
    instance: str = "router-1", *servers: ServerReport
) -> AsyncIterator[ReportingRouter]:
    """A router that reports these servers, until the block ends."""
    router = ReportingRouter(instance)
    await router.reports(*servers)
    await router.start()
    try:
        yield router
    finally:
        await router.stop()
