"""How `make kind` brings a cluster up, and what it says where something is missing."""

import re
from typing import Any

import pytest

from cluster import engine
from cluster.machine import Machine


def made(target: str, image: str) -> list[str]:
    """What makes an image and brings it into the cluster."""
    return [
        (
            f"docker build --file CHECKOUT/Containerfile --target {target} --tag {image}"
            " --build-arg SOURCE_DATE_EPOCH=TIME CHECKOUT"
        ),
        f"kind load docker-image {image} --name pointsman",
    ]


def test_all_that_is_missing_is_named_at_once_and_nothing_is_done(machine: Machine) -> None:
    machine.has()

    done = machine.run("kind-up")

    named = [line.split(":")[0].strip() for line in done.stderr.splitlines()[1:]]
    assert done.returncode == 1
    assert named == ["docker", "kind", "kubectl", "helm"]
    assert not (machine.folder / "tools").exists()


@pytest.mark.parametrize("missing", engine.PROGRAMS)
def test_one_missing_program_is_named_alone(machine: Machine, missing: str) -> None:
    machine.has(*(program for program in engine.PROGRAMS if program != missing))

    done = machine.run("kind-up")

    assert done.returncode == 1
    assert re.findall(r"^  (\w+): .*https://", done.stderr, re.MULTILINE) == [missing]
    assert machine.calls() == []


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        pytest.param({"engine": False}, "docker: its engine does not answer", id="no engine"),
        pytest.param({"kind_version": "v0.26.0"}, "here is 0.26.0", id="an old kind"),
        pytest.param({"kind_version": "v0.9.0"}, "here is 0.9.0", id="a very old kind"),
    ],
)
def test_what_is_there_and_of_no_use_is_named(
    machine: Machine, differences: dict[str, Any], said: str
) -> None:
    machine.begins(**differences)

    done = machine.run("kind-up")

    assert done.returncode == 1
    assert said in done.stderr
    assert machine.calls() == []


def test_a_first_run_makes_the_cluster_and_all_that_is_in_it(machine: Machine) -> None:
    done = machine.run("kind-up")

    assert (done.returncode, done.stderr) == (0, "")
    assert machine.calls() == [
        "kind create cluster --name pointsman --kubeconfig KUBECONFIG --wait 180s",
        *made("product", "pointsman.test/pointsman:dev"),
        *made("examples", "pointsman.test/examples:dev"),
        (
            "helm upgrade --install pointsman CHECKOUT/charts/pointsman --namespace pointsman"
            " --create-namespace --set image.repository=pointsman.test/pointsman"
            " --set image.tag=dev --wait --timeout 180s"
        ),
        "kubectl apply --filename CHECKOUT/examples/cluster",
        "kubectl rollout status deployment --namespace pointsman --timeout 180s",
        "kubectl rollout status deployment --namespace pointsman-examples --timeout 180s",
        (
            "kubectl wait --for condition=Ready mcpservers --all"
            " --namespace pointsman-examples --timeout 180s"
        ),
    ]


def test_it_tells_how_to_reach_the_cluster_and_touches_no_other_kubeconfig(
    machine: Machine,
) -> None:
    done = machine.run("kind-up")

    assert f"export KUBECONFIG={machine.kubeconfig}\n" in done.stdout
    assert machine.kubeconfig.read_text() == "pointsman"
    assert list((machine.folder / "home").iterdir()) == []


def test_a_second_run_has_the_same_cluster_start_the_new_images(machine: Machine) -> None:
    machine.run("kind-up")
    first = machine.calls()

    done = machine.run("kind-up")

    second = machine.calls()[len(first) :]
    assert done.returncode == 0, done.stderr
    assert second[0] == "kind export kubeconfig --name pointsman --kubeconfig KUBECONFIG"
    assert [call for call in second if "restart" in call] == [
        "kubectl rollout restart deployment --namespace pointsman",
        "kubectl rollout restart deployment --namespace pointsman-examples",
    ]
    assert [call for call in second if "restart" not in call][1:] == first[1:]


def test_a_bare_cluster_holds_the_images_and_is_another_one(machine: Machine) -> None:
    done = machine.run("kind-up", "--bare", "another")

    kubeconfig = str(machine.kubeconfig.with_name("another.kubeconfig"))
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.calls()[0] == (
        f"kind create cluster --name another --kubeconfig {kubeconfig} --wait 180s"
    )
    assert [call for call in machine.calls() if "load" in call] == [
        "kind load docker-image pointsman.test/pointsman:dev --name another",
        "kind load docker-image pointsman.test/examples:dev --name another",
    ]
    assert machine.calls()[-1].startswith("kind load")


@pytest.mark.parametrize("fails", ["docker build", "kind load", "helm", "kubectl wait"])
def test_it_ends_badly_where_a_step_fails(machine: Machine, fails: str) -> None:
    machine.begins(fails=fails)

    done = machine.run("kind-up")

    assert done.returncode != 0
    assert machine.world["calls"][-1].startswith(fails)
    assert "to try it" not in done.stdout


def test_only_that_cluster_is_ended(machine: Machine) -> None:
    other: dict[str, list[str]] = {"images": [], "releases": [], "applied": []}
    machine.begins(clusters={"pointsman-too": other})
    machine.run("kind-up")

    done = machine.run("kind-down")

    assert done.returncode == 0, done.stderr
    assert machine.world["clusters"] == {"pointsman-too": other}
    assert not machine.kubeconfig.exists()


def test_ending_a_cluster_says_what_it_takes(machine: Machine) -> None:
    machine.has()

    done = machine.run("kind-down")

    assert done.returncode == 1
    assert "kind is not there" in done.stderr
