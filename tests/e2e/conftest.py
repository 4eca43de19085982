"""What a test on a real node may ask for, and how long each step took."""

import os
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from bench.waiting import wait_until
from e2e import figures, pods
from e2e.live import NAMESPACE, RELEASE, ROOT, CommandFailed, Live, Pod

EXAMPLES = ROOT / "examples" / "cluster"
EXAMPLES_NAMESPACE = "pointsman-examples"
AGENTS_NAMESPACE = "pointsman-agents"
AGENT_IMAGE = "pointsman.test/examples:dev"
SERVERS = ("clock", "notes")
READY_S = 60.0
TELLING = (
    ("get", "pods", "--all-namespaces", "--output=wide"),
    ("get", "mcpservers", "--all-namespaces", "--output=yaml"),
    ("get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"),
    (
        *("logs", "--namespace", NAMESPACE, "--selector=app.kubernetes.io/part-of=pointsman"),
        *("--all-containers", "--prefix", "--tail=30"),
    ),
)

Step = Callable[[str], AbstractContextManager[None]]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a cluster there is nothing to test on."""
    if "POINTSMAN_IMAGE" in os.environ:
        return
    here = Path(__file__).parent
    skip = pytest.mark.skip(reason="needs a cluster and an image in it: run `make e2e`")
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(skip)


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """No dots: each test has a line of its own."""
    return ("passed", "", "PASSED") if report.when == "call" and report.passed else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say how long a test took, without its fixtures."""
    if report.when == "call":
        name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
        figures.tell(report.duration, f"{name}: {report.outcome}")
    figures.say()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the cluster says of itself when something failed."""
    report = yield
    if report.failed:
        report.sections += [(" ".join(asked), said(*asked)) for asked in TELLING]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was measured."""
    for line in figures.lines():
        terminalreporter.write_line(line)


def said(*arguments: str) -> str:
    """What kubectl says, or that it refuses."""
    try:
        return Live("").kubectl(*arguments)
    except (CommandFailed, OSError, subprocess.TimeoutExpired) as refusal:
        return str(refusal)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say how long a step took that several tests build on."""
    begun = time.monotonic()
    yield
    figures.tell(time.monotonic() - begun, what)


@pytest.fixture(scope="session")
def live() -> Live:
    """The cluster that KUBECONFIG names, with the image that POINTSMAN_IMAGE names."""
    return Live(os.environ["POINTSMAN_IMAGE"])


@pytest.fixture(scope="session")
def release(live: Live) -> Iterator[str]:
    """The chart, installed with its defaults where only restricted pods may run."""
    live.apply(pods.namespace(NAMESPACE))
    with step("helm install --wait: operator and two routers are ready"):
        live.install()
    yield RELEASE
    with step("helm uninstall --wait"):
        live.helm("uninstall", RELEASE, "--wait", "--timeout=2m")


@pytest.fixture(scope="session")
def examples(live: Live, release: str) -> Iterator[tuple[str, ...]]:
    """The example servers as pods, each with its Service, offered to agents and Ready."""
    with step("kubectl apply -f examples/cluster/: every McpServer is Ready"):
        live.kubectl("apply", "--filename", EXAMPLES)
        for name in SERVERS:
            until_ready(live, name)
    yield SERVERS
    with step("kubectl delete -f examples/cluster/"):
        live.kubectl("delete", "--filename", EXAMPLES, "--wait", "--timeout=2m")


@pytest.fixture(scope="session")
def agent(live: Live) -> Iterator[Pod]:
    """A pod in a namespace of its own, with programs that agents would be."""
    programs = sorted((Path(__file__).parent / "agent").glob("*.py"))
    live.apply(
        pods.namespace(AGENTS_NAMESPACE),
        pods.config_map(AGENTS_NAMESPACE, "agent", {one.name: one.read_text() for one in programs}),
        pods.idle(AGENTS_NAMESPACE, "agent", AGENT_IMAGE, programs="agent"),
    )
    with step("an agent's pod is ready"):
        live.kubectl(
            *("wait", "pod/agent", "--namespace", AGENTS_NAMESPACE),
            *("--for=condition=Ready", "--timeout=60s"),
        )
    yield Pod(live, AGENTS_NAMESPACE, "agent")
    live.kubectl("delete", "namespace", AGENTS_NAMESPACE, "--wait", "--timeout=60s")


def until_ready(live: Live, name: str, namespace: str = EXAMPLES_NAMESPACE) -> None:
    """Wait until a resource says Ready about what it asks now."""

    def ready() -> bool:
        conditions = live.conditions(namespace, name)
        return conditions.get("Ready", {}).get("status") == "True"

    wait_until(ready, READY_S, f"{name} is Ready", ignoring=(CommandFailed, KeyError), every_s=0.2)
