"""What is counted about the mirror."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from pointsman_mirror import hearing, layout


class Metrics:
    """Every series of one mirror, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.generation_timestamp = Gauge(
            "pointsman_mirror_generation_timestamp_seconds",
            "When the generation in force was written.",
            registry=registry,
        )
        self.servers = Gauge(
            "pointsman_mirror_servers", "Servers in the generation in force.", registry=registry
        )
        self.views = Gauge(
            "pointsman_mirror_views", "Views in the generation in force.", registry=registry
        )
        self.skipped = Gauge(
            "pointsman_mirror_skipped",
            "Labelled objects that publish nothing, by reason.",
            ["reason"],
            registry=registry,
        )
        self.generations = Counter(
            "pointsman_mirror_generations_total", "Generations put in force.", registry=registry
        )
        self.write_failures = Counter(
            "pointsman_mirror_write_failures_total",
            "Generations that could not be written.",
            registry=registry,
        )
        self.watch_failures = Counter(
            "pointsman_mirror_watch_failures_total",
            "Times that the API server's word was lost, by cause.",
            ["cause"],
            registry=registry,
        )
        self.last_word_timestamp = Gauge(
            "pointsman_mirror_last_word_timestamp_seconds",
            "When the API server last said anything; about a minute ago at most while all is well.",
            registry=registry,
        )
        # A series that appears with its first fault cannot be alerted on.
        for reason in layout.Reason:
            self.skipped.labels(reason)
        for cause in hearing.Cause:
            self.watch_failures.labels(cause)
