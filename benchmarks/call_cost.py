"""What one call costs on its way through the router, beside nginx and beside nothing.

    call_cost.py [--json] [--quick] [--peer NAME=COMMAND ...]
    call_cost.py --memory        what 1,000 open streams hold

In one interleaved run: the upstream called directly, nginx where it is installed, the router with
1 and with 100 servers of 20 tools, in both eras, with small, 16 KiB and 256 KiB answers, answers
as event streams, and any other router whose command line is given. The figure that stands is the
proxy's CPU time per call that the upstream itself counted; the median of the rounds is told.
"""

import statistics
import sys
import tempfile
import time
import urllib.request
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import figures
import load
import mcp_load
import open_streams
import proxies
from counting_upstream import LARGE, LIST_TOOLS, MEDIUM, STREAM, TOOLS, small_tools
from figures import Figures
from load import Asked, Load
from mcp_load import ERAS
from proxies import Proxy

from bench.directories import lay
from bench.ports import LOOPBACK
from bench.processes import Program
from bench.waiting import wait_until

ROUNDS, SECONDS = 3, 5.0
QUICK_ROUNDS, QUICK_SECONDS = 1, 2.0
CONNECTIONS, MANY_CONNECTIONS, LIST_CONNECTIONS = 16, 64, 4
SERVERS, LIST_SERVERS = 100, 10
# What a user feels is measured far from saturation.
CALLS_PER_S, LISTS_PER_S = 500.0, 50.0
_START_S = 60.0
# What is under way when a load ends has arrived by then.
_SETTLED_S = 0.1


@dataclass(frozen=True, slots=True)
class Case:
    """One row: what is sent to whom, and how."""

    name: str
    proxy: Proxy
    asked: Asked
    connections: int = CONNECTIONS
    per_s: float | None = None
    """At a fixed rate instead of as much as it takes."""
    counted: bool = True
    """Whether each answer is one call at the upstream."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one case came to in one round."""

    cpu_us: float
    per_s: float
    p50_ms: float
    p99_ms: float


class Miscounted(Exception):
    """The upstream saw other calls than the client got answers to: the row proves nothing."""


class Upstream:
    """The counting upstream as a process."""

    def __init__(self, program: Program) -> None:
        wait_until(lambda: program.output.endswith("\n"), _START_S, "the upstream listens")
        self.port = int(program.output)

    def url(self, era: str, server: str) -> str:
        """The address of one server."""
        return f"http://{LOOPBACK}:{self.port}/{era}/{server}/mcp"

    def calls(self) -> int:
        """How many calls came, once none comes any more."""
        before, now = -1, self._calls()
        while now != before:
            time.sleep(_SETTLED_S)
            before, now = now, self._calls()
        return now

    def _calls(self) -> int:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.port}/calls") as answer:
            return int(answer.read())


@contextmanager
def upstream() -> Iterator[Upstream]:
    """Run the counting upstream."""
    script = Path(__file__).with_name("counting_upstream.py")
    with Program("upstream", [sys.executable, str(script)]) as program:
        yield Upstream(program)


def measure(chosen: Namespace) -> Figures:
    """Run everything and return the figures."""
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if chosen.quick else (ROUNDS, SECONDS)
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        behind = running.enter_context(upstream())
        cases = list(_cases(running, folder, behind, chosen))
        rows: dict[str, list[Row]] = {case.name: [] for case in cases}
        for _ in range(rounds):
            for case in cases:
                rows[case.name].append(_row(case, behind, seconds))
        memory = {
            f"{case.proxy.name}_rss_mib": round(case.proxy.rss_mib(), 1) or None for case in cases
        }
    return _told({name: _median(found) for name, found in rows.items()}) | memory


def _cases(running: ExitStack, folder: Path, behind: Upstream, chosen: Namespace) -> Iterator[Case]:
    era = chosen.upstream_era
    one = [f"server-{number}" for number in range(1)]
    many = [f"server-{number}" for number in range(SERVERS)]
    lists = [f"list-{number}" for number in range(LIST_SERVERS)]

    def router(name: str, servers: Sequence[str], tools: int) -> Proxy:
        for server in servers:
            lay(folder / name, server, url=behind.url(era, server))
        proxy = running.enter_context(proxies.router(name, folder / name))
        wait_until(
            lambda: len(mcp_load.listed(proxy.url)) == tools * len(servers),
            _START_S,
            f"{name} lists {tools} tools of each server",
        )
        return proxy

    direct = Proxy("direct", behind.url("legacy", one[0]))
    plain = [direct]
    if binary := proxies.nginx_binary():
        nginx = running.enter_context(proxies.nginx(binary, folder / "nginx", behind.port))
        plain.append(Proxy("nginx", f"{nginx.url}/legacy/{one[0]}/mcp", nginx.program))
    router_1, router_100 = router("router_1", one, TOOLS), router("router_100", many, TOOLS)
    router_list = router("router_list", lists, LIST_TOOLS)

    texts = [name for name in small_tools() if name.startswith("text_")]
    spread = [f"server_{n}.{texts[n % len(texts)]}" for n in range(SERVERS)]
    for proxy in plain:
        yield Case(proxy.name, proxy, mcp_load.calls(proxy.url, texts, "legacy"))
    for agents in ERAS:
        names = [f"server_0.{name}" for name in texts]
        yield Case(f"router_1_{agents}", router_1, mcp_load.calls(router_1.url, names, agents))
        yield Case(
            f"router_100_{agents}", router_100, mcp_load.calls(router_100.url, spread, agents)
        )
    for name, command in (one_peer.split("=", 1) for one_peer in chosen.peer):
        proxy = running.enter_context(proxies.peer(name, command, behind.url("legacy", one[0])))
        more = mcp_load.handshake(proxy.url)
        tool = _listed(proxy, texts[0], more)
        yield Case(name, proxy, mcp_load.calls(proxy.url, [tool], "legacy", more))

    for proxy in (*plain, router_1):
        prefix = "server_0." if proxy is router_1 else ""
        rated = mcp_load.calls(proxy.url, [prefix + texts[0]], "legacy")
        yield Case(f"{proxy.name}_at_rate", proxy, rated, per_s=CALLS_PER_S)
    asked = mcp_load.lists(router_list.url, "modern")
    yield Case("lists", router_list, asked, LIST_CONNECTIONS, counted=False)
    yield Case("lists_at_rate", router_list, asked, per_s=LISTS_PER_S, counted=False)
    if chosen.quick:
        return
    for proxy in (*plain, router_1):
        prefix, suffix = ("server_0.", "_legacy") if proxy is router_1 else ("", "")
        for tool in (MEDIUM, LARGE, STREAM):
            sized = mcp_load.calls(proxy.url, [prefix + tool], "legacy")
            yield Case(f"{proxy.name}{suffix}_{tool}", proxy, sized)
        small = mcp_load.calls(proxy.url, [prefix + texts[0]], "legacy")
        yield Case(f"{proxy.name}{suffix}_at_{MANY_CONNECTIONS}", proxy, small, MANY_CONNECTIONS)
    for tool in (MEDIUM, LARGE, STREAM):
        sized = mcp_load.calls(router_1.url, [f"server_0.{tool}"], "modern")
        yield Case(f"router_1_modern_{tool}", router_1, sized)


def _listed(peer: Proxy, tool: str, more: Mapping[str, str]) -> str:
    """Return the name under which a peer lists a tool, once it has asked its upstream."""
    return wait_until(
        lambda: next(
            (name for name in mcp_load.listed(peer.url, more) if name.endswith(tool)), None
        ),
        _START_S,
        f"{peer.name} lists {tool}",
    )


def _row(case: Case, behind: Upstream, seconds: float) -> Row:
    calls, cpu_us = behind.calls(), case.proxy.cpu_us()
    if case.per_s is None:
        done = load.closed(case.asked, connections=case.connections, seconds=seconds)
    else:
        done = load.at_rate(case.asked, per_s=case.per_s, seconds=seconds)
    taken_us = case.proxy.cpu_us() - cpu_us
    seen = behind.calls() - calls
    _check(case, done, seen)
    return Row(
        taken_us / (seen if case.counted else done.answered), done.per_s, done.p50_ms, done.p99_ms
    )


def _check(case: Case, done: Load, seen: int) -> None:
    # What was under way when the load ended came to the upstream and was answered to nobody.
    under_way = case.connections if case.per_s is None else 0
    if done.wrong or not done.answered:
        raise Miscounted(f"{case.name}: {done.wrong} wrong answers, {done.answered} right ones")
    if case.counted and not 0 <= seen - done.answered <= under_way:
        raise Miscounted(f"{case.name}: the upstream saw {seen} calls, {done.answered} answered")


def _median(rows: Sequence[Row]) -> Row:
    return Row(
        *(
            statistics.median(getattr(row, name) for row in rows)
            for name in ("cpu_us", "per_s", "p50_ms", "p99_ms")
        )
    )


def _told(rows: dict[str, Row]) -> dict[str, float | int | bool | str | None]:
    """The figures that have goals, and then every row."""

    def ratio(upper: str, lower: str) -> float | None:
        if upper not in rows or lower not in rows:
            return None
        return round(rows[upper].cpu_us / rows[lower].cpu_us, 2)

    added_ms = rows["router_1_at_rate"].p50_ms - rows["direct_at_rate"].p50_ms
    goals: dict[str, float | int | bool | str | None] = {
        "ratio_nginx_1": ratio("router_1_legacy", "nginx"),
        "ratio_100_to_1": ratio("router_100_legacy", "router_1_legacy"),
        "added_p50_ms": round(added_ms, 3),
        "added_p99_ms": round(rows["router_1_at_rate"].p99_ms - rows["direct_at_rate"].p99_ms, 3),
        "list_cpu_ms": round(rows["lists"].cpu_us / 1000, 3),
        "list_p99_ms": round(rows["lists_at_rate"].p99_ms, 2),
        "ratio_modern_to_legacy": ratio("router_1_modern", "router_1_legacy"),
        f"ratio_nginx_{LARGE}": ratio(f"router_1_legacy_{LARGE}", f"nginx_{LARGE}"),
        "nginx": "here" if "nginx" in rows else "not installed: no ratio to it",
        "load": "wrk" if load.wrk() else "our own: wrk is not installed",
    }
    for name, row in rows.items():
        goals[f"{name}_us"] = round(row.cpu_us, 1) or None
        goals[f"{name}_rps"] = round(row.per_s)
        goals[f"{name}_p50_ms"] = round(row.p50_ms, 3)
        goals[f"{name}_p99_ms"] = round(row.p99_ms, 3)
    return goals


def weigh(chosen: Namespace) -> Figures:
    """Return what open streams hold in the router's memory."""
    with tempfile.TemporaryDirectory() as folder, upstream() as behind:
        for number in range(open_streams.SERVERS):
            server = f"server-{number}"
            lay(Path(folder), server, url=behind.url(chosen.upstream_era, server))
        with proxies.router("router", Path(folder), **open_streams.SETTINGS) as proxy:
            wait_until(
                lambda: len(mcp_load.listed(proxy.url)) == TOOLS * open_streams.SERVERS,
                _START_S,
                "every tool is listed",
            )
            return open_streams.measure(proxy)


def main() -> None:
    """Measure as the command line asks."""
    parser = figures.parser(__doc__ or "")
    parser.add_argument("--quick", action="store_true", help="one short round of the main rows")
    parser.add_argument("--memory", action="store_true", help="open streams instead of calls")
    parser.add_argument("--upstream-era", choices=ERAS, default="legacy")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another router; {upstream} and {port} in its command are filled in",
    )
    chosen = parser.parse_args()
    figures.show((weigh if chosen.memory else measure)(chosen), as_json=chosen.json)


if __name__ == "__main__":
    main()
