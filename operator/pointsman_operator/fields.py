"""Which fields a resource has, and which of those that one holds mean nothing."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]

_STEP = re.compile(r"\[(?P<at>[0-9]+)\]|(?P<name>[^.\[]+)")


class _Anything:
    """Where a resource may hold what it likes."""


@dataclass(frozen=True, slots=True)
class Each:
    """A list whose items have these fields."""

    fields: "Tree"


Tree: TypeAlias = Mapping[str, "Tree | Each | _Anything"]

ANYTHING = _Anything()

# What Kubernetes keeps about every object, and what this kind adds.
FIELDS: Tree = {
    "apiVersion": ANYTHING,
    "kind": ANYTHING,
    "metadata": dict.fromkeys(
        (
            *("annotations", "creationTimestamp", "deletionGracePeriodSeconds"),
            *("deletionTimestamp", "finalizers", "generateName", "generation", "labels"),
            *("managedFields", "name", "namespace", "ownerReferences", "resourceVersion"),
            *("selfLink", "uid"),
        ),
        ANYTHING,
    ),
    "spec": {
        **dict.fromkeys(
            ("allowedTools", "expose", "prefix", "protocol", "suspend", "timeoutSeconds", "url"),
            ANYTHING,
        ),
        "definitions": {"approved": ANYTHING, "policy": ANYTHING},
        "service": dict.fromkeys(("name", "path", "port"), ANYTHING),
        "tools": Each(dict.fromkeys(("description", "hide", "name", "title"), ANYTHING)),
    },
    "status": ANYTHING,
}


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that has no meaning, and those that would have one in its place."""

    steps: FieldPath
    """Each name, and each place in a list, from the top."""
    known: tuple[str, ...]

    @property
    def path(self) -> str:
        """Where it stands, as people write it."""
        return spelled(self.steps)

    @property
    def parent(self) -> str:
        """In what it stands."""
        return spelled(self.steps[:-1])

    @property
    def name(self) -> str:
        """What it is called there."""
        return str(self.steps[-1])


def unknown_fields(body: Mapping[str, object], known: Tree = FIELDS) -> tuple[UnknownField, ...]:
    """Return the fields of `body` that its kind does not have, each with its known siblings."""
    return tuple(_unknown(body, known, ()))


def spelled(steps: FieldPath) -> str:
    """Return a path as people write it: `spec.tools[0].name`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)[1:]


def steps_of(path: str) -> FieldPath:
    """Return the steps of a path of fields that have a meaning: their names hold no dot."""
    return tuple(
        int(found["at"]) if found["at"] else found["name"] for found in _STEP.finditer(path)
    )


def _unknown(body: Mapping[str, object], known: Tree, above: FieldPath) -> Iterator[UnknownField]:
    for field, value in body.items():
        here = (*above, field)
        match known.get(field):
            case None:
                yield UnknownField(here, tuple(known))
            case _Anything():
                pass
            case Each(fields) if isinstance(value, list | tuple):
                for at, item in enumerate(value):
                    if isinstance(item, Mapping):
                        yield from _unknown(item, fields, (*here, at))
            case Mapping() as tree if isinstance(value, Mapping):
                yield from _unknown(value, tree, here)
            case _:
                pass
