"""The files of one generation: which published object becomes which folder, and which none."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import labels, meta, strictjson, view

COMPLETE = ".complete"


class Reason(StrEnum):
    """Why an object publishes nothing."""

    INVALID_LABELS = "InvalidLabels"
    DUPLICATE = "Duplicate"
    IDENTITY_MISMATCH = "IdentityMismatch"


@dataclass(frozen=True, slots=True)
class Published:
    """One object that publishes one server or view."""

    object_name: str
    namespace: str | None
    """Its namespace; None for a lone file that states none."""
    name: str
    document: str
    """The text of its file. Readers judge it; an empty one is the fault of this one alone."""
    is_view: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """One object left out, and why."""

    object_name: str
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class File:
    """One file, by its path below the generation's folder."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Generation:
    """Everything that readers shall see, in the order in which it has to be written."""

    files: tuple[File, ...]
    """One for each server and view in the order of their folders, then `.complete`."""
    servers: int
    views: int = 0
    skipped: tuple[Skipped, ...] = ()


def from_config_map(body: Mapping[str, object]) -> Published | Skipped:
    """Return what a ConfigMap publishes, as its labels and its one key say; other keys say nothing.

    An object without the key publishes an empty document: readers then hold the last good one,
    as they do for every other slip of an editor, instead of taking the server for removed.
    """
    metadata = _mapping(body.get("metadata"))
    found = _mapping(metadata.get("labels"))
    is_view = found.get(labels.META) == labels.VIEW_VERSION
    document = _mapping(body.get("data")).get(_data_key(is_view))
    object_name = str(metadata.get("name", ""))
    namespace_label, name_label = _identity_labels(is_view)
    namespace, name = found.get(namespace_label), found.get(name_label)
    if not isinstance(namespace, str) or not isinstance(name, str):
        missing = name_label if isinstance(namespace, str) else namespace_label
        return Skipped(object_name, Reason.INVALID_LABELS, f"label {missing} is missing")
    text = document if isinstance(document, str) else ""
    return Published(object_name, namespace, name, text, is_view)


def build(objects: Iterable[Published | Skipped]) -> Generation:
    """Return the generation that `objects` ask for; their order does not matter."""
    skipped: list[Skipped] = []
    claims: defaultdict[str, list[Published]] = defaultdict(list)
    for item in objects:
        if isinstance(item, Skipped):
            skipped.append(item)
        elif problem := _label_problem(item):
            skipped.append(Skipped(item.object_name, Reason.INVALID_LABELS, problem))
        else:
            claims[_folder(item)].append(item)

    files: list[File] = []
    views = 0
    for folder in sorted(claims):
        holder, others = _holder(claims[folder])
        skipped += others
        if holder is None:
            continue
        if problem := _identity_problem(holder):
            skipped.append(Skipped(holder.object_name, Reason.IDENTITY_MISMATCH, problem))
            continue
        content = holder.document.encode("utf-8", "surrogatepass")
        files.append(File(f"{folder}/{_data_key(holder.is_view)}", content))
        views += holder.is_view

    servers = len(files) - views
    complete = json.dumps({"servers": servers, "views": views})
    return Generation(
        files=(*files, File(COMPLETE, f"{complete}\n".encode())),
        servers=servers,
        views=views,
        skipped=tuple(sorted(skipped, key=lambda item: (item.object_name, item.reason))),
    )


def _label_problem(item: Published) -> str | None:
    # A dot would let two of them share one folder, a slash would leave the generation's.
    of = _identity_labels(item.is_view)
    for label, value in zip(of, (item.namespace, item.name), strict=True):
        if value is not None and not labels.is_dns_label(value):
            return f"label {label} must be a DNS label: lower-case letters, digits, inner hyphens"
    return None


def _data_key(is_view: bool) -> str:
    return labels.VIEW_DATA_KEY if is_view else labels.DATA_KEY


def _identity_labels(is_view: bool) -> tuple[str, str]:
    """Return the labels that state a namespace, and a name."""
    if is_view:
        return labels.VIEW_NAMESPACE, labels.VIEW_NAME
    return labels.SERVER_NAMESPACE, labels.SERVER_NAME


def _folder(item: Published) -> str:
    if item.is_view:
        # No label is empty, so that a lone view's folder is nobody else's.
        return labels.view_folder(item.namespace or item.name, item.name if item.namespace else "")
    return item.name if item.namespace is None else f"{item.namespace}.{item.name}"


def _holder(claims: list[Published]) -> tuple[Published | None, list[Skipped]]:
    """Choose among the objects of one folder: the one under the derived name, else a lone one."""
    first = claims[0]
    if len(claims) == 1:
        return first, []
    derive = labels.view_config_map_name if first.is_view else labels.config_map_name
    derived = derive(first.namespace, first.name) if first.namespace else ""
    holder = next((claim for claim in claims if claim.object_name == derived), None)
    message = (
        f"{_called(first)} is published by {derived}"
        if holder
        else f"{_called(first)} is published by {len(claims)} objects, so by none"
    )
    return holder, [
        Skipped(claim.object_name, Reason.DUPLICATE, message)
        for claim in claims
        if claim is not holder
    ]


def _identity_problem(item: Published) -> str | None:
    """Say where a document names another server or view than its labels do.

    Readers believe the document, so it could stand in for one that is not its own. One that
    cannot be read names nobody, and one without a name is called by its folder.
    """
    max_bytes = view.MAX_BYTES if item.is_view else meta.MAX_BYTES
    try:
        document = strictjson.loads(item.document.encode("utf-8"), max_bytes=max_bytes)
    except (strictjson.NotStrictJSON, UnicodeEncodeError):
        return None
    if not isinstance(document, dict):
        return None
    namespace, name = document.get("namespace"), document.get("name")
    if (namespace, name) in ((None, None), (item.namespace, item.name)):
        return None
    what = "view" if item.is_view else "server"
    key = _data_key(item.is_view)
    return f"{key} must name the {what} that its labels name, {_called(item)}"


def _called(item: Published) -> str:
    return labels.server_id(item.namespace, item.name)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
