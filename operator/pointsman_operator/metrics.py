"""What is counted about the operator."""

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge


class Outcome(StrEnum):
    """What a look at one key came to."""

    UNCHANGED = "unchanged"
    WRITTEN = "written"
    DEFERRED = "deferred"
    FAILED = "failed"


class Kind(StrEnum):
    """What is written."""

    CONFIG_MAP = "configmap"
    STATUS = "status"
    REGISTER = "register"
    EVENT = "event"


class Metrics:
    """Every series of one operator, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.reconciles = Counter(
            "pointsman_operator_reconciles_total",
            "Looks at a resource or its ConfigMap, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self.queue_depth = Gauge(
            "pointsman_operator_queue_depth", "Keys that wait for a worker.", registry=registry
        )
        self.last_resync = Gauge(
            "pointsman_operator_last_resync_timestamp_seconds",
            "When everything was last listed.",
            registry=registry,
        )
        self.api_writes = Counter(
            "pointsman_operator_api_writes_total",
            "Requests to the API server that change something, by what they change.",
            ["kind"],
            registry=registry,
        )
        # A series that appears with its first event cannot be alerted on.
        for outcome in Outcome:
            self.reconciles.labels(outcome)
        for kind in Kind:
            self.api_writes.labels(kind)
