"""What this router counts of its work, in plain numbers, and how a scrape sees them."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from pointsman_contract.report import Report, ServerReason, ServerReport, State
from pointsman_router.respond import Outcome

# Lists come from memory in less than a millisecond; a call takes up to its deadline of minutes.
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5, 10, 30, 60, 300)

# A caller may write any method: only these become a label.
METHODS = frozenset(
    [
        *("completion/complete", "initialize", "logging/setLevel", "notifications", "ping"),
        *("prompts/get", "prompts/list", "resources/read"),
        *("resources/list", "resources/templates/list", "server/discover"),
        *("subscriptions/listen", "tools/call", "tools/list"),
    ]
)
# It lasts for as long as an agent likes to listen, and says nothing of how fast the router is.
_OPEN_ENDED = "subscriptions/listen"
OTHER_METHOD = "other"
_NOTIFICATIONS = "notifications/"


class Metrics(Collector):
    """Counts on the hot path, and makes series of the counts when they are scraped."""

    def __init__(self, report: Callable[[], Report | None]) -> None:
        self._report = report
        self._inflight = 0
        self._requests: Counter[tuple[str, Outcome]] = Counter()
        self._seconds = [0] * (len(BUCKETS_S) + 1)
        self._seconds_sum = 0.0
        self._calls: Counter[str] = Counter()
        self._call_seconds: defaultdict[str, float] = defaultdict(float)
        self._failures: Counter[tuple[str, str]] = Counter()

    def began(self) -> None:
        """Count a request that came in."""
        self._inflight += 1

    def ended(self, method: str | None, outcome: Outcome, seconds: float) -> None:
        """Count the end of a request that `began`; `method` as the caller wrote it."""
        self._inflight -= 1
        self._requests[_label(method), outcome] += 1
        if method == _OPEN_ENDED:
            return
        self._seconds[bisect_left(BUCKETS_S, seconds)] += 1
        self._seconds_sum += seconds

    def called(self, server: str, seconds: float) -> None:
        """Count a call to an upstream, however it ended."""
        self._calls[server] += 1
        self._call_seconds[server] += seconds

    def failed(self, server: str, reason: str) -> None:
        """Count an upstream's failure, by a word of ours."""
        self._failures[server, reason] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield every series; those of servers that are gone end here."""
        report = self._report()
        self._forget_all_but({server.id for server in report.servers} if report else set())
        yield from self._work()
        yield from self._upstreams()
        yield from _state(report)

    def _work(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "pointsman_router_requests", "Requests at the MCP port.", labels=["method", "outcome"]
        )
        for (method, outcome), number in sorted(self._requests.items()):
            requests.add_metric([method, outcome], number)
        yield requests
        total, buckets = 0, []
        for bound, number in zip((*BUCKETS_S, float("inf")), self._seconds, strict=True):
            total += number
            buckets.append(("+Inf" if bound == float("inf") else str(float(bound)), float(total)))
        yield HistogramMetricFamily(
            "pointsman_router_request_seconds",
            "From a request's first byte to its answer's last.",
            buckets=buckets,
            sum_value=self._seconds_sum,
        )
        yield GaugeMetricFamily(
            "pointsman_router_inflight", "Requests being answered now.", value=self._inflight
        )

    def _upstreams(self) -> Iterator[Metric]:
        seconds = SummaryMetricFamily(
            "pointsman_router_upstream_seconds", "Calls to upstreams.", labels=["server"]
        )
        for server, number in sorted(self._calls.items()):
            seconds.add_metric([server], number, self._call_seconds[server])
        yield seconds
        failures = CounterMetricFamily(
            "pointsman_router_upstream_failures",
            "Calls and listings that an upstream failed.",
            labels=["server", "reason"],
        )
        for (server, reason), number in sorted(self._failures.items()):
            failures.add_metric([server, reason], number)
        yield failures

    def _forget_all_but(self, servers: set[str]) -> None:
        for gone in self._calls.keys() - servers:
            del self._calls[gone]
        for gone in self._call_seconds.keys() - servers:
            del self._call_seconds[gone]
        for key in [key for key in self._failures if key[0] not in servers]:
            del self._failures[key]


def _label(method: str | None) -> str:
    if method in METHODS:
        return method
    if method and method.startswith(_NOTIFICATIONS):
        return "notifications"
    return OTHER_METHOD


def _state(report: Report | None) -> Iterator[Metric]:
    entries = report.servers if report else ()
    states = Counter(entry.state for entry in entries)
    servers = GaugeMetricFamily("pointsman_router_servers", "Registered servers.", labels=["state"])
    for state in State:
        servers.add_metric([state], states[state])
    yield servers
    states = Counter(view.state for view in report.views) if report else Counter()
    views = GaugeMetricFamily("pointsman_router_views", "Registered views.", labels=["state"])
    for state in (State.SERVING, State.SKIPPED):
        views.add_metric([state], states[state])
    yield views
    yield GaugeMetricFamily(
        "pointsman_router_tools",
        "Tools that agents see.",
        value=sum(entry.tool_count for entry in entries),
    )
    left_out = Counter(
        ("server", entry.reason)
        for entry in entries
        if entry.reason and entry.state in (State.SKIPPED, State.SUSPENDED)
    )
    left_out.update(("tool", tool.reason) for entry in entries for tool in entry.skipped_tools)
    skipped = GaugeMetricFamily(
        "pointsman_router_skipped", "Servers and tools left out.", labels=["kind", "reason"]
    )
    for (kind, reason), number in sorted(left_out.items()):
        skipped.add_metric([kind, reason], number)
    yield skipped
    held = GaugeMetricFamily(
        "pointsman_router_held",
        "The whole directory, or servers, of which the last good state stays in force.",
        labels=["kind"],
    )
    held.add_metric(["directory"], int(bool(report and report.fault)))
    held.add_metric(["server"], sum(_is_held(entry) for entry in entries))
    yield held
    if report:
        yield InfoMetricFamily(
            "pointsman_router_catalogue", "The catalogue in force.", {"revision": report.catalogue}
        )


def _is_held(entry: ServerReport) -> bool:
    return entry.reason == ServerReason.INVALID_META and entry.state is not State.SKIPPED
