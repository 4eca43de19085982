"""What a resource asks for: its body as a server, or the field that is wrong and how."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pointsman_contract import labels, names, url
from pointsman_contract.meta import (
    ALLOWED_TOOLS_MAX,
    EVERY_TOOL,
    TIMEOUT_BOUNDS_S,
    TIMEOUT_DEFAULT_S,
    TOOL_NAME_MAX_LENGTH,
    Exposed,
    Protocol,
)

API_VERSION = f"{labels.GROUP}/{labels.VERSION}"
NAME_MAX_LENGTH = 63

_LABEL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_CONTROL_CHARACTERS = frozenset(chr(point) for point in (*range(0x20), *range(0x7F, 0xA0)))


class SpecReason(StrEnum):
    """Why a resource is not accepted for what it says itself."""

    INVALID_URL = "InvalidUrl"
    INVALID_SPEC = "InvalidSpec"


class SpecError(ValueError):
    """One field of a resource has to change; the message names it and says how."""

    def __init__(self, field: str, problem: str, reason: SpecReason = SpecReason.INVALID_SPEC):
        self.field = field
        self.reason = reason
        self.message = f"{field} {problem}"
        super().__init__(self.message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpecError):
            return NotImplemented
        return (self.reason, self.message) == (other.reason, other.message)

    def __hash__(self) -> int:
        return hash((self.reason, self.message))


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
    allowed_tools: tuple[str, ...]
    """Sorted, so that servers that ask for the same are equal."""
    prefix: str
    protocol: Protocol
    expose: tuple[Exposed, ...]
    """Sorted too."""
    timeout_s: int
    suspend: bool

    @property
    def id(self) -> str:
        """The server's identity."""
        return self.identity.id


def parse(body: Mapping[str, object]) -> Server:
    """Return the server that a resource's `body` asks for; raises SpecError.

    The same bodies are taken that the API server takes with the CRD in force, unknown fields
    aside: the API server drops or refuses those before anybody sees them.
    """
    identity = identify(body)
    spec = body.get("spec")
    if spec is None:
        raise SpecError("spec", "must be given: it needs at least url")
    if not isinstance(spec, Mapping):
        raise SpecError("spec", "must be an object")
    return Server(
        identity=identity,
        url=_url(spec.get("url")),
        allowed_tools=_allowed_tools(spec.get("allowedTools")),
        prefix=_prefix(spec.get("prefix"), identity.name),
        protocol=_protocol(spec.get("protocol")),
        expose=_expose(spec.get("expose")),
        timeout_s=_timeout_s(spec.get("timeoutSeconds")),
        suspend=_suspend(spec.get("suspend")),
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


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that has no meaning, and those that would have one in its place."""

    path: str
    known: tuple[str, ...]


class _Anything:
    """Where a resource may hold what it likes."""


_ANYTHING = _Anything()
_Tree = Mapping[str, "_Tree | _Anything"]

# What Kubernetes keeps about every object, and what this kind adds.
FIELDS: _Tree = {
    "apiVersion": _ANYTHING,
    "kind": _ANYTHING,
    "metadata": dict.fromkeys(
        (
            *("annotations", "creationTimestamp", "deletionGracePeriodSeconds"),
            *("deletionTimestamp", "finalizers", "generateName", "generation", "labels"),
            *("managedFields", "name", "namespace", "ownerReferences", "resourceVersion"),
            *("selfLink", "uid"),
        ),
        _ANYTHING,
    ),
    "spec": dict.fromkeys(
        ("allowedTools", "expose", "prefix", "protocol", "suspend", "timeoutSeconds", "url"),
        _ANYTHING,
    ),
    "status": _ANYTHING,
}


def unknown_fields(body: Mapping[str, object]) -> tuple[UnknownField, ...]:
    """Return the fields of `body` that no McpServer has, each with its known siblings."""
    return tuple(_unknown(body, FIELDS, ""))


def _unknown(body: Mapping[str, object], known: _Tree, path: str) -> Iterator[UnknownField]:
    for field, value in body.items():
        match known.get(field):
            case None:
                yield UnknownField(f"{path}{field}", tuple(known))
            case _Anything():
                pass
            case tree if isinstance(value, Mapping):
                yield from _unknown(value, tree, f"{path}{field}.")
            case _:
                pass


def _url(value: object) -> str:
    field = "spec.url"
    if value is None:
        raise SpecError(field, "must be given", SpecReason.INVALID_URL)
    if not isinstance(value, str):
        raise SpecError(field, "must be a string", SpecReason.INVALID_URL)
    if (problem := url.problem(value)) is not None:
        raise SpecError(field, problem, SpecReason.INVALID_URL)
    return value


def _allowed_tools(value: object) -> tuple[str, ...]:
    field = "spec.allowedTools"
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise SpecError(field, "must be a list")
    if len(value) > ALLOWED_TOOLS_MAX:
        raise SpecError(field, f"must hold at most {ALLOWED_TOOLS_MAX} names")
    tools = tuple(_tool(item, f"{field}[{index}]") for index, item in enumerate(value))
    if len(set(tools)) < len(tools):
        raise SpecError(field, "must not hold a name twice")
    if EVERY_TOOL in tools and len(tools) > 1:
        raise SpecError(field, f'must hold "{EVERY_TOOL}" alone, or names without it')
    return tuple(sorted(tools))


def _tool(item: object, field: str) -> str:
    if not isinstance(item, str):
        raise SpecError(field, "must be a string")
    if not 1 <= len(item) <= TOOL_NAME_MAX_LENGTH:
        raise SpecError(field, f"must hold 1 to {TOOL_NAME_MAX_LENGTH} characters")
    if not _CONTROL_CHARACTERS.isdisjoint(item):
        raise SpecError(field, "must not hold a control character")
    if any("\ud800" <= character <= "\udfff" for character in item):
        raise SpecError(field, "must not hold half of a surrogate pair")
    return item


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
