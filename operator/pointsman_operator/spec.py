"""What a resource asks for: its body as a server, or the field that is wrong and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pointsman_contract import labels, names
from pointsman_contract.meta import (
    TIMEOUT_BOUNDS_S,
    TIMEOUT_DEFAULT_S,
    Definitions,
    Exposed,
    Override,
    Protocol,
)
from pointsman_operator import address, toolspec
from pointsman_operator.specerror import SpecError

API_VERSION = f"{labels.GROUP}/{labels.VERSION}"
NAME_MAX_LENGTH = 63

_LABEL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@dataclass(frozen=True, slots=True)
class Identity:
    """Which resource it is, whatever it says."""

    namespace: str | None
    """None for a file that states none."""
    name: str
    uid: str | None = None
    generation: int | None = None
    created: str = ""
    """`creationTimestamp` as the API server spelled it: as text it sorts by time."""

    @property
    def id(self) -> str:
        """The server's identity."""
        return labels.server_id(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Server:
    """One valid resource."""

    identity: Identity
    url: str
    """Composed, where the resource refers to a Service."""
    allowed_tools: tuple[str, ...]
    """Sorted, so that servers that ask for the same are equal."""
    prefix: str
    protocol: Protocol
    expose: tuple[Exposed, ...]
    """Sorted too."""
    timeout_s: int
    suspend: bool
    definitions: Definitions = field(default_factory=Definitions)
    overrides: tuple[Override, ...] = ()
    """Sorted by the tools' names."""

    @property
    def id(self) -> str:
        """The server's identity."""
        return self.identity.id


def parse(body: Mapping[str, object]) -> Server:
    """Return the server that a resource's `body` asks for; raises SpecError.

    The same bodies are taken that the API server takes with the CRD in force, but for hidden
    characters, which it cannot tell, and unknown fields, which it drops or refuses before anybody
    sees them.
    """
    identity = identify(body)
    spec = body.get("spec")
    if spec is None:
        raise SpecError("spec", "must be given: it needs at least url, or service")
    if not isinstance(spec, Mapping):
        raise SpecError("spec", "must be an object")
    return Server(
        identity=identity,
        url=address.of(spec, identity.namespace),
        allowed_tools=toolspec.allowed(spec.get("allowedTools")),
        prefix=_prefix(spec.get("prefix"), identity.name),
        protocol=_protocol(spec.get("protocol")),
        expose=_expose(spec.get("expose")),
        timeout_s=_timeout_s(spec.get("timeoutSeconds")),
        suspend=_suspend(spec.get("suspend")),
        definitions=toolspec.definitions(spec.get("definitions")),
        overrides=toolspec.overrides(spec.get("tools")),
    )


def identify(body: Mapping[str, object]) -> Identity:
    """Return which resource `body` is; raises SpecError where that cannot be told."""
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping):
        raise SpecError("metadata", "must be an object with a name")
    name = metadata.get("name")
    if not isinstance(name, str) or not _is_label(name):
        raise SpecError(
            "metadata.name",
            f"must be a DNS label: 1 to {NAME_MAX_LENGTH} lower-case letters, digits and inner"
            " hyphens, without a dot",
        )
    namespace = metadata.get("namespace")
    if namespace is not None and not (isinstance(namespace, str) and _is_label(namespace)):
        raise SpecError("metadata.namespace", "must be a DNS label")
    uid, generation, created = (
        metadata.get(field) for field in ("uid", "generation", "creationTimestamp")
    )
    return Identity(
        namespace=namespace,
        name=name,
        uid=uid if isinstance(uid, str) else None,
        generation=generation if isinstance(generation, int) else None,
        created=created if isinstance(created, str) else "",
    )


def _prefix(value: object, name: str) -> str:
    if value is None:
        return names.prefix_from(name)
    if not isinstance(value, str):
        raise SpecError("spec.prefix", "must be a string")
    if not names.is_prefix(value):
        raise SpecError(
            "spec.prefix",
            "must be words of lower-case letters and digits joined by single _, the first"
            f" beginning with a letter, at most {names.PREFIX_MAX_LENGTH} characters in all",
        )
    return value


def _protocol(value: object) -> Protocol:
    if value is None:
        return Protocol.AUTO
    if not isinstance(value, str) or value not in set(Protocol):
        raise SpecError("spec.protocol", f"must be one of {', '.join(Protocol)}")
    return Protocol(value)


def _expose(value: object) -> tuple[Exposed, ...]:
    field = "spec.expose"
    if value is None:
        return (Exposed.TOOLS,)
    if not isinstance(value, list | tuple) or not value:
        raise SpecError(field, f"must be a list of one or more of {', '.join(Exposed)}")
    for index, item in enumerate(value):
        if not isinstance(item, str) or item not in set(Exposed):
            raise SpecError(f"{field}[{index}]", f"must be one of {', '.join(Exposed)}")
    if len(set(value)) < len(value):
        raise SpecError(field, "must not hold a word twice")
    return tuple(sorted(Exposed(item) for item in value))


def _timeout_s(value: object) -> int:
    least, most = TIMEOUT_BOUNDS_S
    if value is None:
        return TIMEOUT_DEFAULT_S
    # JSON has one kind of number: the API server takes 30.0 for 30.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SpecError("spec.timeoutSeconds", f"must be a whole number from {least} to {most}")
    return value


def _suspend(value: object) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise SpecError("spec.suspend", "must be true or false")
    return value


def _is_label(text: str) -> bool:
    return (
        1 <= len(text) <= NAME_MAX_LENGTH
        and _LABEL_CHARACTERS.issuperset(text)
        and not text.startswith("-")
        and not text.endswith("-")
    )
