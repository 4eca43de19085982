"""Whether every combination of values makes sound objects, and the defaults those agreed on."""

import re
import shutil
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bench import helm
from chart import golden_files, kubernetes_schema, rendering

ROOT = Path(__file__).parents[2]

# From which Kubernetes 1.x on the API server takes a function in the rules of a new kind: one
# minor behind the first that has it, so that a rollback still knows it.
KNOWN_SINCE = {
    **dict.fromkeys(("all", "contains", "dyn", "has", "matches", "size", "startsWith"), 25),
    **dict.fromkeys(("lowerAscii", "replace", "split"), 25),
    "isIP": 31,
}

each_combination = pytest.mark.parametrize("name", rendering.COMBINATIONS)


@each_combination
def test_helm_lint_finds_nothing_even_strictly(name: str) -> None:
    helm.run("lint", "--strict", helm.CHART, "-f", rendering.COMBINATIONS[name])


@each_combination
def test_every_object_is_sound_by_kubernetes_own_schema(name: str) -> None:
    found = {
        f"{body['kind']} {body['metadata']['name']}": kubernetes_schema.problems(body)
        for body in rendering.combination(name).objects
    }

    assert {where: problems for where, problems in found.items() if problems} == {}


@each_combination
def test_no_object_is_there_twice(name: str) -> None:
    objects = [
        (body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"])
        for body in rendering.combination(name).objects
    ]

    assert len(set(objects)) == len(objects)


def test_a_name_that_looks_like_something_else_stays_a_text() -> None:
    given = rendering.render(
        *(*rendering.IMAGE, "--set", "fullnameOverride=on", "--set", "nameOverride=yes"),
        *("--set-string", "watchNamespaces={789}", "--set-string", "router.priorityClassName=1"),
        *("--set-string", "operator.serviceAccount.name=12"),
        *("--set-string", "router.serviceAccount.name=1e3"),
        release="123",
        namespace="456",
    )

    for body in given.objects:
        assert kubernetes_schema.problems(body) == [], body["metadata"]["name"]


@each_combination
def test_every_object_lies_where_it_belongs(name: str) -> None:
    watched = rendering.merged(rendering.COMBINATIONS[name]).get("watchNamespaces", [])
    for body in rendering.combination(name).objects:
        within = body["metadata"].get("namespace")
        if body["kind"] in {rendering.CRD, "ClusterRole", "ClusterRoleBinding"}:
            assert within is None
        else:
            assert within in {helm.NAMESPACE, *watched}


@pytest.mark.parametrize("path", golden_files.FILES, ids=lambda path: path.name)
def test_what_was_agreed_on_is_unchanged(path: Path) -> None:
    assert golden_files.FILES[path]() == path.read_text(), golden_files.RENEW


@each_combination
def test_the_crds_of_the_chart_are_those_that_the_programs_know(name: str) -> None:
    there = (golden_files.CRDS / file for file in golden_files.CRD_FILES)
    agreed = [yaml.safe_load(path.read_text()) for path in there]
    found = rendering.combination(name).of_kind(rendering.CRD)

    assert set(golden_files.CRD_FILES) == {path.name for path in golden_files.CRDS.iterdir()}
    if rendering.merged(rendering.COMBINATIONS[name]).get("crds", {}).get("install", True):
        assert [body["spec"] for body in found] == [one["spec"] for one in agreed]
        names = [one["metadata"]["name"] for one in agreed]
        assert [body["metadata"]["name"] for body in found] == names
    else:
        assert found == ()


@pytest.mark.parametrize(
    ("settings", "policies"),
    [
        pytest.param((), ["keep"] * 2, id="kept unless one says otherwise"),
        pytest.param(("crds.keep=false",), [None] * 2, id="not kept"),
        pytest.param(("crds.install=false",), [], id="not installed"),
    ],
)
def test_uninstalling_leaves_the_crds_unless_one_says_otherwise(
    settings: tuple[str, ...], policies: list[str | None]
) -> None:
    crds = rendering.with_values(*settings).of_kind(rendering.CRD)

    assert [
        crd["metadata"].get("annotations", {}).get("helm.sh/resource-policy") for crd in crds
    ] == policies


def test_the_chart_has_the_version_of_the_programs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((helm.CHART / "Chart.yaml").read_text())

    assert chart["version"] == chart["appVersion"] == project["version"]


def test_the_package_holds_what_is_installed_and_nothing_of_the_tests(tmp_path: Path) -> None:
    helm.run("package", helm.CHART, "--destination", tmp_path)
    (package,) = tmp_path.iterdir()
    with tarfile.open(package) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}

    # Chart.yaml and values as they were written.
    assert top == {
        *(".helmignore", "Chart.yaml", "README.md", "files", "templates"),
        *("values.schema.json", "values.yaml"),
    }


def test_a_version_with_build_metadata_makes_sound_labels(tmp_path: Path) -> None:
    chart = shutil.copytree(helm.CHART, tmp_path / "pointsman")
    path = chart / "Chart.yaml"
    said = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**said, "version": f"{said['version']}+1"}))
    where = (helm.RELEASE, chart, "--kube-version", helm.KUBERNETES)

    made = rendering.read(helm.run("template", *where, *rendering.IMAGE))

    charts = {one["metadata"]["labels"]["helm.sh/chart"] for one in made.objects}
    assert charts == {f"pointsman-{said['version']}_1"}


def test_kubernetes_that_would_refuse_a_kind_is_refused() -> None:
    old = ("--kube-version", "1.30.14")

    with pytest.raises(helm.HelmFailed, match=r"kubeVersion: >=1\.31"):
        helm.template(*rendering.IMAGE, *old)


def test_the_oldest_kubernetes_knows_every_function_of_the_kinds_rules() -> None:
    oldest = int(helm.KUBERNETES.split(".")[1])
    crds = [
        yaml.safe_load((golden_files.CRDS / name).read_text()) for name in golden_files.CRD_FILES
    ]
    called = {
        name
        for rule in _rules(crds)
        for name in re.findall(r"([A-Za-z]+)\(", re.sub(r"'[^']*'", "", rule))
    }

    assert called
    assert {name for name in called if KNOWN_SINCE.get(name, sys.maxsize) > oldest} == set()


def test_both_readmes_name_the_oldest_versions() -> None:
    chart = yaml.safe_load((helm.CHART / "Chart.yaml").read_text())
    kubernetes = helm.KUBERNETES.rpartition(".")[0]

    assert chart["kubeVersion"] == f">={helm.KUBERNETES}-0"
    for folder in (ROOT, helm.CHART):
        said = (folder / "README.md").read_text()
        assert f"Kubernetes {kubernetes} and Helm 3.17, or newer" in said


def _rules(part: object) -> Iterator[str]:
    """Every rule in CEL, however deep."""
    if isinstance(part, dict):
        if isinstance(rule := part.get("rule"), str):
            yield rule
        for below in part.values():
            yield from _rules(below)
    elif isinstance(part, list):
        for below in part:
            yield from _rules(below)
