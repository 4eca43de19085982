"""What a resource's status says, given what came of it and what was said before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pointsman_contract.report import ServerReason, ServerReport, ViewReport
from pointsman_operator import budget
from pointsman_operator.consensus import Consensus, Finding, Readiness, remaining
from pointsman_operator.statement import Statement, lingering
from pointsman_operator.status import Condition, ConditionType, Counts, Lists, Status, Truth


class Acceptance(StrEnum):
    """Why a resource is accepted, or is not."""

    ACCEPTED = "Accepted"
    INVALID_URL = "InvalidUrl"
    INVALID_SPEC = "InvalidSpec"
    PREFIX_CONFLICT = "PrefixConflict"
    NAME_CONFLICT = "NameConflict"
    TOO_LARGE = "TooLarge"


class Publication(StrEnum):
    """Whether the ConfigMap carries the resource's generation, and why not."""

    PUBLISHED = "Published"
    NOT_ACCEPTED = "NotAccepted"
    FORBIDDEN = "Forbidden"
    API_ERROR = "ApiError"


# Reasons of Ready whose message is a router's, and may quote an upstream.
_TOLD_BY_ROUTERS = frozenset([Readiness.NOT_DISCOVERED, Readiness.STALE])

# Shorter than what the CRD takes: a longer one would cost the resource its whole status.
MESSAGE_MAX_LENGTH = 1024


@dataclass(frozen=True, slots=True)
class Refused:
    """The resource is not accepted."""

    reason: Acceptance
    message: str
    consensus: Consensus | None = None
    """What the routers say nevertheless; None while too few have been heard."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The resource is accepted."""

    prefix: str
    config_map: str
    suspended: bool
    exposes_tools: bool
    """Whether tools are among what agents may see of it."""
    allows_nothing: bool
    failure: Finding | None
    """Why the ConfigMap does not carry this generation; None if it does."""
    consensus: Consensus | None
    """What the routers say; None while too few have been heard to say anything."""
    counts: Counts | None
    """How many routers serve it, once that has settled."""
    differs: bool = False
    """Whether what the routers show has differed for so long that it is no rollout."""


Outcome = Refused | Accepted


def compose(outcome: Outcome, previous: Status, *, generation: int, now: str) -> Status:
    """Return the status that `outcome` deserves; equal to `previous` where nothing changed.

    `now` (RFC 3339) is the time of what changed.
    """
    match outcome:
        case Refused():
            findings = _refused(outcome, previous)
            return Status(
                generation,
                _conditions(findings, previous, generation, now),
                lists=_left(outcome, previous),
            )
        case Accepted():
            lists = _lists(outcome, previous)
            findings = _findings(outcome, previous, lists)
            published = outcome.failure is None
            return Status(
                generation=generation,
                conditions=_conditions(findings, previous, generation, now),
                prefix=outcome.prefix,
                config_map=outcome.config_map if published else previous.config_map,
                lists=lists,
                routers=outcome.counts or previous.routers,
            )


def _refused(refused: Refused, previous: Status) -> dict[ConditionType, Finding | None]:
    no = Finding(Truth.FALSE, Publication.NOT_ACCEPTED, "the server is not accepted")
    serving = None if refused.consensus is None else refused.consensus.serving
    return {
        ConditionType.ACCEPTED: Finding(Truth.FALSE, refused.reason, refused.message),
        ConditionType.PUBLISHED: no,
        ConditionType.DISCOVERED: no,
        ConditionType.READY: still_served(no, serving, previous.condition(ConditionType.READY)),
    }


def still_served(
    no: Finding,
    serving: Sequence[Statement[ServerReport]] | Sequence[Statement[ViewReport]] | None,
    before: Condition | None,
) -> Finding:
    """Return `no`, and which routers are `serving` nevertheless.

    None: too few have been heard, and what was said of them before stays.
    """
    if serving:
        return replace(no, message=f"{no.message}, but {lingering(serving)}")
    if serving is None and before is not None and before.reason == no.reason:
        return replace(no, message=before.message)
    return no


def _left(refused: Refused, previous: Status) -> Lists:
    """Return what agents see of a server that is not accepted: nothing, once routers know."""
    if refused.consensus is not None:
        return remaining(refused.consensus.serving)
    before = previous.condition(ConditionType.READY)
    return previous.lists if before and before.reason == Publication.NOT_ACCEPTED else Lists()


def is_reworded(before: Status, after: Status) -> bool:
    """Say whether `after` says what `before` did, in other words of the routers.

    An upstream may put a time or a request's number into its error, so that the words alone are
    new in each listing: they are not worth a write each.
    """
    return before != after and _without_words(before) == _without_words(after)


def _without_words(said: Status) -> Status:
    return replace(
        said,
        conditions=tuple(
            replace(one, message="")
            if one.type is ConditionType.DISCOVERED or one.reason in _TOLD_BY_ROUTERS
            else one
            for one in said.conditions
        ),
    )


def _lists(accepted: Accepted, previous: Status) -> Lists:
    consensus = accepted.consensus
    is_taken_up = consensus is not None and consensus.ready.reason == Readiness.PROGRESSING
    if consensus is not None and _offers_nothing(accepted) and is_taken_up:
        return remaining(consensus.outdated)
    if consensus is None or consensus.lists is None or _passing(accepted, previous):
        return previous.lists
    return consensus.lists


def _passing(accepted: Accepted, previous: Status) -> Finding | None:
    """Return what is said of a server on which routers differ only since a moment ago.

    One learns of a change before the other: what was so for all of them stays said meanwhile.
    """
    consensus, before = accepted.consensus, previous.condition(ConditionType.READY)
    if consensus is None or consensus.difference is None or accepted.differs:
        return None
    if _offers_nothing(accepted):
        return None
    if before is None or before.truth is not Truth.TRUE:
        return None
    return Finding(before.truth, before.reason, before.message)


def _offers_nothing(accepted: Accepted) -> bool:
    """Say whether the spec alone decides that no tool is offered."""
    return accepted.suspended or accepted.allows_nothing


def _findings(
    accepted: Accepted, previous: Status, lists: Lists
) -> dict[ConditionType, Finding | None]:
    consensus = accepted.consensus
    ready = _passing(accepted, previous) or _ready(accepted, lists)
    return {
        ConditionType.ACCEPTED: Finding(
            Truth.TRUE,
            Acceptance.ACCEPTED,
            f"the spec is valid, and prefix {accepted.prefix} is the server's own",
        ),
        ConditionType.PUBLISHED: accepted.failure
        or Finding(
            Truth.TRUE, Publication.PUBLISHED, f"published as ConfigMap {accepted.config_map}"
        ),
        ConditionType.DISCOVERED: _discovered(consensus, previous) if consensus else None,
        ConditionType.READY: ready,
    }


def _discovered(consensus: Consensus, previous: Status) -> Finding | None:
    if consensus.discovered is not None:
        return consensus.discovered
    before = previous.condition(ConditionType.DISCOVERED)
    if before is not None and before.reason != Publication.NOT_ACCEPTED:
        return None
    return Finding(Truth.UNKNOWN, ServerReason.PENDING, "no router has looked at it yet")


def _ready(accepted: Accepted, lists: Lists) -> Finding | None:
    consensus = accepted.consensus
    if consensus is None:
        return None
    if _offers_nothing(accepted) and consensus.outdated:
        # Who suspends a server in an emergency must not be told that it is done before it is.
        cause = "spec.suspend is true" if accepted.suspended else "spec.allowedTools allows none"
        message = f"{cause}, but {lingering(consensus.outdated)}"
        return Finding(Truth.FALSE, Readiness.PROGRESSING, message)
    # What the spec alone decides is not left to routers to find out.
    if accepted.suspended:
        return Finding(Truth.FALSE, Readiness.SUSPENDED, "spec.suspend is true: no tool is offered")
    if accepted.allows_nothing:
        return Finding(
            Truth.FALSE,
            Readiness.NO_TOOLS_ALLOWED,
            'spec.allowedTools allows none: name tools, or allow every tool with ["*"]',
        )
    said = consensus.ready
    if said.reason == Readiness.NO_TOOLS and not accepted.exposes_tools:
        return Finding(Truth.TRUE, Readiness.READY, "agents can use what spec.expose names")
    if said.truth is not Truth.TRUE:
        return said
    difference = consensus.difference and f"routers differ: {consensus.difference}"
    if not lists.tool_count:
        message = _joined("no tool is the same on every router", difference)
        return Finding(Truth.FALSE, Readiness.NO_TOOLS, message)
    told = difference if accepted.differs else None
    message = _joined(said.message, told, budget.warning(lists.tool_count))
    return Finding(said.truth, said.reason, message)


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)


def _conditions(
    findings: Mapping[ConditionType, Finding | None],
    previous: Status,
    generation: int,
    now: str,
) -> tuple[Condition, ...]:
    return tuple(
        condition
        for kind, finding in findings.items()
        if (condition := restated(kind, finding, previous.condition(kind), generation, now))
    )


def restated(
    kind: ConditionType,
    finding: Finding | None,
    before: Condition | None,
    generation: int,
    now: str,
) -> Condition | None:
    """Return the condition that `finding` makes; where it is None, the one before stands."""
    if finding is None:
        return before
    flipped = before is None or before.truth is not finding.truth or not before.since
    return Condition(
        type=kind,
        truth=finding.truth,
        reason=str(finding.reason),
        message=finding.message[:MESSAGE_MAX_LENGTH],
        generation=generation,
        since=now if flipped or before is None else before.since,
    )
