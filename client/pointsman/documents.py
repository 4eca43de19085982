"""What a YAML file says, read as `kubectl` reads it, and on which line it says so."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pointsman_contract.strictjson import JSON, MAX_DEPTH

FieldPath: TypeAlias = tuple[str | int, ...]

# Some seven thousand resources, read in two seconds; a larger file is a mistake.
MAX_BYTES = 1024 * 1024
# A few aliases can unfold into more values than there is memory for.
MAX_VALUES = 500_000

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
_MERGE = "<<"
_READ_AS_PLAIN = frozenset(
    [_PLAIN, *(f"{_TAG}{kind}" for kind in ("bool", "int", "float", "null"))]
)

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"

# YAML 1.1, as kubectl has it: `on` and `y` are words for true, dates and 1:30 are strings.
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"])
_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)"
    r"|(?P<dec>0|[1-9][0-9]*))",
    re.ASCII,
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


class Unreadable(Exception):
    """The file as a whole says nothing; `line` says where it stopped making sense."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file."""

    value: JSON
    line: int
    lines: Mapping[FieldPath, int] = field(default_factory=dict, compare=False)
    """The line of each field that is there."""
    words: Mapping[FieldPath, str] = field(default_factory=dict, compare=False)
    """How each unquoted value that is no string was spelled: `on`, `1e3`."""

    def line_of(self, path: FieldPath) -> int:
        """Return the line of a field, or of the nearest one around it that is there."""
        for end in range(len(path), 0, -1):
            if (found := self.lines.get(path[:end])) is not None:
                return found
        return self.line


def read(data: bytes) -> tuple[Document, ...]:
    """Return the documents of a file, empty ones left out; raises Unreadable.

    A key that is there twice is refused: kubectl would silently take the last one.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(None, f"the file is larger than {MAX_BYTES // 1024**2} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Unreadable(data.count(b"\n", 0, exc.start) + 1, "not UTF-8") from None
    try:
        return tuple(
            document
            for node in _nodes(_untabbed(text))
            if (document := _document(node)).value is not None
        )
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        raise Unreadable(mark.line + 1 if mark else None, _complaint(exc)) from None
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise Unreadable(line, "a character that YAML does not allow") from None
    except RecursionError:
        raise Unreadable(None, _TOO_DEEP) from None


def scalar(text: str) -> JSON:
    """Return what an unquoted word means; raises ValueError for a number that JSON cannot hold."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(text)
    digits = text.replace("_", "")
    if found := _INTEGER.fullmatch(digits):
        kind = found.lastgroup or "dec"
        return int(found["sign"] + found[kind], _BASES[kind])
    if not _FLOAT.fullmatch(digits):
        return text
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number) if number.is_integer() else number


class _Composer(yaml.SafeLoader):
    """The nodes of a text, with plain scalars marked as such."""

    def resolve(self, kind: type[Node], value: object, implicit: object) -> str:
        """Return the tag of a value that states none."""
        if kind is SequenceNode:
            return f"{_TAG}seq"
        if kind is MappingNode:
            return f"{_TAG}map"
        return _PLAIN if isinstance(implicit, tuple) and implicit[0] else f"{_TAG}str"


def _untabbed(text: str) -> str:
    """Return JSON without the tabs that may indent it: to YAML they are a mistake."""
    if "\t" not in text or not text.lstrip().startswith("{"):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    # Inside strings, JSON spells a tab otherwise.
    return text.replace("\t", " ")


def _nodes(text: str) -> Iterator[Node]:
    composer = _Composer(text)
    try:
        while composer.check_node():
            if (node := composer.get_node()) is not None:
                yield node
    finally:
        composer.dispose()


def _complaint(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    column = f" (column {mark.column + 1})" if mark else ""
    return f"not YAML: {error.problem or error.context}{column}"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _document(node: Node) -> Document:
    reader = _Reader()
    value = reader.value(node, ())
    return Document(value, node.start_mark.line + 1, reader.lines, reader.words)


def _key(node: Node, line: int) -> str:
    """Return the name that a key gives; raises Unreadable where kubectl would give another."""
    if not isinstance(node, ScalarNode):
        raise Unreadable(line, "a key that is no string")
    name = str(node.value)
    if node.tag != _PLAIN:
        return name
    try:
        value = scalar(name)
    except ValueError:
        value = None
    if isinstance(value, str) or (value is not None and json.dumps(value) == name):
        return name
    raise Unreadable(line, f'the key {name} is no string without quotes: write "{name}"')


class _Reader:
    """One walk over the nodes of a document."""

    def __init__(self) -> None:
        self.lines: dict[FieldPath, int] = {}
        self.words: dict[FieldPath, str] = {}
        self._values = 0

    def value(self, node: Node, path: FieldPath) -> JSON:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._values += 1
        if self._values > MAX_VALUES:
            raise Unreadable(line, f"more than {MAX_VALUES} values in one document")
        if len(path) > MAX_DEPTH:
            raise Unreadable(line, _TOO_DEEP)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, at)) for at, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: FieldPath) -> dict[str, JSON]:
        result: dict[str, JSON] = {}
        inherited: dict[str, JSON] = {}
        for key, item in node.value:
            line = key.start_mark.line + 1
            name = _key(key, line)
            if name in result:
                first = self.lines[*path, name]
                raise Unreadable(line, f"the key {name} is there twice, first on line {first}")
            self.lines[*path, name] = line
            value = self.value(item, (*path, name))
            if key.tag != _PLAIN or name != _MERGE:
                result[name] = value
            elif isinstance(value, dict):
                inherited = value
            else:
                raise Unreadable(line, f"{_MERGE} takes one mapping")
        return inherited | result

    def _scalar(self, node: Node, path: FieldPath) -> JSON:
        line = node.start_mark.line + 1
        text = str(node.value)
        if not _is_encodable(text):
            raise Unreadable(line, "half of a surrogate pair: write the character itself")
        if node.tag == f"{_TAG}str":
            return text
        if node.tag not in _READ_AS_PLAIN:
            raise Unreadable(line, f"the tag {node.tag} means nothing here: leave it out")
        try:
            value = scalar(text)
        except ValueError:
            raise Unreadable(line, f"{text} is no number that JSON can hold: quote it") from None
        if not isinstance(value, str):
            self.words[path] = text
        return value
