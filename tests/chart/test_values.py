"""Whether a wrong value is refused by its name, and whether every value does something."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bench import helm
from bench.cluster_api import Body
from chart import rendering

DEFAULTS = rendering.merged(helm.CHART / "values.yaml")


def _leaves(values: Body, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        within = f"{path}.{name}".removeprefix(".")
        if isinstance(value, dict) and value:
            yield from _leaves(value, within)
        else:
            yield within, value


# The image has no default; a program's settings have tests of their own.
OPTIONAL = [
    path for path, _ in _leaves(DEFAULTS) if path != "image.repository" and ".settings." not in path
]


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        pytest.param("router.replicas=two", "router replicas", id="text for a number"),
        pytest.param("router.replicas=-1", "router replicas", id="negative replicas"),
        pytest.param("image.tag=12", "image tag", id="number for a text"),
        pytest.param("image.repository=r.example/p:1", "image repository", id="tag in the name"),
        pytest.param("image.digest=sha256:12", "image digest", id="cut digest"),
        pytest.param("image.pullPolicy=Sometimes", "image pullPolicy", id="unknown policy"),
        pytest.param("names.default=camel", "names default", id="unknown form of names"),
        pytest.param("names.maxLength=20", "names maxLength", id="names too short"),
        pytest.param("catalogue.staleSeconds=-1", "catalogue staleSeconds", id="stale before"),
        pytest.param("catalogue.staleSeconds=2592001", "catalogue staleSeconds", id="stale long"),
        pytest.param("crds.keep=perhaps", "crds keep", id="no truth"),
        pytest.param("service.type=ExternalName", "service type", id="unknown type"),
        pytest.param("service.port=0", "service port", id="no port"),
        pytest.param("pdb.maxUnavailable=0", "pdb maxUnavailable", id="a budget of nothing"),
        pytest.param("pdb.maxUnavailable=0%", "pdb maxUnavailable", id="a share of nothing"),
        pytest.param("watchNamespaces={Team}", "watchNamespaces", id="no namespace"),
        pytest.param("watchNamespaces={a,a}", "watchNamespaces", id="a namespace twice"),
        pytest.param("router.allowedHosts={a b}", "router allowedHosts", id="two names in one"),
        pytest.param("router.allowedHosts={*.a}", "router allowedHosts", id="no wildcards"),
        pytest.param(
            "router.allowedHosts={https://a}", "router allowedHosts", id="no name but URL"
        ),
        pytest.param("clusterDomain=null", "clusterDomain", id="no domain"),
        pytest.param("enabled=false", "enabled", id="a condition without a parent"),
        pytest.param(
            "router.settings.drainSeconds=601", "router settings drainSeconds", id="over the bound"
        ),
        pytest.param(
            "router.settings.drainSeconds=null", "router settings drainSeconds", id="taken away"
        ),
        pytest.param(
            "operator.settings.workers=4.5", "operator settings workers", id="not a whole number"
        ),
        pytest.param(
            "operator.settings.adminPort=80", "operator settings adminPort", id="port of root"
        ),
        pytest.param(
            "router.settings.refreshSecond=1", "router settings refreshSecond", id="misspelled"
        ),
        pytest.param(
            "mirror.settings.directory=/tmp", "mirror settings directory", id="not to be chosen"
        ),
        pytest.param("mirror.replicas=2", "mirror replicas", id="of another component"),
        pytest.param("replicas=2", "replicas", id="one level too high"),
        pytest.param(
            r"router.podLabels.app\.kubernetes\.io/component=x",
            "router podLabels component",
            id="a label that selectors need",
        ),
        pytest.param("fullnameOverride=1st", "fullnameOverride", id="no name of a Service"),
        pytest.param(
            "router.settings.port=9091",
            "router.settings.port mirror.settings.adminPort",
            id="clash",
        ),
        pytest.param(
            "router.settings.adminPort=8080",
            "router.settings.port router.settings.adminPort",
            id="clash within the router",
        ),
        pytest.param(
            "operator.serviceAccount.create=false",
            "operator.serviceAccount.name",
            id="no account at all",
        ),
        pytest.param(
            "operator.serviceAccount.name=pointsman-router",
            "operator.serviceAccount.name router.serviceAccount.name",
            id="one account for both",
        ),
    ],
)
def test_a_wrong_value_is_refused_and_named(setting: str, names: str) -> None:
    with pytest.raises(helm.HelmFailed) as refused:
        rendering.with_values(setting)

    words = set(re.findall(r"[\w.]+", re.sub("/|~1", " ", str(refused.value))))
    words |= {part for word in words for part in word.split(".")}
    assert set(names.split()) <= words


def test_without_an_image_one_is_told_what_to_set() -> None:
    with pytest.raises(helm.HelmFailed) as refused:
        rendering.render()

    assert "--set image.repository=" in str(refused.value)
    assert "README.md says how to build it" in str(refused.value)


def test_a_release_whose_name_begins_with_a_digit_is_told_how_to_go_on() -> None:
    with pytest.raises(helm.HelmFailed, match="fullnameOverride must be set"):
        rendering.with_values(release="1st")

    assert rendering.with_values("fullnameOverride=first", release="1st").objects


@pytest.mark.parametrize("value", ["watchNamespaces", "router.allowedHosts", "imagePullSecrets"])
def test_a_list_of_which_nothing_is_left_is_empty(value: str) -> None:
    assert rendering.with_values(f"{value}=null") == rendering.with_values()


@pytest.mark.parametrize("value", ["global.anything=1", "enabled=true"])
def test_the_chart_may_be_part_of_another_one(value: str) -> None:
    assert rendering.with_values(value) == rendering.with_values()


def test_everything_is_set_in_the_combination_that_sets_everything() -> None:
    everything = rendering.merged(rendering.COMBINATIONS["everything"])
    unset = dict(_leaves(DEFAULTS)).keys() - dict(_leaves(everything)).keys()
    # Whatever is free to choose counts as set where anything is.
    missing = {
        path
        for path in unset
        if not any(other.startswith(f"{path}.") for other in dict(_leaves(everything)))
    }

    assert missing == set()


@pytest.mark.parametrize("path", OPTIONAL)
def test_what_is_made_without_a_value_is_something_else(path: str) -> None:
    # First where most are set; `true` for the default is in the others.
    for name in ("everything", *rendering.COMBINATIONS):
        values = rendering.merged(rendering.COMBINATIONS[name])
        without = _without(values, path.split("."))
        if without != values:
            made = rendering.render("-f", "-", stdin=yaml.safe_dump(without))
            if made != rendering.combination(name):
                return
    pytest.fail("it changes nothing in any combination")


def _without(values: Body, path: list[str]) -> Body:
    """These values without the one at a path, which may not be there."""
    name, *others = path
    rest = {key: value for key, value in values.items() if key != name}
    within = values.get(name)
    return {**rest, name: _without(within, others)} if others and within is not None else rest


def test_every_value_of_the_schema_is_in_the_values_file() -> None:
    schema = json.loads((helm.CHART / "values.schema.json").read_text())
    offered = set(_offered(schema, schema["definitions"]))
    there = dict(_leaves(DEFAULTS)).keys()

    assert {path for path in offered if ".settings." not in path} - {"global", "enabled"} == {
        path for path in there if ".settings." not in path
    }


def test_every_value_is_explained_itself_or_part_by_part() -> None:
    lines = (helm.CHART / "values.yaml").read_text().splitlines()
    unexplained = [
        line
        for above, line in itertools.pairwise(lines)
        if re.match(r"[a-z]\w*:", line) and not above.startswith("#")
    ]

    assert unexplained == ["image:", "names:", "catalogue:", "crds:", "rbac:", "service:"]


def _offered(said: Body, definitions: Body, path: str = "") -> Iterator[str]:
    """Every value that a schema lists by name, without what resources hold."""
    for name, within in said["properties"].items():
        found = f"{path}.{name}".removeprefix(".")
        reference = within.get("$ref", "")
        what = definitions[reference.rpartition("/")[2]] if reference else within
        if what.get("additionalProperties") is False and "properties" in what:
            if name == "resources":
                yield from (f"{found}.{leaf}" for leaf in _RESOURCES)
            else:
                yield from _offered(what, definitions, found)
        else:
            yield found


_RESOURCES = ("requests.cpu", "requests.memory", "limits.memory")
