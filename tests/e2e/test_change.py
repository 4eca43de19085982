"""A change of a resource reaches agents at once."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from e2e import figures
from e2e.conftest import EXAMPLES_NAMESPACE
from e2e.live import ADDRESS, Live, Pod

CHANGES = 50


def _server(prefix: str) -> dict[str, object]:
    return {
        "apiVersion": "pointsman.dev/v1alpha1",
        "kind": "McpServer",
        "metadata": {"name": "subject", "namespace": EXAMPLES_NAMESPACE},
        "spec": {
            "url": f"http://clock.{EXAMPLES_NAMESPACE}.svc:8080/mcp",
            "allowedTools": ["convert"],
            "prefix": prefix,
        },
    }


@contextmanager
def _deleted_afterwards(live: Live) -> Iterator[None]:
    try:
        yield
    finally:
        live.kubectl(
            *("delete", "mcpserver", "--namespace", EXAMPLES_NAMESPACE, "subject"),
            "--ignore-not-found",
        )


def test_what_is_applied_is_callable_within_a_second(
    live: Live, agent: Pod, examples: tuple[str, ...]
) -> None:
    took: list[float] = []
    with _deleted_afterwards(live), agent.talking("/agent/watch.py", ADDRESS) as watch:
        assert watch.stdin is not None
        assert watch.stdout is not None
        for number in range(CHANGES + 1):
            prefix = f"change{number}"
            print(f"{prefix}.convert", file=watch.stdin, flush=True)
            assert watch.stdout.readline() == "watching\n"
            begun = time.time()
            live.apply(_server(prefix))
            answered = watch.stdout.readline()
            assert answered, f"{prefix} cannot be called"
            if number:  # the first one creates the resource; it is no change
                took.append(float(answered) - begun)

    p50, p99 = statistics.median(took), statistics.quantiles(took, n=100, method="inclusive")[98]
    figures.measured["apply to callable"] = {
        "changes": len(took),
        "p50_s": round(p50, 3),
        "p99_s": round(p99, 3),
        "max_s": round(max(took), 3),
    }
    assert p50 <= 1
    assert p99 <= 3
