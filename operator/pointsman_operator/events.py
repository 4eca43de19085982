"""Which transitions of a resource's status people want to be told of, and in which words."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import labels
from pointsman_contract.report import ToolReason, printable
from pointsman_operator.conditions import Acceptance, Publication
from pointsman_operator.consensus import ONLY_BEGAN, Readiness
from pointsman_operator.spec import Identity
from pointsman_operator.status import Condition, ConditionType, Status, Truth

REPORTING_CONTROLLER = f"{labels.GROUP}/operator"
# What the API server takes of a note, and of the name of whoever reports.
NOTE_MAX_BYTES = 1024
INSTANCE_MAX_LENGTH = 128
# More names than these are counted: the status has them all.
NAMED_MAX = 3


class EventReason(StrEnum):
    """What happened to the resource, in one word."""

    PUBLISHED = "Published"
    READY = "Ready"
    NOT_READY = "NotReady"
    DEFINITION_CHANGED = "DefinitionChanged"
    PREFIX_CONFLICT = "PrefixConflict"


Definition = tuple[str, str | None]
"""A definition that is not approved: its tool's name, and its digest."""

_GOOD = frozenset([EventReason.PUBLISHED, EventReason.READY])
# What the operator was doing when it found out.
_ACTIONS = {
    EventReason.PUBLISHED: "Publish",
    EventReason.READY: "AskRouters",
    EventReason.NOT_READY: "AskRouters",
    EventReason.DEFINITION_CHANGED: "AskRouters",
    EventReason.PREFIX_CONFLICT: "Arbitrate",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One transition, told to people."""

    reason: EventReason
    note: str


def between(previous: Status, new: Status, told: Collection[Definition] = ()) -> tuple[Event, ...]:
    """Return what there is to tell when a resource's status becomes `new`.

    `told`: definitions of which people were told before.

    | the status                                                | is told as        |
    |-----------------------------------------------------------|-------------------|
    | another server has the prefix                             | PrefixConflict    |
    | the ConfigMap carries a generation that it had not        | Published         |
    | a definition that nobody approved, changed or never seen  | DefinitionChanged |
    | Ready becomes true                                        | Ready             |
    | Ready is not true, for a new reason that may last         | NotReady          |
    """
    return tuple(_all(previous, new, told))


def unapproved(status: Status) -> frozenset[Definition]:
    """Return the definitions that a status says nobody approved."""
    return frozenset(_unapproved(status))


def body_of(event: Event, identity: Identity, *, instance: str, at: str) -> Mapping[str, object]:
    """Return the Event as the API server takes it.

    `at`: when it was found out (RFC 3339, with microseconds). `instance`: which operator did.
    """
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": f"{identity.name}-", "namespace": identity.namespace},
        "eventTime": at,
        "reportingController": REPORTING_CONTROLLER,
        "reportingInstance": instance[:INSTANCE_MAX_LENGTH],
        "action": _ACTIONS[event.reason],
        "reason": str(event.reason),
        "type": "Normal" if event.reason in _GOOD else "Warning",
        "regarding": {
            "apiVersion": f"{labels.GROUP}/{labels.VERSION}",
            "kind": labels.KIND,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
        },
        "note": _cut(event.note),
    }


def _all(previous: Status, new: Status, told: Collection[Definition]) -> Iterator[Event]:
    if _has_lost_its_prefix(new) and not _has_lost_its_prefix(previous):
        yield Event(EventReason.PREFIX_CONFLICT, _message(new.condition(ConditionType.ACCEPTED)))
    published = new.condition(ConditionType.PUBLISHED)
    if _is_true(published) and _published_generation(previous) != _published_generation(new):
        note = f"generation {published.generation if published else 0} is {_message(published)}"
        yield Event(EventReason.PUBLISHED, note)
    if changed := (unapproved(new) - unapproved(previous)).difference(told):
        ordered = [one for one in _unapproved(new) if one in changed]
        yield Event(EventReason.DEFINITION_CHANGED, _definitions(ordered, new))
    ready, before = new.condition(ConditionType.READY), previous.condition(ConditionType.READY)
    if _is_true(ready):
        if not _is_true(before):
            yield Event(EventReason.READY, _message(ready))
    elif not _has_lost_its_prefix(new) and (cause := _cause(new)) is not None:
        lost = _is_true(before)
        if lost or (_is_lasting(cause) and _why(previous) != _why(new)):
            yield Event(EventReason.NOT_READY, f"{cause.reason}: {cause.message}")


def _unapproved(status: Status) -> Iterator[Definition]:
    """Yield the same in the order of the status, which begins with what once was approved."""
    for remark in (*status.lists.flagged, *status.lists.skipped):
        if remark.reason == ToolReason.DEFINITION_CHANGED:
            yield remark.name, remark.digest


def _is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.truth is Truth.TRUE


def _message(condition: Condition | None) -> str:
    return condition.message if condition is not None else ""


def _has_lost_its_prefix(status: Status) -> bool:
    accepted = status.condition(ConditionType.ACCEPTED)
    return accepted is not None and accepted.reason == Acceptance.PREFIX_CONFLICT


def _published_generation(status: Status) -> int | None:
    published = status.condition(ConditionType.PUBLISHED)
    return published.generation if published is not None and _is_true(published) else None


def _why(status: Status) -> str | None:
    """Return in one word why a server is not ready; None where that may be about to change."""
    ready, cause = status.condition(ConditionType.READY), _cause(status)
    if ready is None or cause is None or not _is_lasting(cause):
        return None
    # Upstreams fail in turns in several ways, and each way is the same news.
    return ready.reason if cause.type is ConditionType.DISCOVERED else cause.reason


def _cause(status: Status) -> Condition | None:
    """Return what says why a server is not ready; None while routers only take it up."""
    ready = status.condition(ConditionType.READY)
    if ready is None or _is_true(ready):
        return None
    if ready.reason == Readiness.NOT_ACCEPTED:
        return status.condition(ConditionType.ACCEPTED)
    published = status.condition(ConditionType.PUBLISHED)
    if published is not None and published.reason in (Publication.FORBIDDEN, Publication.API_ERROR):
        return published
    discovered = status.condition(ConditionType.DISCOVERED)
    if ready.reason in (Readiness.NOT_DISCOVERED, Readiness.STALE) and discovered is not None:
        return discovered
    passes = ready.reason == Readiness.PROGRESSING or ready.message == ONLY_BEGAN
    return None if passes else ready


def _is_lasting(cause: Condition) -> bool:
    return cause.type is not ConditionType.DISCOVERED or cause.truth is not Truth.UNKNOWN


def _definitions(changed: list[Definition], new: Status) -> str:
    names = [printable(name) for name, _ in changed[:NAMED_MAX]]
    if len(changed) > NAMED_MAX:
        is_part = new.lists.skipped_truncated or new.lists.flagged_truncated
        names.append(f"{'at least ' if is_part else ''}{len(changed) - NAMED_MAX} more")
    left_out = {remark.name for remark in new.lists.skipped}
    outcome = "is left out" if changed[0][0] in left_out else "is served nevertheless"
    return (
        f"the definition of {', '.join(names)} is not approved, and {outcome}: read it, and have"
        " `pointsman approve` write the approval (spec.definitions.approved)"
    )


def _cut(note: str) -> str:
    spelled = note.encode()
    if len(spelled) <= NOTE_MAX_BYTES:
        return note
    return spelled[: NOTE_MAX_BYTES - len("…".encode())].decode(errors="ignore") + "…"
