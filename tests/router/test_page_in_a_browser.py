"""The page of a real router, as a real browser shows it."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bench import agents, browser, showcase, stack, tools
from bench.browser import Tab
from bench.waiting import until
from pointsman_contract import overview
from pointsman_contract.overview import Overview
from pointsman_contract.report import State

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(tools.browser() is None, reason=browser.LACKING),
]

# Where the pictures of the docs go; without it they are made and judged, and thrown away.
PICTURES = os.environ.get("POINTSMAN_SCREENSHOTS")
# Of an old phone, a phone, a tablet, and a desk.
WIDTHS = (320, 360, 768, 1200)
PICTURE_MAX_BYTES = 300 * 1024
# What is another in every run, as it looks in the pictures.
STILL = """
document.querySelectorAll("time").forEach(each => { each.textContent = "2026-11-30 09:41:00 UTC" });
document.querySelectorAll("main > .facts code")[0].textContent = "6719ad4489df465883c9e9386eca3cde";
document.querySelectorAll(".failures .sub").forEach(each => {
  if (each.textContent.endsWith("times")) each.textContent = "12 times";
});
document.querySelectorAll("details")[1].open = true;
"""
# The least contrast between each text and what is behind it, and that text.
CONTRAST = """
() => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => {
    const [r, g, b] = parts(color).slice(0, 3).map(each => each / 255).map(
      each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (parts(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  let worst = [99, ""];
  for (const each of document.body.querySelectorAll("*")) {
    const text = [...each.childNodes].filter(node => node.nodeType === 3).map(
      node => node.textContent.trim()).join("");
    if (!text) continue;
    const [a, b] = [light(getComputedStyle(each).color), light(behind(each))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, text];
  }
  return worst;
}
"""


@dataclass(frozen=True, slots=True)
class World:
    """A browser, and a router with servers in every state."""

    browser: Browser
    url: str
    pictures: dict[str, bytes]
    """Taken before there was a hostile server."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    directory = tmp_path_factory.mktemp("servers")
    async with showcase.standing(directory) as shown, browser.launched() as running:
        with stack.router(directory, REFRESH_SECONDS="1") as (_, mcp, admin):
            await until(lambda: _all_serve(admin, "dev/github", "dev/metrics", "ops/postgres"))
            await shown.metrics.stop()
            await agents.call(mcp, "github.get_issue", {"number": 1, "repository": "x"})
            await until(lambda: _has(admin, "dev/metrics", State.STALE), 15.0)
            pictures = {
                name: await _picture(running, admin, width, height)
                for name, width, height in (("wide", 1200, 1560), ("narrow", 390, 1560))
            }
            shown.add_hostile()
            await until(lambda: _all_serve(admin, "untrusted/hostile"))
            yield World(running, f"{admin}/", pictures)


@pytest_asyncio.fixture(loop_scope="module")
async def tab(world: World) -> AsyncIterator[Tab]:
    """The overview in a wide window; nothing may be complained of or asked for elsewhere."""
    async with browser.tab(world.browser) as opened:
        await opened.page.goto(world.url)
        yield opened
        assert opened.complaints == []
        assert all(url.startswith(world.url) for url in opened.requested)


async def _seen(admin: str) -> Overview:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{admin}/", headers={"Accept": "application/json"}) as answer,
    ):
        return overview.load(await answer.read())


async def _has(admin: str, server: str, state: State) -> bool:
    servers = (await _seen(admin)).servers
    return any(each.id == server and each.state is state for each in servers)


async def _all_serve(admin: str, *servers: str) -> bool:
    seen = await _seen(admin)
    serving = {each.id for each in seen.servers if each.state is State.SERVING}
    return serving >= set(servers)


async def _picture(running: Browser, admin: str, width: int, height: int) -> bytes:
    async with browser.tab(running, width, height) as opened:
        await opened.page.goto(f"{admin}/")
        await opened.page.evaluate(STILL)
        return await opened.page.screenshot()


async def test_every_state_is_told_with_its_reason(tab: Tab) -> None:
    said = {
        "ops/ledger": "Suspended",
        "ops/postgres": "Serving",
        "ops/warehouse": "Unreachable",
        "ops/drafts": "NoToolsAllowed",
        "dev/metrics": "Stale",
        "dev/wiki": "UpstreamAuthRequired",
    }

    for server, word in said.items():
        shown = tab.page.locator("article", has=tab.page.get_by_role("link", name=server))
        await expect(shown).to_contain_text(word)
    await expect(tab.page.locator(".failures")).to_contain_text(
        "while it was called the upstream closed the connection without an answer",
        use_inner_text=True,
    )


async def test_what_is_left_out_is_told_with_the_reason(tab: Tab) -> None:
    github = tab.page.locator("article", has_text="dev/github")

    for name, reason in (
        ("merge", "DuplicateName"),
        ("list_labels", "InvalidSchema"),
        ("delete", "InvalidName"),
    ):
        await expect(github.locator("li", has_text=name).last).to_contain_text(reason)


async def test_the_filter_narrows_what_is_shown(tab: Tab) -> None:
    page = tab.page
    await page.get_by_label("Filter").fill("GITHUB__search")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/?q=GITHUB__search")

    await expect(page.locator("article")).to_have_count(1)
    await expect(page.locator("summary")).to_have_count(1)
    await expect(page.locator("summary")).to_contain_text("github.search_issues")
    await expect(page.get_by_label("Filter")).to_have_value("GITHUB__search")

    await page.get_by_role("link", name="Show all").click()
    await expect(page.locator("article")).to_have_count(8)


async def test_a_number_leads_to_what_it_counts(tab: Tab) -> None:
    await tab.page.get_by_role("link", name="Skipped").click()

    await expect(tab.page.locator("article h3")).to_have_text(
        ["dev/wiki", "ops/drafts", "ops/warehouse"]
    )


async def test_a_server_has_a_page_of_its_own(tab: Tab) -> None:
    await tab.page.locator("h3").get_by_role("link", name="ops/postgres").click()
    await tab.page.wait_for_url("**/?server=ops%2Fpostgres")

    await expect(tab.page.locator("article")).to_have_count(1)
    await expect(tab.page.locator("article")).to_contain_text("explain_plan")


async def test_a_tool_opens_and_shows_its_schema(tab: Tab) -> None:
    tool = tab.page.locator("details", has_text="github.search_issues")
    await expect(tool.locator("pre")).to_be_hidden()
    await tool.locator("summary").click()

    await expect(tool.locator("pre")).to_be_visible()
    await expect(tool.locator("pre")).to_contain_text('"default": 30')
    await expect(tool).to_contain_text("The query is GitHub's own")


async def test_everything_can_be_done_from_the_keyboard(tab: Tab) -> None:
    page = tab.page
    await page.keyboard.press("Tab")
    skip = await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("Enter")
    await page.locator("summary").first.focus()
    await page.keyboard.press("Enter")

    assert skip == "Skip to the servers"
    assert page.url.endswith("#servers")
    await expect(page.locator("details[open]")).to_have_count(1)


async def test_what_is_hostile_is_text_and_nothing_else(tab: Tab) -> None:
    await tab.open_everything()
    text = await tab.page.locator("body").inner_text()
    made = await tab.page.locator("script, img, iframe, object, [onerror]").count()

    assert made == 0
    assert await tab.page.title() == "Pointsman router"
    assert showcase.SCRIPT in text
    assert showcase.OVERRIDE not in text
    assert f"U+{ord(showcase.OVERRIDE):04X}" in text


@pytest.mark.parametrize("path", ["", "?server=untrusted%2Fhostile", "?q=nothing", "?server=gone"])
async def test_nothing_is_wider_than_its_window(world: World, path: str) -> None:
    async with browser.tab(world.browser, WIDTHS[0]) as opened:
        await opened.page.goto(world.url + path)
        overflows_px = [await opened.overflow_px()]
        await opened.open_everything()
        for width in WIDTHS:
            await opened.page.set_viewport_size({"width": width, "height": 800})
            overflows_px.append(await opened.overflow_px())

    assert overflows_px == [0] * (1 + len(WIDTHS))


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_can_be_read_in_either_scheme(
    world: World, scheme: Literal["light", "dark"]
) -> None:
    async with browser.tab(world.browser, scheme=scheme) as opened:
        await opened.page.goto(world.url)
        await opened.open_everything()
        ratio, text = await opened.page.evaluate(CONTRAST)
        paper = await opened.page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ratio >= 4.5, text
    assert paper == ("rgb(246, 245, 241)" if scheme == "light" else "rgb(20, 24, 26)")


async def test_what_the_policy_forbids_would_be_noticed(world: World) -> None:
    async with browser.tab(world.browser) as opened:
        await opened.page.goto(world.url)
        await opened.page.evaluate("document.body.setAttribute('style', 'color: red')")
        await until(lambda: opened.complaints)

    assert "Content Security Policy" in opened.complaints[0]


@pytest.mark.parametrize("name", ["wide", "narrow"])
async def test_the_pictures_of_the_docs_are_of_this_page(
    world: World, tmp_path: Path, name: str
) -> None:
    picture = Path(PICTURES or tmp_path) / f"page-{name}.png"
    picture.write_bytes(world.pictures[name])

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < PICTURE_MAX_BYTES
