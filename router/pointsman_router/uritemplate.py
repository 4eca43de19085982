"""Which URIs a template stands for.

RFC 6570 says how a template becomes a URI; this is the way back, and a little wider: agents fill
in values without encoding them, and the upstream judges them anyway. What is not wider: a simple
value ends at a `/`, `?` or `#`.

Every place of the URI that a part can reach is a bit of one number, so that no spelling of either
costs more than its length: there is nothing to go back to.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# Ten times what is met in practice. A URI that nobody lists is held against every template of its
# scheme, each at a cost that grows with this.
MAX_LENGTH = 512
# So many values no model fills in.
EXPRESSIONS_MAX = 32

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_EXPRESSION = re.compile(r"(?P<operator>[+#./;?&]?+)(?P<variables>[^{}]+)")
_RESERVED_OPERATORS = frozenset("=,!@|")


class InvalidTemplate(ValueError):
    """A text that is no template, or one that would claim everybody's URIs."""


@dataclass(frozen=True, slots=True)
class Run:
    """What an expression may have become: without a value nothing, else opening and values."""

    opening: str
    stops: str
    """The characters that end it."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template, cut into its literal texts and its expressions."""

    text: str
    head: str
    """The text before the first expression; it begins with the scheme."""
    parts: tuple[str | Run, ...]
    """What is behind it."""

    @property
    def scheme(self) -> str:
        """The scheme of its URIs, its colon included."""
        return scheme_of(self.head)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A URI, taken apart once for all the templates that it is held against."""

    uri: str
    places: Mapping[str, int]
    """Where each character stands, as bits."""


# One place, filled with any character of a value: a segment, a rest, a query.
_SEGMENT, _PATH, _QUERY, _ANYTHING = "/?#", "?#", "#", ""
_RUNS = {
    "": Run("", _SEGMENT),
    "+": Run("", _ANYTHING),
    "#": Run("#", _ANYTHING),
    ".": Run(".", _SEGMENT),
    "/": Run("/", _SEGMENT),
    ";": Run(";", _SEGMENT),
    "?": Run("?", _QUERY),
    "&": Run("&", _QUERY),
}
_SEGMENTS = Run("/", _PATH)


def parse(text: str) -> Template:
    """Return the template that `text` spells.

    Raises InvalidTemplate, also for one without a scheme of its own: it would stand for any URI.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidTemplate(f"must hold at most {MAX_LENGTH} characters")
    head, *expressions = text.split("{")
    if not scheme_of(head):
        raise InvalidTemplate("must begin with a scheme")
    if len(expressions) > EXPRESSIONS_MAX:
        raise InvalidTemplate(f"must hold at most {EXPRESSIONS_MAX} expressions")
    parts: list[str | Run] = []
    for expression in expressions:
        inside, closed, literal = expression.partition("}")
        if not closed or "}" in literal:
            raise InvalidTemplate("must close each expression that it opens, and no other")
        parts += [_run(inside), literal]
    if "}" in head:
        raise InvalidTemplate("must close each expression that it opens, and no other")
    return Template(text, head, tuple(parts))


def spelled(uri: str) -> Spelled:
    """Return `uri` as templates are held against it."""
    places: dict[str, int] = {}
    for at, character in enumerate(uri):
        places[character] = places.get(character, 0) | 1 << at
    return Spelled(uri, places)


def scheme_of(uri: str) -> str:
    """Return the scheme that `uri` begins with, spelled as it is; empty where it has none."""
    found = _SCHEME.match(uri)
    return found[0] if found else ""


def stands_for(template: Template, against: Spelled) -> bool:
    """Say whether `template` can have become this URI."""
    if not against.uri.startswith(template.head):
        return False
    reached = 1 << len(template.head)
    for part in template.parts:
        if isinstance(part, str):
            reached = _through(reached, part, against)
        else:
            reached = _through_run(reached, part, against)
        if not reached:
            return False
    return bool(reached >> len(against.uri) & 1)


def _run(inside: str) -> Run:
    found = _EXPRESSION.fullmatch(inside)
    if found is None or found["variables"][0] in _RESERVED_OPERATORS:
        raise InvalidTemplate("has an expression that names nothing")
    operator, variables = found["operator"], found["variables"]
    if not all(variable.strip("*") for variable in variables.split(",")):
        raise InvalidTemplate("has an expression that names nothing")
    if operator == "/" and ("," in variables or variables.endswith("*")):
        return _SEGMENTS
    return _RUNS[operator]


def _through(reached: int, literal: str, against: Spelled) -> int:
    for character in literal:
        if not reached:
            break
        reached = (reached & against.places.get(character, 0)) << 1
    return reached


def _through_run(reached: int, run: Run, against: Spelled) -> int:
    inside = (1 << len(against.uri)) - 1
    for stop in run.stops:
        inside &= ~against.places.get(stop, 0)
    begun = _through(reached, run.opening, against)
    starts = begun & inside
    # An addition carries from each start to the end of its stretch.
    stretched = ((starts + inside) ^ inside) | starts
    return reached | begun | (stretched & inside) << 1
