"""What has to be written so that the cluster is as one resource asks."""

from dataclasses import dataclass, replace

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
class Place:
    """What lies under a ConfigMap's name, and who is published there."""

    observed: ConfigMap | None
    publishes_living: bool
    """Whether the resource that it says it publishes exists."""
    uid: str | None
    """Of the resource that is published under the name; None if there is none."""

    @property
    def is_its_own(self) -> bool:
        """Whether what lies there publishes that very resource."""
        there = self.observed
        return there is not None and self.uid is not None and there.resource_uid == self.uid

    @property
    def is_foreign(self) -> bool:
        """Whether something lies there that is nobody's of ours, past or present."""
        there = self.observed
        if there is None or self.is_its_own:
            return False
        is_orphan = there.is_labelled and bool(there.resource_uid) and not self.publishes_living
        return not is_orphan


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
    if isinstance(outcome, Refused):
        outcome = replace(outcome, consensus=situation.consensus)
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
        write=to_write(manifest, _place(situation)),
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
    if _place(situation).is_foreign:
        return Refused(Acceptance.NAME_CONFLICT, name_conflict(manifest)), None
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


def _place(situation: Situation) -> Place:
    resource = situation.resource
    return Place(
        observed=situation.observed,
        publishes_living=situation.publishes_living,
        uid=None if resource is None else resource.identity.uid,
    )


def to_write(manifest: Manifest | None, place: Place) -> Write | None:
    """Return what makes `place` hold `manifest` (None: nothing), or None where it is so."""
    observed = place.observed
    if observed is None:
        return None if manifest is None else Create(manifest)
    if manifest is None:
        return None if place.is_foreign else Remove(observed)
    if not place.is_its_own or observed.is_immutable:
        return Replace(manifest, observed)
    if observed.strangers or observed.binary_strangers:
        return Cleanse(manifest, observed)
    return None if _is_right(observed, manifest) else Apply(manifest, observed)


def _is_right(observed: ConfigMap, manifest: Manifest) -> bool:
    return (
        observed.digest == manifest.digest
        and manifest.labels.items() <= observed.labels.items()
        and manifest.annotations.items() <= observed.annotations.items()
        and (manifest.owner is None or manifest.owner["uid"] in observed.owners)
    )


def name_conflict(manifest: Manifest) -> str:
    """Say that the name of `manifest` is taken."""
    uid = labels.VIEW_UID if labels.is_of_view(manifest.name) else labels.SERVER_UID
    return (
        f"ConfigMap {manifest.name} in namespace {manifest.namespace} is somebody else's: delete"
        f" or rename it (it has no label {labels.META}={manifest.labels[labels.META]} or no {uid}"
        " of this cluster's past)"
    )
