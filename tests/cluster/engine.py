"""Docker, kind, kubectl and helm as far as the scripts see them, with a world in one file.

    python engine.py WORLD PROGRAM ARGUMENT...

They refuse what the real ones refuse: a cluster that is there already, an image that nobody built,
a pod whose image is not on the node, a kubeconfig of no cluster.
"""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

World = dict[str, Any]


def new(path: Path, **differences: Any) -> None:
    """Begin a world in which Docker runs and nothing has been made."""
    world: World = {
        "engine": True,
        "kind_version": "v0.33.0",
        "fails": "",
        "hangs": "",
        "clusters": {},
        "built": [],
        "calls": [],
    }
    path.write_text(json.dumps({**world, **differences}))


def option(arguments: list[str], name: str) -> str:
    """The word after an option."""
    if name not in arguments[:-1]:
        refuse(f"{name} is not given")
    return arguments[arguments.index(name) + 1]


def refuse(why: str) -> NoReturn:
    """End as a program does that cannot do it."""
    sys.exit(f"engine: {why}")


def docker(world: World, arguments: list[str]) -> None:
    """`docker info` and `docker build`."""
    if not world["engine"]:
        refuse("Cannot connect to the Docker daemon")
    if arguments[0] == "build":
        text = Path(option(arguments, "--file")).read_text()
        if f" AS {option(arguments, '--target')}\n" not in text:
            refuse("target stage not found")
        if not Path(arguments[-1]).is_dir():
            refuse("no such context")
        world["built"].append(option(arguments, "--tag"))


def kind(world: World, arguments: list[str]) -> None:
    """`kind version`, and what it does with clusters and images."""
    clusters = world["clusters"]
    if arguments == ["version"]:
        print(f"kind {world['kind_version']} go1.26.8 linux/amd64")
        return
    if arguments == ["get", "clusters"]:
        print(*clusters or ["No kind clusters found."], sep="\n")
        return
    name = option(arguments, "--name")
    match arguments[:2]:
        case ["create", "cluster"] if name in clusters:
            refuse(f"node(s) already exist for a cluster with the name {name}")
        case ["create", "cluster"]:
            clusters[name] = {"images": [], "releases": [], "applied": []}
            Path(option(arguments, "--kubeconfig")).write_text(name)
        case ["delete", "cluster"]:
            clusters.pop(name, None)
        case _ if name not in clusters:
            refuse(f"no nodes found for cluster {name}")
        case ["export", "kubeconfig"]:
            Path(option(arguments, "--kubeconfig")).write_text(name)
        case ["load", "docker-image"] if arguments[2] not in world["built"]:
            refuse(f"image {arguments[2]} not present locally")
        case ["load", "docker-image"]:
            clusters[name]["images"].append(arguments[2])
        case _:
            refuse(f"unknown command {arguments}")


def helm(world: World, arguments: list[str]) -> None:
    """`helm upgrade --install --wait`."""
    cluster = reached(world)
    values = dict(re.findall(r"--set (\S+?)=(\S+)", " ".join(arguments)))
    image = f"{values.get('image.repository')}:{values.get('image.tag')}"
    if image not in cluster["images"]:
        refuse(f"timed out: {image} cannot be pulled")
    cluster["releases"].append(arguments[2])


def kubectl(world: World, arguments: list[str]) -> None:
    """`kubectl apply`, and what waits for it."""
    cluster = reached(world)
    if arguments[0] == "apply":
        if not cluster["releases"]:
            refuse("no matches for kind McpServer")
        texts = [path.read_text() for path in Path(option(arguments, "--filename")).iterdir()]
        cluster["applied"] += re.findall(r"image: (\S+)", "".join(texts))
    elif missing := set(cluster["applied"]) - set(cluster["images"]):
        refuse(f"timed out: {missing} cannot be pulled")


def reached(world: World) -> Any:
    """The cluster that KUBECONFIG names."""
    return world["clusters"][Path(os.environ["KUBECONFIG"]).read_text()]


PROGRAMS = {"docker": docker, "kind": kind, "helm": helm, "kubectl": kubectl}


def main(path: Path, program: str, *arguments: str) -> None:
    """Do what the program does, and note that it was called."""
    world = json.loads(path.read_text())
    call = " ".join([program, *arguments])
    world["calls"].append(call)
    if world["hangs"] and call.startswith(world["hangs"]):
        path.write_text(json.dumps(world))
        signal.pause()
    try:
        if world["fails"] and call.startswith(world["fails"]):
            refuse("failed, as it was to")
        PROGRAMS[program](world, list(arguments))
    finally:
        path.write_text(json.dumps(world))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
