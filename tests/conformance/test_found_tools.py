"""The official client before an endpoint where tools are found rather than listed."""

from collections.abc import Iterator

import pytest

from bench import agents, peers, stack
from bench.directories import lay
from bench.waiting import wait_until
from conformance.agent import has_asked


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The router in front of a server on the official SDK."""
    directory = tmp_path_factory.mktemp("servers")
    with peers.fixture() as fixture:
        lay(directory, "up", url=fixture.url)
        with stack.router(directory) as (_, address, admin):
            wait_until(lambda: has_asked(admin), 30, "the fixture was listed")
            yield address


@pytest.mark.parametrize("mode", agents.MODES)
async def test_what_the_official_client_finds_is_what_is_listed_elsewhere_and_can_be_called(
    url: str, mode: str
) -> None:
    listed = await agents.tools(url, mode)
    offered = await agents.tools(f"{url}?discover=1", mode)
    found = await agents.call(f"{url}?discover=1", "search_tools", {"query": "simple text"}, mode)
    first = found.structured_content["tools"][0]
    inner = {"name": first["name"], "arguments": {}}
    through = await agents.call(f"{url}?discover=1", "call_tool", inner, mode)
    direct = await agents.call(url, "up.test_simple_text", {}, mode)

    assert list(offered) == ["search_tools", "call_tool"]
    assert first["name"] == "up.test_simple_text"
    shown = listed[first["name"]].model_dump(by_alias=True, exclude_none=True, mode="json")
    assert {name: first[name] for name in shown} == shown
    assert through.content == direct.content
    assert not through.is_error
