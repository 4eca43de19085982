"""Helm with the chart, away from the settings, plugins and clusters of whoever runs the tests."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from bench import tools

CHART = Path(__file__).resolve().parents[2] / "charts" / "pointsman"
RELEASE = "pointsman"
NAMESPACE = "agents"
# The oldest that the chart takes.
KUBERNETES = "1.31.0"

_TIMEOUT_S = 100.0


class HelmFailed(AssertionError):
    """Helm refused; the message holds what it printed."""


def run(*arguments: str | Path, kubeconfig: Path | None = None, stdin: str = "") -> str:
    """What Helm prints; without a kubeconfig it reaches no cluster."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [str(tools.helm()), *map(str, arguments)],
            env={
                "HOME": home,
                "PATH": os.environ["PATH"],
                "KUBECONFIG": str(kubeconfig or os.devnull),
            },
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise HelmFailed(f"{done.stdout}{done.stderr}".strip())
    return done.stdout


def template(
    *values: str | Path, release: str = RELEASE, namespace: str = NAMESPACE, stdin: str = ""
) -> str:
    """What the chart renders with these values (`-f FILE`, `--set NAME=VALUE`), as YAML.

    For the same Kubernetes, whichever Helm renders it.
    """
    where = ["--namespace", namespace, "--kube-version", KUBERNETES]
    return run("template", release, CHART, *where, *values, stdin=stdin)


def notes(*values: str | Path, release: str = RELEASE, namespace: str = NAMESPACE) -> str:
    """What an installation with these values tells whoever made it."""
    said = run(
        *("install", release, CHART, "--namespace", namespace),
        *("--dry-run=client", "--output", "json", *values),
    )
    found: str = json.loads(said)["info"]["notes"]
    return found
