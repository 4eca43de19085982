"""The files of one generation: which published object becomes which folder, and which none."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import labels, meta, strictjson

COMPLETE = ".complete"


class Reason(StrEnum):
    """Why an object publishes nothing."""

    INVALID_LABELS = "InvalidLabels"
    DUPLICATE = "Duplicate"
    IDENTITY_MISMATCH = "IdentityMismatch"


@dataclass(frozen=True, slots=True)
class Published:
    """One object that publishes one server."""

    object_name: str
    namespace: str | None
    """The server's namespace; None for a lone file that states none."""
    name: str
    document: str
    """The text of meta.json. Its readers judge it; an empty one is this server's fault alone."""


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
    """One meta.json per server in the order of their folders, then `.complete`."""
    servers: int
    skipped: tuple[Skipped, ...] = ()


def from_config_map(body: Mapping[str, object]) -> Published | Skipped:
    """Return what a ConfigMap publishes, as its labels and its one key say; other keys say nothing.

    An object without the key publishes an empty document: readers then hold the last good one,
    as they do for every other slip of an editor, instead of taking the server for removed.
    """
    metadata = _mapping(body.get("metadata"))
    found = _mapping(metadata.get("labels"))
    document = _mapping(body.get("data")).get(labels.DATA_KEY)
    object_name = str(metadata.get("name", ""))
    namespace, name = found.get(labels.SERVER_NAMESPACE), found.get(labels.SERVER_NAME)
    if not isinstance(namespace, str) or not isinstance(name, str):
        missing = labels.SERVER_NAME if isinstance(namespace, str) else labels.SERVER_NAMESPACE
        return Skipped(object_name, Reason.INVALID_LABELS, f"label {missing} is missing")
    return Published(
        object_name, namespace, name, document=document if isinstance(document, str) else ""
    )


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
    for folder in sorted(claims):
        holder, others = _holder(claims[folder])
        skipped += others
        if holder is None:
            continue
        if problem := _identity_problem(holder):
            skipped.append(Skipped(holder.object_name, Reason.IDENTITY_MISMATCH, problem))
            continue
        content = holder.document.encode("utf-8", "surrogatepass")
        files.append(File(f"{folder}/{labels.DATA_KEY}", content))

    complete = json.dumps({"servers": len(files)})
    return Generation(
        files=(*files, File(COMPLETE, f"{complete}\n".encode())),
        servers=len(files),
        skipped=tuple(sorted(skipped, key=lambda item: (item.object_name, item.reason))),
    )


def _label_problem(item: Published) -> str | None:
    # A dot would let two servers share one folder, a slash would leave the generation's.
    for label, value in (
        (labels.SERVER_NAMESPACE, item.namespace),
        (labels.SERVER_NAME, item.name),
    ):
        if value is not None and not labels.is_dns_label(value):
            return f"label {label} must be a DNS label: lower-case letters, digits, inner hyphens"
    return None


def _folder(item: Published) -> str:
    return item.name if item.namespace is None else f"{item.namespace}.{item.name}"


def _holder(claims: list[Published]) -> tuple[Published | None, list[Skipped]]:
    """Choose among the objects of one server: the one under the derived name, else a lone one."""
    if len(claims) == 1:
        return claims[0], []
    server = labels.server_id(claims[0].namespace, claims[0].name)
    derived = (
        labels.config_map_name(claims[0].namespace, claims[0].name) if claims[0].namespace else ""
    )
    holder = next((claim for claim in claims if claim.object_name == derived), None)
    message = (
        f"{server} is published by {derived}"
        if holder
        else f"{server} is published by {len(claims)} objects, so by none"
    )
    return holder, [
        Skipped(claim.object_name, Reason.DUPLICATE, message)
        for claim in claims
        if claim is not holder
    ]


def _identity_problem(item: Published) -> str | None:
    """Say where a document names another server than its labels do.

    Readers believe the document, so it could stand in for a server that is not its own. One that
    cannot be read names nobody, and one without a name is called by its folder.
    """
    try:
        document = strictjson.loads(item.document.encode("utf-8"), max_bytes=meta.MAX_BYTES)
    except (strictjson.NotStrictJSON, UnicodeEncodeError):
        return None
    if not isinstance(document, dict):
        return None
    namespace, name = document.get("namespace"), document.get("name")
    if (namespace, name) in ((None, None), (item.namespace, item.name)):
        return None
    server = labels.server_id(item.namespace, item.name)
    return f"{labels.DATA_KEY} must name the server that its labels name, {server}"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
