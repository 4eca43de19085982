"""What has to be written so that the cluster is as one view asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pointsman_contract.report import ViewReport
from pointsman_contract.view import EVERYTHING, ViewMeta
from pointsman_operator import conditions, reconcile, viewconsensus, viewmanifests
from pointsman_operator.conditions import Acceptance, Publication, Refused
from pointsman_operator.consensus import Finding
from pointsman_operator.labelselector import LabelSelector
from pointsman_operator.manifests import Manifest
from pointsman_operator.reconcile import Place, Write
from pointsman_operator.seen import ConfigMap, ViewResource
from pointsman_operator.statement import Statement, lingering
from pointsman_operator.status import Condition, ConditionType, Truth
from pointsman_operator.viewconsensus import ViewConsensus, ViewReadiness, reach
from pointsman_operator.viewspec import View
from pointsman_operator.viewstatus import Content, ViewStatus


@dataclass(frozen=True, slots=True)
class ViewSituation:
    """Everything that a decision about one ConfigMap's name and its view rests on."""

    resource: ViewResource | None
    """The view that is published under this name; None if there is none."""
    neighbours: Mapping[str, Mapping[str, str]]
    """The labels of every McpServer of its namespace, by name."""
    observed: ConfigMap | None
    """What lies under the name."""
    publishes_living: bool
    """Whether the resource that the observed ConfigMap says it publishes exists."""
    statements: Sequence[Statement[ViewReport]] | None
    """What the routers say; None while too few have been heard."""
    lasts: bool
    """Whether what routers say has been unsettled for so long that it is no rollout."""
    failure: Finding | None
    """Why the ConfigMap could not be written."""
    namespace: str
    """Where ConfigMaps are written."""
    now: str
    """The time (RFC 3339)."""


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """What to write, in this order."""

    write: Write | None
    status: ViewStatus | None
    """What the status then is; None where it is so already."""
    is_unsettled: bool = False
    """Whether the routers take something up, or differ: if that lasts, more is to be said."""


@dataclass(frozen=True, slots=True)
class _Accepted:
    """What a view that is accepted publishes."""

    wish: View
    published: ViewMeta
    manifest: Manifest


def servers_of(view: View, neighbours: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Return the names of the servers that a view takes; sorted."""
    if not isinstance(view.servers, LabelSelector):
        return view.servers
    return tuple(sorted(name for name, its in neighbours.items() if view.selects(its)))


def plan(situation: ViewSituation) -> ViewPlan:
    """Return what has to be written in `situation`: nothing, once it has been written."""
    resource = situation.resource
    if resource is None:
        return ViewPlan(reconcile.to_write(None, _place(situation)), None)
    outcome = _judge(situation, resource)
    manifest = outcome.manifest if isinstance(outcome, _Accepted) else None
    consensus = None
    if isinstance(outcome, _Accepted) and situation.statements is not None:
        consensus = reach(outcome.published, situation.statements)
    status = _status(outcome, consensus, resource, situation)
    return ViewPlan(
        write=reconcile.to_write(manifest, _place(situation)),
        status=None if status == resource.status else status,
        is_unsettled=consensus is not None
        and (consensus.follows or consensus.difference is not None),
    )


def _judge(situation: ViewSituation, resource: ViewResource) -> Refused | _Accepted:
    wish = resource.wish
    if isinstance(wish, Refused):
        return wish
    try:
        published = viewmanifests.meta_of(wish, servers_of(wish, situation.neighbours))
        manifest = viewmanifests.manifest_of(published, namespace=situation.namespace)
    except viewmanifests.ViewTooLarge as exc:
        return Refused(Acceptance.TOO_LARGE, str(exc))
    if _place(situation).is_foreign:
        return Refused(Acceptance.NAME_CONFLICT, reconcile.name_conflict(manifest))
    return _Accepted(wish, published, manifest)


def _place(situation: ViewSituation) -> Place:
    resource = situation.resource
    return Place(
        observed=situation.observed,
        publishes_living=situation.publishes_living,
        uid=None if resource is None else resource.identity.uid,
    )


def _status(
    outcome: Refused | _Accepted,
    consensus: ViewConsensus | None,
    resource: ViewResource,
    situation: ViewSituation,
) -> ViewStatus:
    previous = resource.status
    before = {condition.type: condition for condition in previous.conditions}
    said = before.get(ConditionType.READY)
    serving = None
    if situation.statements is not None:
        serving = viewconsensus.serving(situation.statements)
    generation = resource.identity.generation or 0
    if isinstance(outcome, Refused):
        findings = _refused(outcome, serving, said)
    else:
        ready = _ready(outcome, consensus, said, generation, situation.lasts)
        findings = _findings(outcome, ready, situation.failure)
    stated = tuple(
        condition
        for kind, finding in findings.items()
        if (
            condition := conditions.restated(
                kind, finding, before.get(kind), generation, situation.now
            )
        )
    )
    if isinstance(outcome, Refused):
        content = _left(serving, previous, said)
        return ViewStatus(generation, stated, content=content)
    is_published = situation.failure is None
    return ViewStatus(
        generation=generation,
        conditions=stated,
        config_map=outcome.manifest.name if is_published else previous.config_map,
        server_count=len(outcome.published.servers),
        content=_content(outcome, consensus, findings[ConditionType.READY]) or previous.content,
    )


def _refused(
    refused: Refused, serving: Sequence[Statement[ViewReport]] | None, before: Condition | None
) -> dict[ConditionType, Finding | None]:
    no = Finding(Truth.FALSE, Publication.NOT_ACCEPTED, "the view is not accepted")
    return {
        ConditionType.ACCEPTED: Finding(Truth.FALSE, refused.reason, refused.message),
        ConditionType.PUBLISHED: no,
        ConditionType.READY: conditions.still_served(no, serving, before),
    }


def _left(
    serving: Sequence[Statement[ViewReport]] | None, previous: ViewStatus, before: Condition | None
) -> Content:
    """Return what agents find in a view that is not accepted: nothing, once routers know."""
    if serving is not None:
        return viewconsensus.remaining(serving)
    is_known = before is not None and before.reason == Publication.NOT_ACCEPTED
    return previous.content if is_known else Content()


def _findings(
    accepted: _Accepted, ready: Finding | None, failure: Finding | None
) -> dict[ConditionType, Finding | None]:
    done = f"published as ConfigMap {accepted.manifest.name}"
    return {
        ConditionType.ACCEPTED: Finding(Truth.TRUE, Acceptance.ACCEPTED, "the spec is valid"),
        ConditionType.PUBLISHED: failure or Finding(Truth.TRUE, Publication.PUBLISHED, done),
        ConditionType.READY: ready,
    }


def _content(
    accepted: _Accepted, consensus: ViewConsensus | None, ready: Finding | None
) -> Content | None:
    """Return what agents find in a view; None where that is what was said before."""
    if consensus is None:
        return None
    is_taken_up = consensus.ready.reason == ViewReadiness.PROGRESSING
    if is_taken_up and ready is not None and _empty(accepted) is not None:
        return viewconsensus.remaining(consensus.outdated)
    return consensus.content


# What was said of a view's tools is left while its routers take up which servers it has now.
_LEFT = frozenset([ViewReadiness.READY, ViewReadiness.NO_TOOLS, ViewReadiness.NOT_SERVED])


def _ready(
    accepted: _Accepted,
    consensus: ViewConsensus | None,
    before: Condition | None,
    generation: int,
    lasts: bool,
) -> Finding | None:
    empty = _empty(accepted)
    said = before.reason if before is not None and before.generation == generation else None
    if consensus is None:
        return empty if said is None else None
    if empty is not None and not consensus.outdated:
        return empty
    if consensus.follows and said in _LEFT and not lasts:
        return None
    if empty is not None:
        message = f"{lingering(consensus.outdated)}; {empty.message}"
        return Finding(Truth.FALSE, ViewReadiness.PROGRESSING, message)
    if consensus.difference is None or not lasts:
        return consensus.ready
    message = f"{consensus.ready.message}; routers differ: {consensus.difference}"
    return replace(consensus.ready, message=message)


def _empty(accepted: _Accepted) -> Finding | None:
    """Say why there can be no tool, where what is published decides that by itself."""
    if not accepted.published.servers:
        message = (
            "spec.servers.selector takes no McpServer of the view's namespace"
            if isinstance(accepted.wish.servers, LabelSelector)
            else "spec.servers.names is empty: name McpServers of the view's namespace"
        )
        return Finding(Truth.FALSE, ViewReadiness.NO_SERVERS, message)
    if not accepted.published.tools:
        return Finding(
            Truth.FALSE,
            ViewReadiness.NO_TOOLS,
            "spec.tools is empty: name tools by their exposed names, also where spec.names is Bare,"
            f' or take every tool of its servers with ["{EVERYTHING}"]',
        )
    return None
