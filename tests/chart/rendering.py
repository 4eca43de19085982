"""What the chart renders, each combination of values once in a session."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench import helm
from bench.cluster_api import Body

COMBINATIONS = {
    path.name.removesuffix("-values.yaml"): path
    for path in sorted((helm.CHART / "ci").glob("*-values.yaml"))
}
IMAGE = ("--set", "image.repository=pointsman.test/pointsman", "--set", "image.tag=dev")
CRD = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Container:
    """One container, and the environment that it is given."""

    body: Body
    goes_on: bool
    """Whether it is an init container that runs beside the others."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body["name"])

    @property
    def environment(self) -> dict[str, str]:
        """Every variable as the program sees it."""
        given: dict[str, str] = {}
        for one in self.body["env"]:
            assert one["name"] not in given, "a variable is there twice"
            given[one["name"]] = _expanded(one["value"], given)
        return given

    @property
    def mounts(self) -> dict[str, Body]:
        """Its volume mounts by the volume's name."""
        return {one["name"]: one for one in self.body["volumeMounts"]}

    @property
    def ports(self) -> dict[str, int]:
        """Its ports by name."""
        return {one["name"]: one["containerPort"] for one in self.body["ports"]}


def _expanded(value: str, before: dict[str, str]) -> str:
    """What the kubelet makes of a value: $$ is a $, $(NAME) another variable that is there."""

    def meant(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else before.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", meant, value)


@dataclass(frozen=True, slots=True)
class Rendering:
    """Every object that one set of values makes."""

    objects: tuple[Body, ...]

    def of_kind(self, kind: str) -> tuple[Body, ...]:
        """The objects of one kind."""
        return tuple(one for one in self.objects if one["kind"] == kind)

    def component(self, kind: str, component: str) -> Body:
        """The one object of a kind that belongs to the operator, or to the routers."""
        (found,) = [
            one
            for one in self.of_kind(kind)
            if one["metadata"]["labels"]["app.kubernetes.io/component"] == component
        ]
        return found

    def pod(self, component: str) -> Body:
        """The specification of the operator's, or of the routers' pods."""
        found: Body = self.component("Deployment", component)["spec"]["template"]["spec"]
        return found

    def container(self, name: str) -> Container:
        """The operator, the mirror or the router."""
        (found,) = [one for one in self.containers() if one.name == name]
        return found

    def containers(self) -> Iterator[Container]:
        """Every container of every pod."""
        for deployment in self.of_kind("Deployment"):
            pod = deployment["spec"]["template"]["spec"]
            for body in pod.get("initContainers", []):
                yield Container(body, goes_on=body.get("restartPolicy") == "Always")
            for body in pod["containers"]:
                yield Container(body, goes_on=False)


def combination(name: str) -> Rendering:
    """What the values of a file in the chart's folder `ci` make."""
    return render("-f", str(COMBINATIONS[name]))


def with_values(*settings: str, **where: str) -> Rendering:
    """What the defaults make with these settings (`name=value`) and an image."""
    return render(*IMAGE, *(part for one in settings for part in ("--set", one)), **where)


@functools.cache
def render(*values: str, **where: str) -> Rendering:
    """What these arguments of `helm template` make."""
    return read(helm.template(*values, **where))


def read(text: str) -> Rendering:
    """The objects of a manifest."""
    documents: list[Any] = list(yaml.safe_load_all(text))
    return Rendering(tuple(document for document in documents if document is not None))


def merged(path: Path) -> Body:
    """The values in a file."""
    found: Body = yaml.safe_load(path.read_text())
    return found
