"""The mirror as a real process, and what can be seen of it from outside."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench import ports, processes
from bench.processes import Program
from bench.waiting import until
from mirror import reader

COMMAND = processes.python("pointsman_mirror")


@dataclass(frozen=True, slots=True)
class Running:
    """One mirror, its directory and its admin port."""

    program: Program
    directory: Path
    admin: str

    @property
    def servers(self) -> Mapping[str, object]:
        """Every server's document by folder, of the generation in force."""
        return reader.documents(self.directory)

    async def shows(self, *folders: str, deadline_s: float = 5.0) -> None:
        """Return when exactly these servers are in force."""
        await until(
            lambda: sorted(self.servers) == sorted(folders),
            deadline_s,
            f"{sorted(folders)} in force",
            every_s=0.005,
        )

    async def is_ready(self) -> None:
        """Return when it says that it is ready."""
        await self.program.answers(f"{self.admin}/readyz")

    async def ask(self, path: str) -> tuple[int, str]:
        """The status and text at a path of its admin port."""
        async with aiohttp.ClientSession() as session, session.get(self.admin + path) as answer:
            return answer.status, await answer.text()

    async def metric(self, name: str, **labels: str) -> float:
        """One of its metrics."""
        _, text = await self.ask("/metrics")
        (value,) = (
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and sample.labels == labels
        )
        return value

    def lines(self, message: str) -> list[Mapping[str, object]]:
        """The lines of its log whose message holds these words."""
        return [line for line in self.log if message in str(line["message"])]

    @property
    def log(self) -> list[Mapping[str, object]]:
        """Every line of its log; each must be a JSON object."""
        return [json.loads(line) for line in self.program.output.splitlines()]


@contextmanager
def running(
    kubeconfig: Path, namespace: str, directory: Path, **settings: str
) -> Iterator[Running]:
    """A mirror of a namespace, until the block ends."""
    environment = {"KUBECONFIG": str(kubeconfig), "POINTSMAN_MIRROR_NAMESPACE": namespace}
    environment |= {f"POINTSMAN_MIRROR_{name}": value for name, value in settings.items()}
    with started(COMMAND, environment, directory) as mirror:
        yield mirror


@contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], directory: Path
) -> Iterator[Running]:
    """A mirror started by this command, in this environment besides its directory and port."""
    port = ports.free_port()
    own = {
        "POINTSMAN_MIRROR_DIRECTORY": str(directory),
        "POINTSMAN_MIRROR_ADMIN_HOST": ports.LOOPBACK,
        "POINTSMAN_MIRROR_ADMIN_PORT": str(port),
    }
    with Program("mirror", command, environment={**own, **environment}) as program:
        yield Running(program, directory, f"http://{ports.LOOPBACK}:{port}")
