"""The page as the admin port answers it, and what making it costs the others."""

import asyncio
import html
import re
import time

import pytest

from bench.adminport import Port, listening, reporting
from bench.catalogues import Known, built, definition, found, server
from pointsman_contract import names, overview
from pointsman_router import panorama
from pointsman_router import reporting as reports
from pointsman_router.reporting import Self

PAUSE_MAX_S = 0.05
# What pauses the loop does so each time; what else the machine does meanwhile is in some of them.
ROUNDS = 4
JSON = "application/json"


def take_over(port: Port, *known: Known) -> None:
    """Replace both cells as the router does: without a moment between them."""
    made = built(*known)
    port.catalogues.put(made)
    port.reports.put(reports.build(made, None, myself=Self("i", "then"), now="now"))


async def test_a_browser_gets_a_page_of_what_is_served_now() -> None:
    async with listening() as port:
        take_over(port, Known(server("tools/github"), found("search")))
        port.recent.add("tools/github", "call", "Timeout", "it took too long")
        page = await port.get("/", Accept="text/html,*/*;q=0.8")

    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert b"github__search" in page.body
    assert b"it took too long" in page.body


async def test_who_names_json_gets_the_same_as_json() -> None:
    async with listening() as port:
        take_over(port, Known(server("tools/github"), found("search")))
        answer = await port.get("/", Accept=JSON)

    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    shown = overview.load(answer.body)
    assert [tool.exposed_name for tool in shown.servers[0].tools] == ["github.search"]


async def test_the_next_part_can_be_asked_for_whatever_the_tools_are_called() -> None:
    longest = "é" * (names.OWN_MAX_LENGTH - 4)
    tools = [f"{number:04}{longest}" for number in range(panorama.TOOLS_MAX + 1)]
    async with listening() as port:
        take_over(port, Known(server("a"), found(*tools)), Known(server("b"), found("last")))
        first = await port.get("/?tools=1")
        (link,) = re.findall(r'href="([^"]+)" class="more"', first.body.decode())
        second = await port.get(html.unescape(link))

    assert second.status == 200
    assert tools[-1].encode() in second.body
    assert b"b__last" in second.body


async def test_head_is_answered_as_get_without_the_page() -> None:
    async with listening(reporting("a")) as port:
        whole, head = await port.get("/"), await port.get("/", method="HEAD")

    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(whole.body))


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("q=a", 200),
        ("q=%ED%A0%80", 200),
        ("q=%00%E2%80%AE", 200),
        ("q=a&q=b", 400),
        ("server=a", 200),
        ("server=b", 404),
        ("server=%3Cscript%3E", 404),
        ("tools=2", 400),
        ("after=a", 200),
    ],
)
async def test_a_query_is_answered_or_refused_by_the_name_of_what_is_wrong(
    query: str, status: int
) -> None:
    async with listening(reporting("a")) as port:
        answer = await port.get(f"/?{query}")

    assert answer.status == status
    assert b"<script" not in answer.body


@pytest.mark.parametrize("unready", ["the directory has not been read yet", "draining"])
async def test_a_router_that_is_not_ready_shows_a_page_that_says_why(unready: str) -> None:
    async with listening(unready=lambda: "the directory has not been read yet") as port:
        if unready == "draining":
            port.admin.drain()
        answer = await port.get("/")

    assert answer.status == 200
    assert b"Not ready" in answer.body
    assert unready.encode() in answer.body


async def test_a_large_catalogue_is_shown_in_parts_and_pauses_nobody() -> None:
    large = definition("t", description="What it does. " * 40, title="A title")
    tools = [large.replace(b'"t"', f'"t{number}"'.encode()) for number in range(20)]
    offered = found(*tools)
    known = [Known(server(f"ns/s{number:04}"), offered) for number in range(1000)]
    paths = ("/", "/?q=title", "/?q=s0042", "/?tools=1", "/?after=ns%2Fs0500", "/?q=nothing")
    async with listening() as port:
        take_over(port, *known)
        pauses_s = []
        for _ in range(ROUNDS):
            watching = asyncio.create_task(_longest_pause_s())
            bodies = [(await port.get(path)).body for path in paths]
            watching.cancel()
            pauses_s.append(await watching)

    assert all(len(body) < 2 * 1024 * 1024 for body in bodies)
    assert b"100 of 1000" not in bodies[0]
    assert b"1000 of 1000" in bodies[0]
    assert b"s0042.t7" in bodies[2]
    assert min(pauses_s) < PAUSE_MAX_S


async def _longest_pause_s() -> float:
    """Return by how much the loop was late at worst, once cancelled."""
    every_s, worst_s = 0.005, 0.0
    while True:
        begun_s = time.perf_counter()
        try:
            await asyncio.sleep(every_s)
        except asyncio.CancelledError:
            return worst_s
        worst_s = max(worst_s, time.perf_counter() - begun_s - every_s)
