"""How the router starts, refuses to start, drains and ends."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from bench import behaviours, ports, stack
from bench.behaviours import results_in
from bench.directories import lay
from bench.legacy_server import LegacyServer
from bench.processes import Program, python
from bench.raw_upstream import RawUpstream
from bench.waiting import until
from pointsman_router import settings

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "tools.greet", "arguments": {}},
}


def ended(*arguments: str, **environ: str) -> tuple[int, str]:
    with Program("router", python("pointsman_router", *arguments), environment=environ) as program:
        return program.wait(), program.output


class Held:
    """A running router and its one upstream, which answers calls once it may."""

    def __init__(self, program: Program, url: str, admin: str, upstream: RawUpstream) -> None:
        self.program = program
        self.upstream = upstream
        self.may_answer = asyncio.Event()
        self._url = url
        self._admin = admin

    async def call(self) -> Any:
        """The result of a call."""
        async with aiohttp.ClientSession() as agent, agent.post(self._url, json=CALL) as answer:
            return json.loads(await answer.read())["result"]

    async def answer(self, agent: aiohttp.ClientSession) -> Mapping[str, str]:
        """The headers of the answer to a call by this agent."""
        async with agent.post(self._url, json=CALL) as answer:
            await answer.read()
            return answer.headers

    async def refuses_connections(self) -> bool:
        """Whether no new connection is taken any more."""
        try:
            _, writer = await asyncio.open_connection(ports.LOOPBACK, URL(self._url).port)
        except ConnectionRefusedError:
            return True
        writer.close()
        return False

    async def calling(self) -> asyncio.Task[Any]:
        """A call that has reached the upstream."""
        call = asyncio.create_task(self.call())
        await until(lambda: self.upstream.requests("tools/call"))
        return call

    async def drains(self) -> None:
        """Return once agents are asked to stay away."""
        await self.program.answers(f"{self._admin}/readyz", status=503)


@asynccontextmanager
async def holding(directory: Path, **chosen: str) -> AsyncIterator[Held]:
    may_answer = asyncio.Event()
    server = LegacyServer(on={"tools/call": behaviours.held(may_answer, results_in({"n": 7}))})
    with ExitStack() as running:
        async with RawUpstream(server) as upstream:
            lay(directory, "tools", url=upstream.url())
            started = await asyncio.to_thread(
                running.enter_context, stack.router(directory, **chosen)
            )
            held = Held(*started, upstream)
            held.may_answer = may_answer
            try:
                yield held
            finally:
                may_answer.set()
                await asyncio.to_thread(running.close)


def test_help_prints_every_variable_with_its_default_and_meaning() -> None:
    status, output = ended("--help")

    assert status == 0
    assert settings.table() in output


def test_bad_settings_are_all_named_and_end_it_with_status_2() -> None:
    status, output = ended(POINTSMAN_ROUTER_DIRECTORY="here", POINTSMAN_ROUTER_PROT="1")

    assert status == 2
    assert [line.partition(":")[0] for line in output.splitlines()] == [
        "POINTSMAN_ROUTER_DIRECTORY",
        "POINTSMAN_ROUTER_PROT",
    ]


def test_an_argument_is_refused_with_a_hint() -> None:
    status, output = ended("serve")

    assert status == 2
    assert "--help" in output


@pytest.mark.parametrize("variable", ["PORT", "ADMIN_PORT"])
def test_a_port_that_is_taken_ends_it_with_a_line_that_says_so(
    variable: str, tmp_path: Path
) -> None:
    free = {"PORT": "0", "ADMIN_PORT": "0", "HOST": ports.LOOPBACK, "ADMIN_HOST": ports.LOOPBACK}
    with ports.taken_port() as port:
        chosen = free | {variable: str(port), "DIRECTORY": str(tmp_path)}
        status, output = ended(
            **{f"{settings.PREFIX}{name}": value for name, value in chosen.items()}
        )

    assert status == 1
    assert "cannot be opened" in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
async def test_a_call_in_flight_ends_before_the_router_does(
    number: signal.Signals, tmp_path: Path
) -> None:
    async with holding(tmp_path) as router:
        call = await router.calling()
        router.program.send(number)
        await until(lambda: '"draining"' in router.program.output or number is signal.SIGINT)
        router.may_answer.set()
        result = await call
        status = await router.program.ends()
        last = router.upstream.received[-1].method
        log = router.program.output

    assert result["n"] == 7
    assert status == 0
    assert last == "DELETE"  # the session at the upstream
    assert "exception" not in log


async def test_while_it_lingers_agents_are_served_and_told_to_go_elsewhere(tmp_path: Path) -> None:
    async with holding(tmp_path, LINGER_SECONDS="60") as router:
        router.may_answer.set()
        router.program.send(signal.SIGTERM)
        await router.drains()
        result = await router.call()
        still_running = router.program.is_running

    assert result["n"] == 7
    assert still_running


async def test_an_idle_connection_is_served_to_the_end_of_the_drain_and_told_to_go(
    tmp_path: Path,
) -> None:
    async with holding(tmp_path, LINGER_SECONDS="0.2") as router:
        router.may_answer.set()
        async with aiohttp.ClientSession() as agent:
            before = await router.answer(agent)
            router.program.send(signal.SIGTERM)
            await until(router.refuses_connections)
            after = await router.answer(agent)
        status = await router.program.ends(5)

    assert "Connection" not in before
    assert after["Connection"] == "close"
    assert status == 0


async def test_while_it_lingers_every_answer_takes_its_connection_along(tmp_path: Path) -> None:
    async with holding(tmp_path, LINGER_SECONDS="60") as router:
        router.may_answer.set()
        router.program.send(signal.SIGTERM)
        await router.drains()
        async with aiohttp.ClientSession() as agent:
            headers = await router.answer(agent)

    assert headers["Connection"] == "close"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
async def test_an_idle_connection_holds_nobody_up_where_nothing_sends_agents_elsewhere(
    number: signal.Signals, tmp_path: Path
) -> None:
    async with holding(tmp_path) as router:
        router.may_answer.set()
        async with aiohttp.ClientSession() as agent:
            await router.answer(agent)
            router.program.send(number)
            status = await router.program.ends(5)

    assert status == 0


async def test_a_call_that_outlasts_the_drain_does_not_hold_it_up(tmp_path: Path) -> None:
    async with holding(tmp_path, DRAIN_SECONDS="0.2") as router:
        call = await router.calling()
        router.program.send(signal.SIGTERM)
        status = await router.program.ends(5)
        await asyncio.gather(call, return_exceptions=True)

    assert status == 0


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    async with holding(tmp_path) as router:
        call = await router.calling()
        router.program.send(signal.SIGTERM)
        await until(lambda: '"draining"' in router.program.output)
        still_running = router.program.is_running
        router.program.send(signal.SIGTERM)
        status = await router.program.ends(5)
        with pytest.raises(aiohttp.ClientError):
            await call

    assert still_running
    assert status == -signal.SIGTERM
