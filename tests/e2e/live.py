"""A cluster whose nodes really run pods, as kubectl and helm reach it."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COMMAND_TIMEOUT_S = 300.0
# A load's least number of calls, and the longest of them.
_END_TIMEOUT_S = 90.0
ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "charts" / "pointsman"
RELEASE = "pointsman"
NAMESPACE = "pointsman"
ADDRESS = f"http://{RELEASE}.{NAMESPACE}.svc/mcp"


class CommandFailed(AssertionError):
    """A command that should have succeeded did not; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Live:
    """One cluster, and the image of ours that its nodes hold."""

    image: str

    def kubectl(self, *arguments: str | Path, stdin: str = "") -> str:
        """What kubectl prints."""
        return _run(["kubectl", *arguments], stdin)

    def get(self, *arguments: str) -> dict[str, Any]:
        """What `kubectl get` finds, as JSON."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "--output=json"))
        return found

    def apply(self, *objects: dict[str, Any]) -> None:
        """Apply objects."""
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self.kubectl("apply", "--filename=-", stdin=manifest)

    def helm(self, *arguments: str | Path) -> str:
        """What helm prints."""
        return _run(["helm", "--namespace", NAMESPACE, *arguments])

    def install(self, chart: Path = CHART, *arguments: str) -> str:
        """Install the release, or upgrade it, and wait until everything is ready."""
        repository, _, tag = self.image.rpartition(":")
        image = [f"--set=image.repository={repository}", f"--set=image.tag={tag}"]
        return self.helm(
            "upgrade", "--install", RELEASE, chart, *image, *arguments, "--wait", "--timeout=4m"
        )

    def conditions(self, namespace: str, name: str) -> dict[str, dict[str, Any]]:
        """The conditions that an McpServer's status states about its present generation."""
        found = self.get("mcpserver", "--namespace", namespace, name)
        return {
            condition["type"]: condition
            for condition in found.get("status", {}).get("conditions", [])
            if condition["observedGeneration"] == found["metadata"]["generation"]
        }


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that runs nothing but what it is asked to."""

    live: Live
    namespace: str
    name: str

    def python(self, *arguments: str) -> str:
        """What a Python program prints in it."""
        return self.live.kubectl(*self._execute(), *arguments)

    @contextmanager
    def talking(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A Python program in it, with pipes; killed at the end unless it ended by itself."""
        with subprocess.Popen(
            ["kubectl", *self._execute(), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def _execute(self) -> list[str]:
        return ["exec", "--stdin", "--namespace", self.namespace, self.name, "--", "python3"]


def answer_of(process: subprocess.Popen[str]) -> str:
    """What a program says once its input has ended."""
    said, _ = process.communicate(timeout=_END_TIMEOUT_S)
    if process.returncode:
        raise CommandFailed(f"ended with {process.returncode}: {said}")
    return said


def _run(command: list[str | Path], stdin: str = "") -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=_COMMAND_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}".strip()
        raise CommandFailed(f"{command[0]} ended with {done.returncode}\n{said}")
    return done.stdout
