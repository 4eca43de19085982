"""Everything that the tests only look up, provided by one command.

    PYTHONPATH=tests python -m provision [helm]

With `helm` only what `make check` looks up. Cheap when all is there. What an interrupted run
left unfinished is taken up by the next one.
Everything goes to POINTSMAN_TOOLS, by default ~/.cache/pointsman/tools.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench import tools
from provision import debian, environments, golang, images, run, toolchains
from provision.store import Store, recipe

_TESTS = Path(__file__).resolve().parent.parent
_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


def provide_control_plane(store: Store) -> None:
    """Build the control plane's binaries that neither the cache nor KUBEBUILDER_ASSETS holds."""
    assets = tools.assets()
    if assets and all(os.access(assets / name, os.X_OK) for name in _CONTROL_PLANE):
        run.say("control plane: all of it in KUBEBUILDER_ASSETS")
        return
    build(store, "control plane", "control-plane")


def provide_helm(store: Store) -> None:
    """Build Helm, unless the machine has one that is new enough."""
    if tools.helm_on_path() is None:
        build(store, "Helm", "helm")


def provide_node(store: Store) -> None:
    """Bring what a real node takes, where one can run."""
    needs = str(_TESTS / "cluster" / "node-needs")
    lacking = subprocess.run(
        [needs, "--but-packages"], capture_output=True, text=True, check=True
    ).stdout
    if lacking:
        run.say(f"node: left out, one needs {', '.join(lacking.splitlines())}")
    elif debian.provide():
        build(store, "node", "control-plane", "node", "helm", KUBEBUILDER_ASSETS="")


def build(store: Store, what: str, *names: str, **environment: str) -> None:
    """Build binaries of the cluster that are not built yet: groups, or single ones."""
    go = toolchains.go(store)
    run.command(
        what,
        [_TESTS / "cluster" / "build-tools", *names],
        environment={
            **environment,
            "PATH": f"{go.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "GOTOOLCHAIN": "local",
            "POINTSMAN_TOOLS": str(store.directory),
        },
    )


def provide_npm(store: Store, name: str, source: Path, what: str) -> None:
    """Install npm packages exactly as the lock file in that folder says."""
    manifest, lock = source / "package.json", source / "package-lock.json"
    made_from = recipe(manifest, lock)
    if store.holds(name, made_from):
        run.say(f"{what}: there already")
        return
    store.forget(name)
    place = store.place(name)
    place.mkdir(exist_ok=True)
    shutil.copy(manifest, place)
    shutil.copy(lock, place)
    install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    path = f"{tools.node().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    run.command(f"{what}: npm ci", [*tools.npm(), *install], cwd=place, environment={"PATH": path})
    store.keep(name, made_from)


def provide_clients(store: Store) -> None:
    """Bring the real clients that the router is tried with."""
    clients = _TESTS / "peers" / "clients"
    environments.provide(store, "clients1", clients / "sdk1.txt", "clients on mcp 1.x")
    environments.provide(store, "clients2", clients / "sdk2.txt", "clients on mcp 2.x")
    provide_npm(store, "clients", clients / "node", "clients on Node")
    golang.provide(store, "goclient", clients / "go", "the client in Go")


def main(*wanted: str) -> int:
    """Provide one thing after the other; say what is missing if one of them fails."""
    if wanted not in ((), ("helm",)):
        print(__doc__, file=sys.stderr)
        return 2
    store = Store(tools.directory())
    try:
        with store.locked():
            provide_helm(store)
            if wanted:
                return 0
            toolchains.provide_node(store)
            environments.provide(store, "mcp1", _TESTS / "peers" / "mcp1.txt", "mcp 1.x")
            provide_npm(store, "everything", _TESTS / "peers" / "everything", "server-everything")
            provide_npm(store, "suite", _TESTS / "peers" / "suite", "conformance suite")
            provide_clients(store)
            provide_control_plane(store)
            provide_node(store)
            debian.provide_browser()
            images.provide()
    except (run.StepFailed, tools.NotProvided, OSError) as error:
        print(f"provision: FAILED: {error}", file=sys.stderr)
        return 1
    run.say(f"all there, in {store.directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
