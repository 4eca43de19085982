"""The whole product on one machine, from a folder of YAML files to the end of its router."""

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from pointsman import agent, child, ending, envelope, news, reports, sample
from pointsman.agent import Agent
from pointsman.child import NotStarted, Router, Wish
from pointsman.notices import Notice
from pointsman.publication import Publication
from pointsman.screen import Screen
from pointsman_contract.report import Report

# Short enough that an edit is live within a second, with everything that comes after.
LOOK_EVERY_S = 0.1

# Where one calls what listens everywhere.
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asked for."""

    folder: Path
    host: str
    port: int
    names: str | None
    default_url: str
    """Where the other commands look for a router unless told."""
    command: str
    """How this program is called in a shell here."""
    version: str
    shows_log: bool = False


async def run(options: Options, environ: Mapping[str, str], screen: Screen) -> None:
    """Serve the folder until the end is wished; raises NotStarted, NoFreePort."""
    stop = ending.Stop()
    with tempfile.TemporaryDirectory(prefix="pointsman-") as place:
        directory = Path(place) / "servers"
        publication = Publication(options.folder, directory)
        _tell(screen, publication.refresh())
        wish = Wish(directory, options.host, options.port, options.names)
        async with aiohttp.ClientSession() as session:
            starting = child.start(wish, environ, session, _log(options, screen))
            router = await ending.first_of(starting, stop.wished())
            if router is None:
                return
            stop.on_second(router.kill)
            try:
                await ending.first_of(
                    _keep_published(publication, screen),
                    _tell_reports(options, router, session, screen),
                    _insist(router),
                    stop.wished(),
                )
            finally:
                await router.stop()
    screen.line("stopped")


async def _keep_published(publication: Publication, screen: Screen) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        _tell(screen, publication.refresh())


async def _tell_reports(
    options: Options, router: Router, session: aiohttp.ClientSession, screen: Screen
) -> None:
    url = f"http://{_in_url(options.host)}:{router.port}{agent.MCP_PATH}"
    if router.port != options.port:
        screen.line(f"port {options.port} is taken: using {router.port}", "yellow")
    screen.line(f"agents find every tool at {url}", "bold")
    screen.line(f"people see all of it at {router.admin_url}/")
    before: Report | None = None
    is_told = False
    async for report in reports.follow(session, router.admin_url):
        if before is None:
            _greet(options, report, screen)
        else:
            _tell(screen, news.since(before, report))
        before = report
        if not is_told and (call := await _call(options, url)):
            screen.line("try")
            screen.line(f"  {call}", "bold")
            is_told = True


def _greet(options: Options, report: Report, screen: Screen) -> None:
    if report.fault:
        screen.line(report.fault, "red")
    if not report.servers:
        screen.line(f"no servers yet: {options.folder} holds no McpServer that is accepted")
        return
    screen.line()
    screen.table(news.COLUMNS, news.rows(report, options.names))
    screen.line()


async def _call(options: Options, url: str) -> str | None:
    try:
        async with Agent(agent.address(url, options.names), options.version) as asking:
            tools = await asking.tools()
    except (agent.NotReached, envelope.NoAnswer, envelope.Refused):
        return None
    return sample.call(tools, options.command, None if url == options.default_url else url)


async def _insist(router: Router) -> None:
    status = await router.ends()
    raise NotStarted(f"the router ended with status {status}:\n{router.last_words}")


def _log(options: Options, screen: Screen) -> Callable[[str], None]:
    return (lambda line: screen.line(line, "dim")) if options.shows_log else (lambda _: None)


def _tell(screen: Screen, said: Iterable[Notice]) -> None:
    for each in said:
        screen.line(each.text, "" if each.is_good else "red")


def _in_url(host: str) -> str:
    reached = _REACHED_AT.get(host, host)
    return f"[{reached}]" if ":" in reached else reached
