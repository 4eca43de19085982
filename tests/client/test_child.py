"""How the router underneath `pointsman local` is started."""

from pathlib import Path

import aiohttp
import pytest

from bench import ports as bench_ports
from pointsman import child, ports
from pointsman.child import NotStarted, Wish


async def test_a_router_that_loses_its_port_meanwhile_is_started_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    free = bench_ports.free_port()
    with bench_ports.taken_port() as taken:
        # As if somebody had taken it between the look and the router's own attempt.
        looks = iter([taken, free])
        monkeypatch.setattr(ports, "first_free", lambda host, port: next(looks))
        wish = Wish(tmp_path, "127.0.0.1", taken)
        async with aiohttp.ClientSession() as session:
            router = await child.start(wish, {}, session, logged.append)
            try:
                is_ready = await router.is_ready(session)
            finally:
                await router.stop()

    assert router.port == free
    assert is_ready
    assert logged != []


async def test_a_router_that_cannot_start_is_not_tried_again(tmp_path: Path) -> None:
    wish = Wish(tmp_path, "127.0.0.1", bench_ports.free_port())
    logged: list[str] = []
    async with aiohttp.ClientSession() as session:
        wrong = {"POINTSMAN_ROUTER_PAGE_SIZE": "0"}
        with pytest.raises(NotStarted, match="POINTSMAN_ROUTER_PAGE_SIZE"):
            await child.start(wish, wrong, session, logged.append)

    assert sum("POINTSMAN_ROUTER_PAGE_SIZE" in line for line in logged) == 1
