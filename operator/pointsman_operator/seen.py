"""What was last seen in the cluster: one resource of either kind, one ConfigMap."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pointsman_contract import labels
from pointsman_operator import manifests, spec, status, viewspec, viewstatus
from pointsman_operator.conditions import Acceptance, Refused
from pointsman_operator.spec import Identity, Server
from pointsman_operator.specerror import SpecError, SpecReason
from pointsman_operator.status import Status
from pointsman_operator.viewspec import View
from pointsman_operator.viewstatus import ViewStatus

_REASONS = {
    SpecReason.INVALID_URL: Acceptance.INVALID_URL,
    SpecReason.INVALID_SPEC: Acceptance.INVALID_SPEC,
}


class Unrecognisable(ValueError):
    """A body of the API server says too little about itself to be kept."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One McpServer."""

    identity: Identity
    version: int
    """Its resourceVersion: of two sights of one object the higher is the newer."""
    wish: Server | Refused
    """What it asks for, or what is wrong with that."""
    status: Status
    labels: Mapping[str, str] = field(default_factory=dict)
    """By which views may select it."""

    @property
    def config_map(self) -> str:
        """Where it is published."""
        return labels.config_map_name(self.identity.namespace or "", self.identity.name)


@dataclass(frozen=True, slots=True)
class ViewResource:
    """One McpView."""

    identity: Identity
    version: int
    wish: View | Refused
    status: ViewStatus

    @property
    def config_map(self) -> str:
        """Where it is published."""
        return labels.view_config_map_name(self.identity.namespace or "", self.identity.name)


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """One ConfigMap of the release namespace: what matters of it."""

    name: str
    uid: str
    version: int
    is_labelled: bool
    """Whether the mirrors take it for something published."""
    resource_uid: str | None
    """Which resource it says it publishes."""
    digest: str | None
    """Which document it holds; None if none."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    strangers: tuple[str, ...] = ()
    """Data keys that nobody asked for."""
    binary_strangers: tuple[str, ...] = ()
    owners: frozenset[str] = frozenset()
    """The uids of the objects that it goes with."""
    is_immutable: bool = False


def resource(body: Mapping[str, object]) -> Resource:
    """Return what `body`, a resource, says; raises Unrecognisable."""
    return Resource(
        _identity(body),
        _version(body),
        _wish(body),
        status.load(body.get("status")),
        _texts(_members(body, "metadata"), "labels"),
    )


def view(body: Mapping[str, object]) -> ViewResource:
    """Return what `body`, a view, says; raises Unrecognisable."""
    return ViewResource(
        _identity(body),
        _version(body),
        _view_wish(body),
        viewstatus.load(body.get("status")),
    )


def config_map(body: Mapping[str, object]) -> ConfigMap:
    """Return what matters of `body`, a ConfigMap; raises Unrecognisable."""
    uid, version = _uid(body), _version(body)
    metadata = _members(body, "metadata")
    name = metadata.get("name")
    if not isinstance(name, str):
        raise Unrecognisable("metadata.name is missing")
    data, binary = _texts(body, "data"), _members(body, "binaryData")
    data_key = labels.VIEW_DATA_KEY if labels.is_of_view(name) else labels.DATA_KEY
    document = data.get(data_key)
    its_labels, annotations = _texts(metadata, "labels"), _texts(metadata, "annotations")
    owners = metadata.get("ownerReferences")
    return ConfigMap(
        name=name,
        uid=uid,
        version=version,
        is_labelled=its_labels.get(labels.META) in _VERSIONS,
        resource_uid=_resource_uid(name, annotations),
        digest=None if document is None else manifests.digest(document),
        labels={key: text for key, text in its_labels.items() if key in _LABELS},
        annotations={key: text for key, text in annotations.items() if key in _ANNOTATIONS},
        strangers=tuple(sorted(data.keys() - {data_key})),
        binary_strangers=tuple(sorted(binary)),
        owners=frozenset(
            str(owner.get("uid"))
            for owner in (owners if isinstance(owners, list) else ())
            if isinstance(owner, Mapping)
        ),
        is_immutable=body.get("immutable") is True,
    )


# Whatever else people hang on an object is theirs.
_LABELS = frozenset(
    [
        *(labels.MANAGED_BY, labels.META, labels.SERVER_NAME, labels.SERVER_NAMESPACE),
        *(labels.VIEW_NAME, labels.VIEW_NAMESPACE),
    ]
)
_ANNOTATIONS = frozenset(
    [labels.SERVER_UID, labels.SERVER_GENERATION, labels.VIEW_UID, labels.VIEW_GENERATION]
)
_VERSIONS = frozenset([labels.META_VERSION, labels.VIEW_VERSION])


def _resource_uid(name: str, annotations: Mapping[str, str]) -> str | None:
    # Under the name of the one kind, an annotation of the other is somebody's addition.
    keys = (labels.SERVER_UID, labels.VIEW_UID)
    for key in reversed(keys) if labels.is_of_view(name) else keys:
        if key in annotations:
            return annotations[key]
    return None


def _identity(body: Mapping[str, object]) -> Identity:
    try:
        return spec.identify(body)
    except SpecError:
        return _unusual_identity(body)


def _wish(body: Mapping[str, object]) -> Server | Refused:
    try:
        server = spec.parse(body)
        manifests.document_of(server)
    except SpecError as exc:
        return Refused(_REASONS[exc.reason], exc.message)
    except manifests.TooLarge as exc:
        return Refused(Acceptance.TOO_LARGE, str(exc))
    return server


def _view_wish(body: Mapping[str, object]) -> View | Refused:
    try:
        return viewspec.parse(body)
    except SpecError as exc:
        return Refused(_REASONS[exc.reason], exc.message)


def _unusual_identity(body: Mapping[str, object]) -> Identity:
    # A name with a dot, stored before the CRD forbade it: it cannot be served, yet its status
    # can say so.
    metadata = _members(body, "metadata")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise Unrecognisable("metadata has no name and namespace")
    generation = metadata.get("generation")
    return Identity(
        namespace, name, _uid(body), generation if isinstance(generation, int) else None
    )


def _uid(body: Mapping[str, object]) -> str:
    uid = _members(body, "metadata").get("uid")
    if not isinstance(uid, str) or not uid:
        raise Unrecognisable("metadata.uid is missing")
    return uid


def _version(body: Mapping[str, object]) -> int:
    version = _members(body, "metadata").get("resourceVersion")
    if not isinstance(version, str) or not version.isdecimal():
        raise Unrecognisable("metadata.resourceVersion is no number")
    return int(version)


def _members(body: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = body.get(key)
    return value if isinstance(value, Mapping) else {}


def _texts(body: Mapping[str, object], key: str) -> dict[str, str]:
    return {name: text for name, text in _members(body, key).items() if isinstance(text, str)}
