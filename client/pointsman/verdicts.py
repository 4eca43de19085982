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
from pointsman_contract.view import ViewMeta
from pointsman_operator import fields, manifests, spec, viewspec
from pointsman_operator.fields import UnknownField
from pointsman_operator.spec import Identity, Server
from pointsman_operator.specerror import SpecError
from pointsman_operator.viewspec import View

_KINDS = (labels.KIND, labels.VIEW_KIND)
_LISTS = frozenset(["List", *(f"{kind}List" for kind in _KINDS)])
# Where quotes around a word would not make it right.
_NO_FREE_TEXT = frozenset(
    [
        *("spec.expose", "spec.protocol", "spec.timeoutSeconds", "spec.suspend"),
        *("spec.service.port", "spec.tools[].hide", "spec.names", "spec.discovery"),
        "spec.servers.selector.matchExpressions[].operator",
    ]
)
# Where the fields of one place are looked for when they are found in another.
_METADATA = {"name": "metadata", "namespace": "metadata"}
_ELSEWHERE = {
    **_METADATA,
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
_ELSEWHERE_IN_VIEWS = {
    **_METADATA,
    **dict.fromkeys(("discovery", "names", "servers", "tools"), "spec"),
    "selector": "spec.servers",
    **dict.fromkeys(("matchExpressions", "matchLabels"), "spec.servers.selector"),
    **dict.fromkeys(("key", "operator", "values"), "spec.servers.selector.matchExpressions[]"),
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
    """The identity, where it can be told and is a server's."""
    view: str | None = None
    """The identity, where it can be told and is a view's."""
    identity: Identity | None = None
    """Whichever of both it is."""
    labels: Mapping[str, str] = field(default_factory=dict)
    accepted: Server | None = None
    wish: View | None = None
    """The view that is asked for."""
    published: ViewMeta | None = None
    """What that comes to among the other files."""
    missing: tuple[str, ...] = ()
    """Its servers that no file describes."""
    complaints: tuple[Complaint, ...] = ()
    document: Document = field(default=Document(None, 1), compare=False, repr=False)
    path: FieldPath = field(default=(), compare=False, repr=False)
    """Where in its document the resource begins."""

    @property
    def subject(self) -> str | None:
        """What it is about, as people call it."""
        return self.server or (self.view and f"view {self.view}")

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
        complaints = (*self.complaints, complaint)
        return replace(self, accepted=None, wish=None, published=None, complaints=complaints)


def of_document(file: str, document: Document) -> Iterator[Verdict]:
    """Yield what becomes of each resource of `document`, as if it were the only one."""
    for path, body in _resources(document):
        verdict = Verdict(file, document.line_of(path), document=document, path=path)
        yield _judged(_identified(verdict, body), body)


def _resources(document: Document) -> Iterator[tuple[FieldPath, JSON]]:
    value = document.value
    kind = value.get("kind") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(kind, str) and kind in _LISTS:
        items = value.get("items")
        for at, item in enumerate(items if isinstance(items, list) else ()):
            yield ("items", at), item
    else:
        yield (), value


def _identified(verdict: Verdict, body: JSON) -> Verdict:
    if not isinstance(body, dict) or body.get("kind") not in _KINDS:
        return verdict
    try:
        identity = spec.identify(body)
    except SpecError:
        return verdict
    if body["kind"] == labels.VIEW_KIND:
        return replace(verdict, view=identity.id, identity=identity)
    metadata = body["metadata"]
    given = metadata.get("labels") if isinstance(metadata, dict) else None
    its_labels = given.items() if isinstance(given, dict) else ()
    texts = {key: text for key, text in its_labels if isinstance(text, str)}
    return replace(verdict, server=identity.id, identity=identity, labels=texts)


def _judged(verdict: Verdict, body: JSON) -> Verdict:
    if not isinstance(body, dict):
        message = "a resource must be an object with apiVersion, kind, metadata and spec"
        return verdict.refused(Outcome.INVALID_SPEC, "", message)
    for refusal in _wrong_kind(body):
        verdict = verdict.refused(*refusal)
    if verdict.complaints:
        return verdict
    is_view = body.get("kind") == labels.VIEW_KIND
    try:
        verdict = _accepted_view(verdict, body) if is_view else _accepted(verdict, body)
    except SpecError as error:
        word = verdict.document.words.get((*verdict.path, *error.steps))
        message = error.message + _hint(error.field, word)
        verdict = verdict.refused(Outcome(error.reason), error.field, message, error.steps)
    except manifests.TooLarge as error:
        verdict = verdict.refused(Outcome.TOO_LARGE, error.field, str(error))
    elsewhere = _ELSEWHERE_IN_VIEWS if is_view else _ELSEWHERE
    for unknown in viewspec.unknown_fields(body) if is_view else fields.unknown_fields(body):
        message = f"{unknown.path} is no field: {_instead(unknown, elsewhere)}"
        verdict = verdict.refused(Outcome.INVALID_SPEC, unknown.path, message, unknown.steps)
    return verdict


def _accepted(verdict: Verdict, body: Mapping[str, JSON]) -> Verdict:
    server = spec.parse(body)
    manifests.document_of(server)
    return replace(verdict, accepted=server)


def _accepted_view(verdict: Verdict, body: Mapping[str, JSON]) -> Verdict:
    return replace(verdict, wish=viewspec.parse(body))


def _wrong_kind(body: Mapping[str, JSON]) -> Iterator[tuple[Outcome, str, str]]:
    version, kind = body.get("apiVersion"), body.get("kind")
    group = version.partition("/")[0] if isinstance(version, str) else None
    is_meant = kind in _KINDS or group == labels.GROUP
    if isinstance(version, str) and isinstance(kind, str) and not is_meant:
        yield Outcome.OTHER_KIND, "kind", f"a {kind} of {version} is not judged here"
        return
    if version != spec.API_VERSION:
        yield Outcome.INVALID_SPEC, "apiVersion", f"apiVersion must be {spec.API_VERSION}"
    if kind not in _KINDS:
        yield Outcome.INVALID_SPEC, "kind", f"kind must be {' or '.join(_KINDS)}"


def _hint(field: str, word: str | None) -> str:
    """Say what YAML makes of a word without quotes where a string was meant."""
    if word is None or _PLACE_IN_LIST.sub("[]", field) in _NO_FREE_TEXT:
        return ""
    if field == "spec.definitions.policy" and word not in set(Policy):
        return ""
    return f' (without quotes, {word} is no string: write "{word}")'


def _instead(unknown: UnknownField, elsewhere: Mapping[str, str]) -> str:
    name, spelled = unknown.name, {field.lower(): field for field in unknown.known}
    place = elsewhere.get(name)
    if place and place != unknown.parent:
        return f"{name} belongs under {place}"
    near = difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=_NEAR)
    if near:
        return f"did you mean {spelled[near[0]]}?"
    return f"known here are {', '.join(sorted(unknown.known))}"
