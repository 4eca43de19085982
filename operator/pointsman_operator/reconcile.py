"""What has to be written so that the cluster is as one resource asks."""

from dataclasses import dataclass

from pointsman_contract import labels
from pointsman_contract.meta import Exposed
from pointsman_operator import conditions, manifests
from pointsman_operator.arbitration import Conflict
from pointsman_operator.conditions import Acceptance, Accepted, Outcome, Refused
from pointsman_operator.consensus import Consensus, Finding
from pointsman_operator.manifests import Manifest
from pointsman_operator.seen import ConfigMap, Resource
from pointsman_operator.spec import Server
from pointsman_operator.status import Counts, Status


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that a decision about one ConfigMap's name and its resource rests on."""

    resource: Resource | None
    """The resource that is published under this name; None if there is none."""
    conflict: Conflict | None
    """Who has its prefix instead."""
    observed: ConfigMap | None
    """What lies under the name."""
    publishes_living: bool
    """Whether the resource that the observed ConfigMap says it publishes exists."""
    consensus: Consensus | None
    """What the routers say; None while too few have been heard."""
    counts: Counts | None
    """How many routers serve the resource, once that has settled."""
    differs: bool
    """Whether what the routers show has differed for so long that it is no rollout."""
    failure: Finding | None
    """Why the ConfigMap could not be written."""
    namespace: str
    """Where ConfigMaps are written."""
    now: str
    """The time (RFC 3339)."""


@dataclass(frozen=True, slots=True)
class Create:
    """Nothing is there: write the ConfigMap."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Apply:
    """Ours is there and differs: make its fields right."""

    manifest: Manifest
    observed: ConfigMap


@dataclass(frozen=True, slots=True)
class Cleanse:
    """Ours is there with data that is not: make its fields right and take the others out."""

    manifest: Manifest
    observed: ConfigMap


@dataclass(frozen=True, slots=True)
class Replace:
    """What is there cannot become right: delete it, then write the ConfigMap."""

    manifest: Manifest
    observed: ConfigMap


@dataclass(frozen=True, slots=True)
class Remove:
    """What is there publishes what must not be published: delete it."""

    observed: ConfigMap


Write = Create | Apply | Cleanse | Replace | Remove


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, in this order."""

    write: Write | None
    status: Status | None
    """What the status then is; None where it is so already."""


def plan(situation: Situation) -> Plan:
    """Return what has to be written in `situation`: nothing, once it has been written."""
    outcome, manifest = _judge(situation)
    resource = situation.resource
    status = None
    if resource is not None and outcome is not None:
        status = conditions.compose(
            outcome,
            resource.status,
            generation=resource.identity.generation or 0,
            now=situation.now,
        )
    return Plan(
        write=_write(manifest, situation),
        status=None if resource is None or status == resource.status else status,
    )


def _judge(situation: Situation) -> tuple[Outcome | None, Manifest | None]:
    if situation.resource is None:
        return None, None
    match situation.resource.wish:
        case Refused() as refused:
            return refused, None
        case Server() as server:
            pass
    if situation.conflict is not None:
        return Refused(Acceptance.PREFIX_CONFLICT, situation.conflict.message), None
    manifest = manifests.manifest_of(server, namespace=situation.namespace)
    observed = situation.observed
    if observed is not None and not _is_removable(observed, situation):
        return Refused(Acceptance.NAME_CONFLICT, _name_conflict(manifest)), None
    accepted = Accepted(
        prefix=server.prefix,
        config_map=manifest.name,
        suspended=server.suspend,
        exposes_tools=Exposed.TOOLS in server.expose,
        allows_nothing=Exposed.TOOLS in server.expose and not server.allowed_tools,
        failure=situation.failure,
        consensus=situation.consensus,
        counts=situation.counts,
        differs=situation.differs,
    )
    return accepted, manifest


def _write(manifest: Manifest | None, situation: Situation) -> Write | None:
    observed = situation.observed
    if observed is None:
        return None if manifest is None else Create(manifest)
    if manifest is None:
        return Remove(observed) if _is_removable(observed, situation) else None
    if not _is_of(observed, situation) or observed.is_immutable:
        return Replace(manifest, observed)
    if observed.strangers or observed.binary_strangers:
        return Cleanse(manifest, observed)
    return None if _is_right(observed, manifest) else Apply(manifest, observed)


def _is_of(observed: ConfigMap, situation: Situation) -> bool:
    resource = situation.resource
    return resource is not None and observed.server_uid == resource.identity.uid


def _is_orphan(observed: ConfigMap, situation: Situation) -> bool:
    names_one = observed.is_labelled and bool(observed.server_uid)
    return names_one and not situation.publishes_living


def _is_removable(observed: ConfigMap, situation: Situation) -> bool:
    return _is_of(observed, situation) or _is_orphan(observed, situation)


def _is_right(observed: ConfigMap, manifest: Manifest) -> bool:
    return (
        observed.digest == manifest.digest
        and manifest.labels.items() <= observed.labels.items()
        and observed.annotations == manifest.annotations
        and (manifest.owner is None or manifest.owner["uid"] in observed.owners)
    )


def _name_conflict(manifest: Manifest) -> str:
    return (
        f"ConfigMap {manifest.name} in namespace {manifest.namespace} is somebody else's: delete"
        f" or rename it (it has no label {labels.SELECTOR} or no {labels.SERVER_UID} of a server"
        " of this cluster's past)"
    )
