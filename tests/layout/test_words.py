"""What people are told to set, to run and to change is there."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from pointsman import __main__ as command_line
from pointsman_mirror import settings as mirror
from pointsman_operator import settings as operator
from pointsman_router import settings as router

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "contract/pointsman_contract",
    "operator/pointsman_operator",
    "router/pointsman_router",
    "router/pointsman_mirror",
    "client/pointsman",
)
CRDS = (ROOT / "crds/mcpserver.yaml", ROOT / "crds/mcpview.yaml")
SAID_ELSEWHERE = (*CRDS, ROOT / "charts/pointsman/templates/NOTES.txt")

SETTING = re.compile(r"\bPOINTSMAN_[A-Z_]+")
COMMAND = re.compile(r"(?<![\w/.=-])pointsman ([a-z]+)")
FIELD = re.compile(r"\bspec(?:\.[A-Za-z]+(?:\[\w*\])?)+")


def _settings() -> set[str]:
    programs = (mirror, operator, router)
    declared = {
        field.metadata["variable"].name
        for program in programs
        for field in fields(program.Settings)
    }
    prefixes = {program.PREFIX for program in programs}
    return declared | prefixes | {command_line.URL_VARIABLE, command_line.ADMIN_URL_VARIABLE}


def _commands() -> set[str]:
    return set(command_line.main.commands)


def _fields() -> set[str]:
    found: set[str] = set()
    for path in CRDS:
        (version,) = yaml.safe_load(path.read_text())["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        found.update(f"spec.{name}" for name in _below(schema))
    return found


def _below(schema: dict[str, Any]) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield name
        for items, mark in ((inner, ""), (inner.get("items", {}), "[]")):
            yield from (f"{name}{mark}.{below}" for below in _below(items))


def _as_field(text: str) -> str:
    """A field without the number or the name of what it is one of."""
    return re.sub(r"\[\w*\]", "[]", text).removesuffix("[]")


def _texts() -> Iterator[tuple[str, str]]:
    """Yield what each file says, with its name; of a program, every text in it."""
    for path in SAID_ELSEWHERE:
        yield path.name, path.read_text()
    for path in sorted(found for name in PACKAGES for found in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.parent.name}/{path.name}", node.value


def _named(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    return {
        (file, found[pattern.groups]) for file, text in _texts() for found in pattern.finditer(text)
    }


@pytest.mark.parametrize("setting", ["POINTSMAN_ROUTER_NAME", "POINTSMAN_OPERATOR_ROUTER"])
def test_a_setting_that_is_misspelled_would_be_found(setting: str) -> None:
    assert SETTING.findall(f"set {setting}: it is none") == [setting]
    assert setting not in _settings()


def test_every_setting_that_is_named_can_be_set() -> None:
    named = _named(SETTING)

    assert ("pointsman_router/refusals.py", "POINTSMAN_ROUTER_ALLOWED_HOSTS") in named
    assert {(file, name) for file, name in named if name not in _settings()} == set()


def test_every_command_that_is_named_can_be_run() -> None:
    named = _named(COMMAND)

    assert ("pointsman_router/ruling.py", "approve") in named
    assert {(file, name) for file, name in named if name not in _commands()} == set()


def test_every_field_that_is_named_can_be_changed() -> None:
    named = _named(FIELD)

    assert ("pointsman_router/catalogue.py", "spec.prefix") in named
    assert {(file, name) for file, name in named if _as_field(name) not in _fields()} == set()


@pytest.mark.parametrize("name", ["spec.tool", "spec.servers.selectors", "spec.tools[].name.first"])
def test_a_field_that_is_none_would_be_found(name: str) -> None:
    assert FIELD.findall(f"change {name}: it is none") == [name]
    assert _as_field(name) not in _fields()
