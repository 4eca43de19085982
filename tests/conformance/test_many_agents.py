"""Ten thousand agents that all count from one get their own answers."""

import json
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import mcpport
from bench.catalogues import Known, built, found, server
from bench.legacy_server import LegacyServer, tool
from bench.links import QUICK, linked
from bench.modern_server import ModernServer
from bench.processes import Program
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.waiting import until
from pointsman_contract.meta import Protocol

AGENTS = 10_000
# The router's end of each agent's connection, and what else a test holds open.
_FILES = AGENTS + 500
_CALL_S = 90
_TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _FILES:
        pytest.skip(f"this machine lets a process open {hard} files, and {_FILES} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("upstream_of", "protocol"),
    [
        pytest.param(LegacyServer, Protocol.LEGACY, id="a legacy upstream"),
        pytest.param(ModernServer, Protocol.MODERN, id="a modern upstream"),
    ],
)
async def test_ten_thousand_calls_with_the_id_1_at_once_are_all_answered_and_none_wrong(
    upstream_of: type[LegacyServer] | type[ModernServer], protocol: Protocol, many_files: None
) -> None:
    # As many as wait at once are let wait; they reach the upstream as it takes them.
    limits = replace(QUICK, waiting_max=AGENTS, waiting_s=float(_CALL_S))
    one = server("tools/github", allowed=["search"], timeout_s=_CALL_S)
    peer = upstream_of([tool("search")])
    async with (
        RawUpstream(peer) as upstream,
        linked(upstream.url(), limits, protocol=protocol) as link,
        mcpport.serving(built(Known(one, found("search")))) as port,
    ):
        port.links[one.id] = link
        held = _Held(peer, lambda: port.meter.in_flight == AGENTS)
        upstream.behave(held)
        command = [sys.executable, "-m", "bench.crowd", str(port.port), str(AGENTS)]
        crowd = Program("crowd", [*command, "github.search"], cwd=_TESTS)
        with crowd:
            await until(lambda: not crowd.is_running, 110, "every agent was answered")
            output = crowd.output

    assert json.loads(output.splitlines()[-1]) == {
        "right": AGENTS,
        "wrong": 0,
        "unanswered": 0,
    }, output[:1000]
    assert held.was_released


class _Held:
    """An upstream that answers no call before all of them are at the router."""

    def __init__(self, usual: Behaviour, all_there: Callable[[], bool]) -> None:
        self._usual = usual
        self._all_there = all_there
        self.was_released = False

    async def __call__(self, request: Received, wire: Wire) -> None:
        if request.rpc_method == "tools/call":
            await until(self._may_go_on, 60, "all calls are under way")
        await self._usual(request, wire)

    def _may_go_on(self) -> bool:
        self.was_released = self.was_released or self._all_there()
        return self.was_released
