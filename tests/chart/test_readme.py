"""What the chart's README says of its values and its commands."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import helm
from chart import rendering

ROOT = Path(__file__).parents[2]
README = (helm.CHART / "README.md").read_text()
DEFAULTS = rendering.merged(helm.CHART / "values.yaml")
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]*)` \|", README, re.MULTILINE)


def _value(path: str) -> Any:
    found: Any = DEFAULTS
    for name in path.split("."):
        found = found[name]
    return found


@pytest.mark.parametrize(("path", "default"), ROWS)
def test_a_value_is_there_with_the_default_that_is_told(path: str, default: str) -> None:
    assert _value(path) == yaml.safe_load(default)


def test_every_row_is_of_a_value() -> None:
    rows = [line for line in README.splitlines() if line.startswith("| ")]

    assert len(rows) == len(ROWS) + 1


def test_it_is_installed_as_the_repositorys_readme_says() -> None:
    (command,) = re.findall(r"^helm install (?:.*\\\n)*.*$", README, re.MULTILINE)

    assert command in (ROOT / "README.md").read_text()


def test_helm_shows_it() -> None:
    assert README.strip() in helm.run("show", "readme", helm.CHART)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)", README))
def test_what_it_leads_to_is_there(link: str) -> None:
    assert (helm.CHART / link).exists()
