"""Rules of the house that an import graph cannot see."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "pointsman_contract": ROOT / "contract/pointsman_contract",
    "pointsman_operator": ROOT / "operator/pointsman_operator",
    "pointsman_router": ROOT / "router/pointsman_router",
    "pointsman_mirror": ROOT / "router/pointsman_mirror",
    "pointsman": ROOT / "client/pointsman",
}
PROGRAM_PARTS = {"__init__", "__main__", "__pycache__"}
MODULES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))
MODULE_MAX_LINES = 300
VAGUE_NAMES = {"base", "common", "helpers", "manager", "misc", "utils"}
CLIENT_MAY_USE = {
    "pointsman_operator.arbitration",
    "pointsman_operator.fields",
    "pointsman_operator.manifests",
    "pointsman_operator.spec",
    "pointsman_operator.specerror",
    "pointsman_operator.viewmanifests",
    "pointsman_operator.viewplan",
    "pointsman_operator.viewspec",
    "pointsman_operator.toolspec",
    "pointsman_mirror.disk",
    "pointsman_mirror.layout",
}


def test_nothing_importable_lies_directly_in_operator() -> None:
    # It would shadow the standard library's `operator`, and every Python started here would die.
    importable = [
        path
        for folder in (ROOT / "operator", ROOT / "tests" / "operator")
        for pattern in ("__init__.py", "__init__.pyi", "*.so")
        for path in folder.glob(pattern)
    ]

    assert importable == []
    assert list((ROOT / "operator").glob("*.py")) == []


def test_python_still_finds_its_own_operator_from_the_root() -> None:
    program = "import operator, asyncio; print(operator.__file__)"

    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert not found.stdout.startswith(str(ROOT / "operator"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_knows_in_at_most_300_lines(path: Path) -> None:
    source = path.read_text()

    assert ast.get_docstring(ast.parse(source)), "its first line is its own noun phrase"
    assert source.count("\n") <= MODULE_MAX_LINES


def test_no_two_modules_say_that_they_know_the_same() -> None:
    said = Counter(
        (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0] for path in MODULES
    )

    assert [line for line, count in said.items() if count > 1] == []


def test_a_module_is_named_for_what_it_is() -> None:
    names = {path.stem for path in MODULES} - {"__init__", "__main__"}

    assert names & VAGUE_NAMES == set()
    assert names & sys.stdlib_module_names == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_a_main_reads_the_environment(path: Path) -> None:
    if path.name == "__main__.py":
        return

    assert list(_environment_reads(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_importing_a_module_does_nothing(path: Path) -> None:
    allowed = (
        ast.AnnAssign,
        ast.Assign,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.FunctionDef,
        ast.If,
        ast.Import,
        ast.ImportFrom,
    )
    statements = ast.parse(path.read_text()).body

    acting = [
        statement
        for statement in statements
        if not isinstance(statement, allowed)
        and not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
    ]

    assert acting == []


def test_the_command_line_uses_only_the_pure_middle_of_the_programs() -> None:
    used = {
        name
        for path in PACKAGES["pointsman"].rglob("*.py")
        for name in _imports(ast.parse(path.read_text()))
        if name.split(".")[0] in {"pointsman_operator", "pointsman_mirror", "pointsman_router"}
    }

    assert used <= CLIENT_MAY_USE


def test_the_map_in_the_readme_names_every_room_once() -> None:
    there = Counter(
        f"{package}.{path.stem}"
        for package, folder in PACKAGES.items()
        for path in folder.iterdir()
        if path.suffix in {"", ".py"} and path.stem not in PROGRAM_PARTS
    )

    assert Counter(room for room, _ in _map()) == there


def test_every_invariant_names_tests_that_are_there() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Invariants\n")[2]
    invariants = re.split(r"^\d+\. ", section.partition("\n## ")[0], flags=re.MULTILINE)[1:]
    named = [re.findall(r"`(test_\w+)`", invariant) for invariant in invariants]
    tests = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert len(invariants) == 10
    assert all(named)
    assert {name for names in named for name in names} - tests == set()


def test_the_rooms_that_the_map_calls_pure_are_those_fenced_as_pure() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (fenced,) = [each for each in contracts["contracts"] if each["id"] == "pure"]
    rooms = {room for room in fenced["source_modules"] if room.count(".") == 1}
    pure = {room for room, mark in _map() if mark == "pure"}

    # All of the contract is pure, by a fence of its own.
    assert {room for room in pure if not room.startswith("pointsman_contract.")} == rooms


def _map() -> Iterator[tuple[str, str]]:
    """Yield each room in the README's table, and how it is marked."""
    package = ""
    table = (ROOT / "README.md").read_text().partition("## The rooms\n")[2].partition("\n## ")[0]
    for line in table.splitlines():
        if found := re.match(r"\| \*\*\w+/(\w+)\*\* \|", line):
            package = found[1]
        elif package and line.startswith("| `"):
            _, rooms, _, mark, _ = (cell.strip() for cell in line.split("|"))
            yield from ((f"{package}.{room}", mark) for room in re.findall(r"`(\w+)/?`", rooms))


def _environment_reads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}:
            yield ast.unparse(node)
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (
                alias.name
                for alias in node.names
                if alias.name in {"environ", "environb", "getenv"}
            )


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if "." in node.module:
                yield node.module
            else:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
