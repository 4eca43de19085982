"""What a McpView asks for: its body as a view, or the field that is wrong and how."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from pointsman_contract import labels
from pointsman_contract.view import (
    PATTERN_MAX_LENGTH,
    PATTERNS_MAX,
    SERVERS_MAX,
    Discovery,
    NameForm,
)
from pointsman_operator import fields, spec
from pointsman_operator.fields import ANYTHING, Each, Tree, UnknownField
from pointsman_operator.labelselector import LabelSelector, Operator, Requirement
from pointsman_operator.spec import Identity
from pointsman_operator.specerror import SpecError

# More than anybody writes by hand, and small beside what a resource may hold.
REQUIREMENTS_MAX = 50
VALUES_MAX = 50
LABEL_KEY_MAX_LENGTH = 253 + 1 + 63
LABEL_VALUE_MAX_LENGTH = 63

_LABEL_KEY = re.compile(
    r"([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?",
    re.ASCII,
)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?", re.ASCII)
_PATTERN = re.compile(r"[^\x00-\x1f\x7f-\x9f*]*\*?")

FIELDS: Tree = {
    **fields.FIELDS,
    "spec": {
        "servers": {
            "names": ANYTHING,
            "selector": {
                "matchLabels": ANYTHING,
                "matchExpressions": Each(dict.fromkeys(("key", "operator", "values"), ANYTHING)),
            },
        },
        "tools": ANYTHING,
        "names": ANYTHING,
        "discovery": ANYTHING,
    },
}


@dataclass(frozen=True, slots=True)
class View:
    """One valid resource."""

    identity: Identity
    servers: tuple[str, ...] | LabelSelector
    """Names of servers of its own namespace, sorted, or which of them it takes."""
    tools: tuple[str, ...]
    """Patterns of exposed names; sorted, so that views that ask for the same are equal."""
    names: NameForm
    discovery: Discovery

    @property
    def id(self) -> str:
        """The view's identity."""
        return self.identity.id

    def selects(self, its_labels: Mapping[str, str] | None) -> bool:
        """Say whether its selector takes a server with these labels; none where there is none."""
        if its_labels is None or not isinstance(self.servers, LabelSelector):
            return False
        return self.servers.matches(its_labels)


def parse(body: Mapping[str, object]) -> View:
    """Return the view that a resource's `body` asks for; raises SpecError.

    The same bodies are taken that the API server takes with the CRD in force, unknown fields
    aside.
    """
    identity = spec.identify(body)
    wish = body.get("spec")
    if wish is None:
        raise SpecError("spec", "must be given: it needs at least servers")
    if not isinstance(wish, Mapping):
        raise SpecError("spec", "must be an object")
    return View(
        identity=identity,
        servers=_servers(wish.get("servers")),
        tools=_tools(wish.get("tools")),
        names=_word(wish.get("names"), "spec.names", NameForm.PREFIXED),
        discovery=_word(wish.get("discovery"), "spec.discovery", Discovery.LIST),
    )


def unknown_fields(body: Mapping[str, object]) -> tuple[UnknownField, ...]:
    """Return the fields of `body` that no McpView has, each with its known siblings."""
    return fields.unknown_fields(body, FIELDS)


def _servers(value: object) -> tuple[str, ...] | LabelSelector:
    field = "spec.servers"
    if value is None:
        raise SpecError(field, "must be given: it needs names or selector")
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object")
    named, selector = value.get("names"), value.get("selector")
    if (named is None) == (selector is None):
        raise SpecError(field, "must hold exactly one of names and selector")
    if named is None:
        return _selector(selector)
    return tuple(sorted(_names(named)))


def _names(value: object) -> Iterable[str]:
    field = "spec.servers.names"
    named = _list(value, field, SERVERS_MAX)
    for at, item in enumerate(named):
        if not isinstance(item, str) or not labels.is_dns_label(item):
            raise SpecError(
                f"{field}[{at}]",
                f"must be the name of a McpServer: 1 to {spec.NAME_MAX_LENGTH} lower-case letters,"
                " digits and inner hyphens, without a dot",
            )
    return _unique(_texts(named), field)


def _selector(value: object) -> LabelSelector:
    field = "spec.servers.selector"
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object")
    for name in ("matchLabels", "matchExpressions"):
        # Read as nothing, it would take more servers than were meant, and alone every one.
        if name in value and value[name] is None:
            raise SpecError(
                f"{field}.{name}", "must not be left blank: selector {} takes every server"
            )
    return LabelSelector(
        (
            *_labels(value.get("matchLabels"), f"{field}.matchLabels"),
            *_expressions(value.get("matchExpressions"), f"{field}.matchExpressions"),
        )
    )


def _labels(value: object, field: str) -> Iterator[Requirement]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object")
    # A patch takes out a label whose value is null, and no label left would take every server.
    if not value:
        raise SpecError(field, "must hold at least one label: selector {} takes every server")
    if len(value) > REQUIREMENTS_MAX:
        raise SpecError(field, f"must hold at most {REQUIREMENTS_MAX} labels")
    for key in sorted(value):
        wanted = value[key]
        if not isinstance(wanted, str):
            raise SpecError(field, "must be a string", key=key)
        if len(wanted) > LABEL_VALUE_MAX_LENGTH:
            problem = f"must hold at most {LABEL_VALUE_MAX_LENGTH} characters"
            raise SpecError(field, problem, key=key)
        yield Requirement(key, Operator.IN, (wanted,))


def _expressions(value: object, field: str) -> Iterator[Requirement]:
    for at, item in enumerate(_list(value, field, REQUIREMENTS_MAX)):
        yield _expression(item, f"{field}[{at}]")


def _expression(value: object, field: str) -> Requirement:
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object with key and operator")
    key, word = value.get("key"), value.get("operator")
    if not isinstance(key, str) or len(key) > LABEL_KEY_MAX_LENGTH or not _LABEL_KEY.fullmatch(key):
        raise SpecError(f"{field}.key", "must be the key of a label")
    if not isinstance(word, str) or word not in set(Operator):
        raise SpecError(f"{field}.operator", f"must be one of {', '.join(Operator)}")
    operator = Operator(word)
    values = _list(value.get("values"), f"{field}.values", VALUES_MAX)
    for at, item in enumerate(values):
        is_value = isinstance(item, str) and _LABEL_VALUE.fullmatch(item)
        if not is_value or len(str(item)) > LABEL_VALUE_MAX_LENGTH:
            raise SpecError(f"{field}.values[{at}]", "must be the value of a label")
    if operator.takes_values != bool(values):
        many = "at least one value" if operator.takes_values else "no value"
        raise SpecError(f"{field}.values", f"must hold {many} where the operator is {operator}")
    return Requirement(key, operator, tuple(sorted(_texts(values))))


def _tools(value: object) -> tuple[str, ...]:
    field = "spec.tools"
    patterns = _list(value, field, PATTERNS_MAX)
    for at, item in enumerate(patterns):
        _check_pattern(item, f"{field}[{at}]")
    return tuple(sorted(_unique(_texts(patterns), field)))


def _check_pattern(item: object, field: str) -> None:
    if not isinstance(item, str):
        raise SpecError(field, "must be a string")
    if not 1 <= len(item) <= PATTERN_MAX_LENGTH:
        raise SpecError(field, f"must hold 1 to {PATTERN_MAX_LENGTH} characters")
    if not _PATTERN.fullmatch(item):
        raise SpecError(field, "must hold no * but one at the end, and no control character")
    if any("\ud800" <= character <= "\udfff" for character in item):
        raise SpecError(field, "must not hold half of a surrogate pair")


_Word = TypeVar("_Word", bound=StrEnum)


def _word(value: object, field: str, default: _Word) -> _Word:
    known = type(default)
    if value is None:
        return default
    if not isinstance(value, str) or value not in set(known):
        raise SpecError(field, f"must be one of {', '.join(known)}")
    return known(value)


def _list(value: object, field: str, at_most: int) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise SpecError(field, "must be a list")
    if len(value) > at_most:
        raise SpecError(field, f"must hold at most {at_most} items")
    return list(value)


def _texts(items: Iterable[object]) -> list[str]:
    return [item for item in items if isinstance(item, str)]


def _unique(texts: list[str], field: str) -> list[str]:
    if len(set(texts)) < len(texts):
        raise SpecError(field, "must not hold a name twice")
    return texts
