"""How a program's settings are stated, read from a mapping, and explained.

A program declares a frozen dataclass whose fields are made by `setting`; reading, complaints and
the table of `--help` all come from that one declaration.
"""

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pointsman_contract import labels

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class InvalidSettings(ValueError):
    """Everything that is wrong with an environment, one mistake a line."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable: how its text becomes a value, and what a person should know."""

    name: str
    parse: Callable[[str], Any]
    default: str
    meaning: str
    shown: str


_S = TypeVar("_S", bound="DataclassInstance")


def setting(
    name: str, parse: Callable[[str], object], default: str, meaning: str, *, shown: str = ""
) -> Any:
    """Declare a field that is read from the variable `name`; its type is the field's own."""
    described = Variable(name, parse, default, meaning, shown or default or "(empty)")
    return dataclasses.field(metadata={"variable": described})


def load(
    declared: type[_S],
    environ: Mapping[str, str],
    *,
    prefix: str,
    defaults: Mapping[str, str] | None = None,
) -> _S:
    """Return the settings that `environ` makes; an empty variable counts as unset.

    `defaults` replaces declared defaults that only the running program knows. Raises
    InvalidSettings with every mistake, a variable of our prefix that is no setting included.
    """
    known = {field.name: _variable(field) for field in dataclasses.fields(declared)}
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for field, variable in known.items():
        default = (defaults or {}).get(variable.name, variable.default)
        try:
            values[field] = variable.parse(environ.get(variable.name) or default)
        except ValueError as exc:
            mistakes.append(f"{variable.name}: {exc}")
    names = [variable.name for variable in known.values()]
    for stranger in sorted(set(environ) - set(names)):
        if stranger.startswith(prefix):
            mistakes.append(f"{stranger}: is no setting{_hint(stranger, names, prefix)}")
    if mistakes:
        raise InvalidSettings(mistakes)
    return declared(**values)


def table(declared: "type[DataclassInstance]") -> str:
    """Return every variable with its default and its meaning, as `--help` shows it."""
    rows = [
        (variable.name, variable.shown, variable.meaning)
        for variable in map(_variable, dataclasses.fields(declared))
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{name:<{widths[0]}}  {default:<{widths[1]}}  {meaning}" for name, default, meaning in rows
    )


def namespace(text: str) -> str:
    """Read the name of a namespace."""
    if not labels.is_dns_label(text):
        raise ValueError("must be the name of a namespace")
    return text


def directory(text: str) -> Path:
    """Read an absolute path."""
    if not (path := Path(text)).is_absolute():
        raise ValueError("must be an absolute path")
    return path


def host(text: str) -> str:
    """Read an address to listen on."""
    if not text or not text.isprintable() or " " in text:
        raise ValueError("must be a host name or an address")
    return text


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers within bounds."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(text)

    return parse


def seconds(least: float, most: float) -> Callable[[str], float]:
    """Return a reader of durations within bounds."""

    def parse(text: str) -> float:
        try:
            duration = float(text)
        except ValueError:
            duration = float("nan")
        if not least <= duration <= most:
            raise ValueError(f"must be a number of seconds from {least:.10g} to {most:.10g}")
        return duration

    return parse


def words(text: str) -> tuple[str, ...]:
    """Read a list with commas; blanks around an item do not count."""
    return tuple(word for item in text.split(",") if (word := item.strip()))


def _hint(stranger: str, names: Iterable[str], prefix: str) -> str:
    # What all of them share would make any two look alike.
    words = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    near = difflib.get_close_matches(stranger.removeprefix(prefix), words, n=1)
    return f"; did you mean {prefix}{near[0]}?" if near else ""


def _variable(field: "dataclasses.Field[Any]") -> Variable:
    variable = field.metadata["variable"]
    assert isinstance(variable, Variable)
    return variable
