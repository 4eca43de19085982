"""What the router's tests may ask for."""

from collections.abc import AsyncIterator

import pytest

from bench.mcpstage import Stage, call, staged, text


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A stage on which a good call works afterwards, whatever a test did there."""
    async with staged() as whole:
        yield whole
        whole.peer.on.clear()
        assert text(await whole.port.post(call())) == "search {}"
        assert whole.port.meter.in_flight == 0
