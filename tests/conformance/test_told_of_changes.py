"""The official client, told of what changes on a real server behind the router."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

from bench import peers, stack
from bench.directories import lay
from bench.waiting import wait_until
from conformance.agent import has_asked

# The suite wants to be told within 1.5 s; here a machine may be slow.
_TOLD_S = 10.0


@pytest.fixture(params=["Modern", "Legacy"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The router in front of a server that tells of changes in this era."""
    with peers.fixture() as fixture:
        expose = ["Tools", "Resources", "Prompts"]
        lay(tmp_path, "up", url=fixture.url, protocol=request.param, expose=expose)
        with stack.router(tmp_path) as (_, address, admin):
            wait_until(lambda: has_asked(admin), 30, "the fixture was listed")
            yield address


async def test_the_official_client_hears_of_tools_and_of_prompts(url: str) -> None:
    async with (
        Client(url) as client,
        client.listen(
            tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
        ) as told,
        asyncio.timeout(_TOLD_S),
    ):
        honoured = told.honored
        before = {prompt.name for prompt in (await client.list_prompts()).prompts}
        await client.call_tool("up.test_trigger_tool_change", {})
        first = await anext(told)
        await client.call_tool("up.test_trigger_prompt_change", {})
        second = await anext(told)
        after = {prompt.name for prompt in (await client.list_prompts()).prompts}

    assert honoured.tools_list_changed
    assert honoured.prompts_list_changed
    assert honoured.resources_list_changed
    assert [first, second] == [ToolsListChanged(), PromptsListChanged()]
    assert before ^ after == {"up.test_dynamic_prompt"}
