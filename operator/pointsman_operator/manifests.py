"""What a server looks like as a ConfigMap, and how a body is spelled for the API server."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pointsman_contract import labels, meta
from pointsman_contract.labels import DATA_KEY
from pointsman_contract.meta import Definitions, Meta
from pointsman_operator.spec import API_VERSION, Server

JSON = Mapping[str, object]


class TooLarge(ValueError):
    """The document would be larger than its readers take; the message says what to shorten."""

    def __init__(self, field: str, size: int, advice: str) -> None:
        self.field = field
        super().__init__(
            f"{field} makes the published document {size} bytes long and at most {meta.MAX_BYTES}"
            f" are read: {advice}"
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """The ConfigMap that publishes one server, or one view."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    document: str = field(repr=False)
    """meta.json, or view.json."""
    owner: Mapping[str, str] | None = None
    """The resource, where it is in the same namespace: only there may it own the ConfigMap."""
    data_key: str = DATA_KEY
    """Under which the document lies."""

    @property
    def digest(self) -> str:
        """What tells two documents apart without keeping either."""
        return digest(self.document)


def digest(document: str) -> str:
    """Return what tells `document` from others."""
    return hashlib.sha256(document.encode()).hexdigest()


def meta_of(server: Server) -> Meta:
    """Return what is published about `server`."""
    identity = server.identity
    return Meta(
        name=identity.name,
        namespace=identity.namespace,
        uid=identity.uid,
        generation=identity.generation,
        url=server.url,
        allowed_tools=server.allowed_tools,
        prefix=server.prefix,
        protocol=server.protocol,
        expose=server.expose,
        timeout_seconds=server.timeout_s,
        suspend=server.suspend,
        definitions=server.definitions,
        tools=server.overrides,
        requires=tuple(
            meta.restrictions(server.expose, server.definitions.policy, server.overrides)
        ),
    )


def document_of(server: Server) -> str:
    """Return the meta.json of `server`; raises TooLarge."""
    published = meta_of(server)
    document = meta.dump(published)
    if len(document) > meta.MAX_BYTES:
        field, _, advice = max(_parts(published), key=lambda part: part[1])
        raise TooLarge(field, len(document), advice)
    return document.decode()


def _parts(published: Meta) -> Iterator[tuple[str, int, str]]:
    """Yield each field that can grow, how much of the document it is, and how it shrinks."""

    def lacks(**emptied: object) -> int:
        return -len(meta.dump(published.model_copy(update=emptied)))

    yield (
        "spec.allowedTools",
        lacks(allowed_tools=()),
        f'allow fewer tools, or every tool with "{meta.EVERY_TOOL}"',
    )
    yield (
        "spec.definitions.approved",
        lacks(definitions=Definitions()),
        "take out the tools that are there no more",
    )
    yield "spec.tools", lacks(tools=()), "shorten the descriptions there, or override fewer tools"


def manifest_of(server: Server, *, namespace: str) -> Manifest:
    """Return the ConfigMap that publishes `server` in the release `namespace`; raises TooLarge."""
    identity = server.identity
    home, uid = identity.namespace or namespace, identity.uid or ""
    return Manifest(
        name=labels.config_map_name(home, identity.name),
        namespace=namespace,
        labels={
            labels.MANAGED_BY: labels.MANAGER,
            labels.META: labels.META_VERSION,
            labels.SERVER_NAME: identity.name,
            labels.SERVER_NAMESPACE: home,
        },
        annotations={
            labels.SERVER_UID: uid,
            labels.SERVER_GENERATION: str(identity.generation or 0),
        },
        document=document_of(server),
        owner=owner(labels.KIND, identity.name, uid) if home == namespace else None,
    )


def owner(kind: str, name: str, uid: str) -> Mapping[str, str]:
    """Return the reference to a resource by which its ConfigMap goes when it goes."""
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": uid}


def body_of(manifest: Manifest) -> JSON:
    """Return the body of the ConfigMap."""
    metadata: dict[str, object] = {
        "name": manifest.name,
        "namespace": manifest.namespace,
        "labels": manifest.labels,
        "annotations": manifest.annotations,
    }
    if manifest.owner is not None:
        metadata["ownerReferences"] = [manifest.owner]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {manifest.data_key: manifest.document},
    }


def spell(body: JSON) -> bytes:
    """Return `body` as the API server reads it in an apply, whatever its strings hold.

    An apply is read as YAML, which knows no surrogate escapes and takes some raw characters of
    the basic plane for something else: there everything is escaped, beyond it nothing is.
    """
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if text.isascii() and "\x7f" not in text:
        return text.encode()
    return "".join(
        character if " " <= character <= "~" or character > "\uffff" else f"\\u{ord(character):04x}"
        for character in text
    ).encode()
