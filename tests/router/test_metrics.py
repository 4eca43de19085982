"""What a scrape sees of the router's work."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pointsman_contract.report import (
    Report,
    ServerReason,
    ServerReport,
    SkippedTool,
    State,
    ViewReport,
)
from pointsman_router.metrics import BUCKETS_S, Metrics
from pointsman_router.respond import Outcome


def served(id_: str, **members: object) -> ServerReport:
    return ServerReport.model_validate(
        {"id": id_, "state": State.SERVING, "since": "then", **members}
    )


def reporting(*servers: ServerReport, fault: str | None = None) -> Report:
    return Report(
        instance="i", started_at="then", catalogue="0123456789abcdef", fault=fault, servers=servers
    )


class Scraped:
    """A router's numbers, and a scrape of them."""

    def __init__(self, *servers: ServerReport, fault: str | None = None) -> None:
        self.report: Report | None = reporting(*servers, fault=fault)
        self.metrics = Metrics(lambda: self.report)
        self._registry = CollectorRegistry()
        self._registry.register(self.metrics)

    def series(self) -> dict[str, float]:
        text = generate_latest(self._registry).decode()
        found = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = ",".join(
                    f"{name}={value}" for name, value in sorted(sample.labels.items())
                )
                found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
        return found


def test_requests_are_counted_by_method_and_outcome() -> None:
    scraped = Scraped()
    for _ in range(3):
        scraped.metrics.began()
    scraped.metrics.ended("tools/call", Outcome.OK, 0.2)
    scraped.metrics.ended("tools/call", Outcome.REFUSED, 2.0)

    series = scraped.series()
    assert series["pointsman_router_requests_total{method=tools/call,outcome=ok}"] == 1
    assert series["pointsman_router_requests_total{method=tools/call,outcome=refused}"] == 1
    assert series["pointsman_router_inflight"] == 1
    assert series["pointsman_router_request_seconds_count"] == 2
    assert series["pointsman_router_request_seconds_sum"] == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("method", "label"),
    [
        ("initialize", "initialize"),
        ("notifications/initialized", "notifications"),
        ("notifications/" + "x" * 1000, "notifications"),
        ("made/up", "other"),
        ("", "other"),
        (None, "other"),
    ],
)
def test_what_a_caller_writes_becomes_no_label(method: str | None, label: str) -> None:
    scraped = Scraped()
    scraped.metrics.began()
    scraped.metrics.ended(method, Outcome.ERROR, 0.0)

    assert scraped.series()[f"pointsman_router_requests_total{{method={label},outcome=error}}"] == 1


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.0011, 0.3, 300.0, 301.0])
def test_a_duration_is_in_every_bucket_that_bounds_it(seconds: float) -> None:
    scraped = Scraped()
    scraped.metrics.began()
    scraped.metrics.ended("ping", Outcome.OK, seconds)

    series = scraped.series()
    for bound in BUCKETS_S:
        expected = 1 if seconds <= bound else 0
        assert series[f"pointsman_router_request_seconds_bucket{{le={float(bound)}}}"] == expected
    assert series["pointsman_router_request_seconds_bucket{le=+Inf}"] == 1


def test_calls_and_failures_are_counted_per_server() -> None:
    scraped = Scraped(served("tools/a"), served("b"))
    scraped.metrics.called("tools/a", 0.5)
    scraped.metrics.called("tools/a", 1.5)
    scraped.metrics.failed("b", ServerReason.TIMEOUT)

    series = scraped.series()
    assert series["pointsman_router_upstream_seconds_count{server=tools/a}"] == 2
    assert series["pointsman_router_upstream_seconds_sum{server=tools/a}"] == 2.0
    assert series["pointsman_router_upstream_failures_total{reason=Timeout,server=b}"] == 1


def test_the_series_of_a_removed_server_end_and_begin_anew() -> None:
    scraped = Scraped(served("a"))
    scraped.metrics.called("a", 1.0)
    scraped.metrics.failed("a", ServerReason.TIMEOUT)
    scraped.report = reporting()
    gone = scraped.series()
    scraped.report = reporting(served("a"))
    scraped.metrics.called("a", 1.0)
    back = scraped.series()

    assert not [name for name in gone if "server=a" in name]
    assert back["pointsman_router_upstream_seconds_count{server=a}"] == 1
    assert not [name for name in back if "failures" in name]


def test_the_catalogue_is_counted_from_the_report() -> None:
    skipped = SkippedTool(name="x", reason="InvalidSchema", message="m")
    scraped = Scraped(
        served("a", tool_count=3, skipped_tools=(skipped, skipped)),
        served("b", tool_count=2, reason="InvalidMeta"),
        served("c", state=State.SKIPPED, reason="Unreachable"),
        served("d", state=State.SUSPENDED, reason="Suspended"),
        served("e", state=State.SKIPPED, reason="InvalidMeta"),
        fault="empty",
    )

    series = scraped.series()
    assert series["pointsman_router_servers{state=Serving}"] == 2
    assert series["pointsman_router_servers{state=Skipped}"] == 2
    assert series["pointsman_router_servers{state=Suspended}"] == 1
    assert series["pointsman_router_servers{state=Stale}"] == 0
    assert series["pointsman_router_tools"] == 5
    assert series["pointsman_router_skipped{kind=server,reason=Unreachable}"] == 1
    assert series["pointsman_router_skipped{kind=server,reason=InvalidMeta}"] == 1
    assert series["pointsman_router_skipped{kind=tool,reason=InvalidSchema}"] == 2
    assert series["pointsman_router_held{kind=directory}"] == 1
    assert series["pointsman_router_held{kind=server}"] == 1
    assert series["pointsman_router_catalogue_info{revision=0123456789abcdef}"] == 1


def test_views_are_counted_by_state() -> None:
    scraped = Scraped(served("a"))
    before = scraped.series()
    scraped.report = reporting(served("a")).model_copy(
        update={
            "views": tuple(
                ViewReport(id=id_, state=state, since="then")
                for id_, state in (("v", State.SERVING), ("w", State.SERVING), ("x", State.SKIPPED))
            )
        }
    )
    after = scraped.series()

    states = [f"pointsman_router_views{{state={state}}}" for state in ("Serving", "Skipped")]
    assert [before[name] for name in states] == [0, 0]
    assert [after[name] for name in states] == [2, 1]


def test_before_the_first_report_there_is_nothing_and_no_catalogue() -> None:
    scraped = Scraped()
    scraped.report = None

    series = scraped.series()
    assert series["pointsman_router_tools"] == 0
    assert not [name for name in series if "catalogue" in name]
