"""What the router's tests may ask for."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import pytest
import uvloop

from bench import links
from bench.links import Lane
from bench.mcpstage import Stage, call, staged, text

# What reaches down to sockets has to be right on either loop: programs run on the second.
_OF_SOCKETS = frozenset(
    [
        "test_express",
        "test_express_ends",
        "test_subscriptions",
        "test_upstream_connections",
        "test_upstream_dial",
        "test_upstream_egress",
        "test_upstream_faults",
    ]
)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    return loops | ({"uvloop": uvloop.new_event_loop} if item.path.stem in _OF_SOCKETS else {})


@pytest.fixture(params=[False, True], ids=["a new head", "behind familiar heads"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A stage on which a good call works afterwards, whatever a test did there."""
    async with staged(familiar=request.param) as whole:
        yield whole
        whole.peer.on.clear()
        assert text(await whole.port.post(call())) == "search {}"
        assert whole.port.meter.in_flight == 0


@pytest.fixture(params=[True, False], ids=["with a task", "without a task"])
def lane(request: pytest.FixtureRequest) -> Iterator[Lane]:
    """The way of the calls over links: what they come to must not depend on it."""
    chosen = Lane(waits=request.param)
    links.take(chosen)
    yield chosen
    links.take(Lane(waits=True))
