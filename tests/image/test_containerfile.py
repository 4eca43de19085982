"""The Containerfile makes what image/build makes."""

import json
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pointsman_image import assembly

_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Stage:
    """One stage: what it starts from, and its instructions."""

    parent: str
    instructions: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture(scope="module")
def stages() -> dict[str, Stage]:
    """The stages of the Containerfile, in order."""
    found: dict[str, Stage] = {}
    text = (_ROOT / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    for line in filter(None, joined.splitlines()):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            parent, _, name = rest.partition(" AS ")
            stage = found[name] = Stage(parent)
        elif found:
            stage.instructions.append((instruction, rest))
    return found


def said(stages: dict[str, Stage], name: str, instruction: str) -> list[str]:
    """What an instruction says in a stage and in those that it starts from, in order."""
    if name not in stages:
        return []
    own = [rest for kind, rest in stages[name].instructions if kind == instruction]
    return said(stages, stages[name].parent, instruction) + own


def pairs(texts: list[str]) -> dict[str, str]:
    """The settings of ENV or LABEL; a later one wins."""
    return dict(pair.split("=", 1) for text in texts for pair in shlex.split(text))


@pytest.mark.parametrize(
    ("target", "environment"),
    [("product", assembly.ENVIRONMENT), ("examples", assembly.EXAMPLES_ENVIRONMENT)],
)
def test_a_container_starts_in_the_same_way(
    stages: dict[str, Stage], target: str, environment: dict[str, str]
) -> None:
    assert pairs(said(stages, target, "ENV")) == environment
    assert said(stages, target, "USER") == [assembly.USER]
    assert said(stages, target, "WORKDIR") == ["/"]
    assert json.loads(said(stages, target, "ENTRYPOINT")[-1]) == list(assembly.ENTRYPOINT)
    assert pairs(said(stages, target, "LABEL")) == assembly.labels(_ROOT)
    assert said(stages, target, "CMD") == []


@pytest.mark.parametrize(
    ("target", "parts"),
    [("product", ["base", "code"]), ("examples", ["base", "code", "examples"])],
)
def test_the_layers_are_the_parts_that_the_same_script_made(
    stages: dict[str, Stage], target: str, parts: list[str]
) -> None:
    copied = [
        re.fullmatch(r"--from=([\w-]+) /parts/(\w+)/ /", text)
        for text in said(stages, target, "COPY")
    ]
    makers = {match[1] for match in copied if match}
    runs = [run for maker in makers for run in said(stages, maker, "RUN")]

    assert [match and match[2] for match in copied] == parts
    for part in parts:
        assert any(re.search(rf"image/rootfs /parts {part}$", run) for run in runs)


def test_no_target_runs_anything_in_what_it_gives(stages: dict[str, Stage]) -> None:
    assert said(stages, "product", "RUN") == []
    assert said(stages, "examples", "RUN") == []
    assert stages["programs"].parent == "scratch"


def test_the_programs_are_what_is_built_if_nothing_is_asked_for(stages: dict[str, Stage]) -> None:
    assert list(stages)[-1] == "product"


def test_the_context_holds_all_that_the_wheel_is_made_of() -> None:
    about = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    packages = about["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    wanted = {path.split("/")[0] for path in packages}
    wanted |= {about["project"]["readme"], *about["project"]["license-files"], "pyproject.toml"}
    lines = (_ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}

    assert "*" in lines
    assert wanted | {"examples", "image", "requirements"} == let_in
