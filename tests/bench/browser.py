"""A real browser without a window, and what it says and asks for while it shows a page."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from playwright.async_api import Browser, ConsoleMessage, Error, Page, Request, async_playwright

from bench import tools

LACKING = (
    "no Chromium is here: install it (Debian: apt-get install chromium), or name one"
    " in POINTSMAN_BROWSER"
)


class Tab:
    """One page, and everything that went on while it was shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requested: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", self._fail)
        page.on("request", self._ask)

    async def overflow_px(self) -> int:
        """By how much the page is wider than its window."""
        found: int = await self.page.evaluate(
            "Math.max(0, document.scrollingElement.scrollWidth - window.innerWidth)"
        )
        return found

    async def open_everything(self) -> None:
        """Open all that can be opened."""
        await self.page.evaluate(
            "document.querySelectorAll('details').forEach(each => { each.open = true })"
        )

    def _hear(self, message: ConsoleMessage) -> None:
        self.complaints.append(message.text)

    def _fail(self, error: Error) -> None:
        self.complaints.append(error.message)

    def _ask(self, request: Request) -> None:
        self.requested.append(request.url)


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """Run a browser that asks nobody for anything by itself."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=tools.browser(),
            # Only another user than root has a sandbox here; what is shown comes from the test.
            chromium_sandbox=os.geteuid() != 0,
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def tab(
    browser: Browser,
    width: int = 1200,
    height: int = 800,
    scheme: Literal["light", "dark"] = "light",
) -> AsyncIterator[Tab]:
    """Open a window of that size, with nothing remembered of others."""
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB"
    )
    try:
        yield Tab(await context.new_page())
    finally:
        await context.close()
