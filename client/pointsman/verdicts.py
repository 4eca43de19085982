"""What is wrong with one resource of a file, on which line, and what to write instead."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from pointsman.documents import Document, FieldPath
from pointsman_contract import labels
from pointsman_contract.meta import Policy
from pointsman_contract.strictjson import JSON
from pointsman_operator import fields, manifests, spec
from pointsman_operator.fields import UnknownField
from pointsman_operator.spec import Server
from pointsman_operator.specerror import SpecError

_LISTS = frozenset(["List", f"{labels.KIND}List"])
# Where quotes around a word would not make it right.
_NO_FREE_TEXT = frozenset(
    [
        *("spec.expose", "spec.protocol", "spec.timeoutSeconds", "spec.suspend"),
        *("spec.service.port", "spec.tools[].hide"),
    ]
)
# Where the fields of one place are looked for when they are found in another.
_ELSEWHERE = {
    "name": "metadata",
    "namespace": "metadata",
    **dict.fromkeys(
        (
            *("allowedTools", "definitions", "expose", "prefix", "protocol", "service"),
            *("suspend", "timeoutSeconds", "tools", "url"),
        ),
        "spec",
    ),
    **dict.fromkeys(("approved", "policy"), "spec.definitions"),
    **dict.fromkeys(("path", "port"), "spec.service"),
    **dict.fromkeys(("description", "hide", "title"), "spec.tools[]"),
}
# How alike two field names must be for one to be taken for the other.
_NEAR = 0.5
_PLACE_IN_LIST = re.compile(r"\[[0-9]+\]")


class Outcome(StrEnum):
    """What becomes of a resource: the operator's reasons, and what only files can be."""

    ACCEPTED = "Accepted"
    INVALID_URL = "InvalidUrl"
    INVALID_SPEC = "InvalidSpec"
    PREFIX_CONFLICT = "PrefixConflict"
    TOO_LARGE = "TooLarge"
    DUPLICATE = "Duplicate"
    UNREADABLE = "Unreadable"
    OTHER_KIND = "OtherKind"
    """Not ours to judge."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that has to change."""

    outcome: Outcome
    message: str
    field: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one resource, or of a file that cannot be read."""

    file: str
    line: int | None
    server: str | None = None
    """The identity, where it can be told."""
    accepted: Server | None = None
    complaints: tuple[Complaint, ...] = ()
    document: Document = field(default=Document(None, 1), compare=False, repr=False)
    path: FieldPath = field(default=(), compare=False, repr=False)
    """Where in its document the resource begins."""

    @property
    def outcome(self) -> Outcome:
        """What becomes of it, by the first complaint."""
        return self.complaints[0].outcome if self.complaints else Outcome.ACCEPTED

    @property
    def is_wrong(self) -> bool:
        """Whether anybody has to change something."""
        return self.outcome not in (Outcome.ACCEPTED, Outcome.OTHER_KIND)

    def refused(
        self, outcome: Outcome, field: str, message: str, steps: FieldPath | None = None
    ) -> Self:
        """Return this verdict with one more complaint, about a field like `spec.tools[0].title`.

        `steps` lead there where the names in `field` may hold what parts one from the next.
        """
        steps = fields.steps_of(field) if steps is None else steps
        line = self.document.line_of((*self.path, *steps))
        complaint = Complaint(outcome, message, field or None, line)
        return replace(self, accepted=None, complaints=(*self.complaints, complaint))


def of_document(file: str, document: Document) -> Iterator[Verdict]:
    """Yield what becomes of each resource of `document`, as if it were the only one."""
    for path, body in _resources(document):
        verdict = Verdict(
            file, document.line_of(path), _identity(body), document=document, path=path
        )
        yield _judged(verdict, body)


def _resources(document: Document) -> Iterator[tuple[FieldPath, JSON]]:
    value = document.value
    if isinstance(value, dict) and value.get("kind") in _LISTS:
        items = value.get("items")
        for at, item in enumerate(items if isinstance(items, list) else ()):
            yield ("items", at), item
    else:
        yield (), value


def _identity(body: JSON) -> str | None:
    if not isinstance(body, dict) or body.get("kind") != labels.KIND:
        return None
    try:
        return spec.identify(body).id
    except SpecError:
        return None


def _judged(verdict: Verdict, body: JSON) -> Verdict:
    if not isinstance(body, dict):
        message = "a resource must be an object with apiVersion, kind, metadata and spec"
        return verdict.refused(Outcome.INVALID_SPEC, "", message)
    for refusal in _wrong_kind(body):
        verdict = verdict.refused(*refusal)
    if verdict.complaints:
        return verdict
    try:
        server = spec.parse(body)
        manifests.document_of(server)
        verdict = replace(verdict, accepted=server)
    except SpecError as error:
        word = verdict.document.words.get((*verdict.path, *error.steps))
        message = error.message + _hint(error.field, word)
        verdict = verdict.refused(Outcome(error.reason), error.field, message, error.steps)
    except manifests.TooLarge as error:
        verdict = verdict.refused(Outcome.TOO_LARGE, error.field, str(error))
    for unknown in fields.unknown_fields(body):
        message = f"{unknown.path} is no field: {_instead(unknown)}"
        verdict = verdict.refused(Outcome.INVALID_SPEC, unknown.path, message, unknown.steps)
    return verdict


def _wrong_kind(body: Mapping[str, JSON]) -> Iterator[tuple[Outcome, str, str]]:
    version, kind = body.get("apiVersion"), body.get("kind")
    group = version.partition("/")[0] if isinstance(version, str) else None
    is_meant = kind == labels.KIND or group == labels.GROUP
    if isinstance(version, str) and isinstance(kind, str) and not is_meant:
        yield Outcome.OTHER_KIND, "kind", f"a {kind} of {version} is not judged here"
        return
    if version != spec.API_VERSION:
        yield Outcome.INVALID_SPEC, "apiVersion", f"apiVersion must be {spec.API_VERSION}"
    if kind != labels.KIND:
        yield Outcome.INVALID_SPEC, "kind", f"kind must be {labels.KIND}"


def _hint(field: str, word: str | None) -> str:
    """Say what YAML makes of a word without quotes where a string was meant."""
    if word is None or _PLACE_IN_LIST.sub("[]", field) in _NO_FREE_TEXT:
        return ""
    if field == "spec.definitions.policy" and word not in set(Policy):
        return ""
    return f' (without quotes, {word} is no string: write "{word}")'


def _instead(unknown: UnknownField) -> str:
    name, spelled = unknown.name, {field.lower(): field for field in unknown.known}
    place = _ELSEWHERE.get(name)
    if place and place != unknown.parent:
        return f"{name} belongs under {place}"
    near = difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=_NEAR)
    if near:
        return f"did you mean {spelled[near[0]]}?"
    return f"known here are {', '.join(sorted(unknown.known))}"
