"""The official conformance suite: how it is run, and what it found."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench import tools
from bench.peers import LOOPBACK_PRELOAD

_HERE = Path(__file__).resolve().parent
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = (LEGACY, MODERN)
_SERVER_RUN_S = 90.0
_CLIENT_RUN_S = 60.0
# The suite names a scenario's folder so, and puts the leg in front of some.
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
_SHORTFALLS = ("FAILURE", "WARNING")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the suite, and what one has to serve for it."""

    kind: str
    """A: the router's own; B: through an upstream; C: input requests; D: prompts, resources."""
    name: str


class NotRun(AssertionError):
    """The suite left no word about a scenario; the message holds its output."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What one run of the suite found."""

    by_scenario: Mapping[str, tuple[str, ...]]
    output: str

    def shortfalls(self, scenario: str) -> tuple[str, ...]:
        """What was not as the scenario wants it, warnings included; empty where all was."""
        for name in (scenario, f"server-{scenario}"):
            if name in self.by_scenario:
                return self.by_scenario[name]
        raise NotRun(f"{scenario}: {self.output[-2000:]}")


def scenarios(leg: str, era: str) -> list[Scenario]:
    """What the suite asks of a server or of a client in that revision."""
    rows = [line.split("\t") for line in (_HERE / "scenarios.tsv").read_text().splitlines()[1:]]
    return [
        Scenario(kind, name)
        for kind, of, name, revisions in rows
        if of == leg and revisions in ("both", era)
    ]


def baseline(leg: str, era: str) -> Mapping[str, str]:
    """The scenarios that are known to fall short, each with the reason."""
    known = yaml.safe_load((_HERE / "baseline.yaml").read_text())
    found: dict[str, str] = (known.get(leg) or {}).get(era) or {}
    return found


def against_server(url: str, era: str, out: Path) -> Findings:
    """Run everything that the revision requires of a server."""
    return _run(["server", "--url", url, "--requirements", era], out, _SERVER_RUN_S)


def against_client(command: str, scenario: str, era: str, out: Path) -> Findings:
    """Run one scenario of a client's: the suite puts its server's URL behind the command."""
    asked = ["--scenario", scenario, "--spec-version", era]
    timeout = ["--timeout", str(round(_CLIENT_RUN_S * 1000))]
    return _run(["client", "--command", command, *asked, *timeout], out, _CLIENT_RUN_S + 10)


def _run(arguments: Sequence[str], out: Path, timeout_s: float) -> Findings:
    node = [str(tools.node()), "--require", str(LOOPBACK_PRELOAD), str(tools.suite_script())]
    done = subprocess.run(
        [*node, *arguments, "--output-dir", str(out)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    found = {
        _STAMP.sub("", path.parent.relative_to(out).as_posix()): _shortfalls(path)
        for path in sorted(out.rglob("checks.json"))
    }
    return Findings(found, done.stdout + done.stderr)


def _shortfalls(path: Path) -> tuple[str, ...]:
    return tuple(
        f"{check['status'].lower()}: {check['id']}: {(check.get('errorMessage') or '')[:200]}"
        for check in json.loads(path.read_text())
        if check["status"] in _SHORTFALLS
    )
