"""Whether a request is let in at all, and which endpoint it means."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, unquote

from pointsman_contract import labels
from pointsman_router import hostnames, refusals
from pointsman_router.endpoints import Endpoint
from pointsman_router.listing import Form
from pointsman_router.refusals import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY_HOST = "*"

_JSON = "application/json"
_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names that this router answers to."""

    names: frozenset[str]
    any_host: bool

    def answers(self, host: str) -> bool:
        """Say whether a Host header names this router."""
        return self.any_host or hostnames.bare(host) in self.names

    def trusts(self, origin: str) -> bool:
        """Say whether a page of `origin` may ask: only one that this router's own names serve."""
        scheme, separator, host = origin.partition("://")
        return (
            bool(separator) and scheme in ("http", "https") and hostnames.bare(host) in self.names
        )


@dataclass(frozen=True, slots=True)
class Head:
    """What of a request's head decides whether its body is read."""

    verb: str
    target: str
    """The request target, as sent."""
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    content_type: str
    accept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accepted:
    """Which answers an agent takes."""

    anything: bool
    """Whether it said nothing about that."""
    json: bool
    stream: bool
    names_stream: bool
    """Whether it names streams: many that take everything have only ever met JSON."""


def hosts(allowed: Iterable[str]) -> Hosts:
    """Return the names that `allowed` lists; loopback origins are trusted whatever it says."""
    listed = tuple(allowed)
    names = frozenset(hostnames.allowed(name) for name in (*listed, *LOOPBACK) if name != ANY_HOST)
    if ANY_HOST in listed:
        return Hosts(names, any_host=True)
    return Hosts(frozenset(hostnames.allowed(name) for name in listed), any_host=False)


def admit(head: Head, served: Hosts, default: Form) -> Endpoint | Refusal:
    """Return the endpoint that a request asks for, or why its body is not even read."""
    if len(head.hosts) != 1 or not served.answers(head.hosts[0]):
        return refusals.misdirected()
    if head.origins and not (len(head.origins) == 1 and served.trusts(head.origins[0])):
        return refusals.foreign_origin()
    endpoint = _view(head.target, default)
    if isinstance(endpoint, Refusal):
        return endpoint
    if head.verb != "POST":
        return refusals.wrong_verb()
    if head.content_type.partition(";")[0].strip().lower() != _JSON:
        return refusals.wrong_content_type()
    return endpoint


def accepted(accept: Iterable[str]) -> Accepted:
    """Return what the Accept headers of a request allow."""
    ranges = {
        item.partition(";")[0].strip().lower() for value in accept for item in value.split(",")
    }
    return Accepted(
        anything=not ranges,
        json=not ranges.isdisjoint((_JSON, "application/*", "*/*")),
        stream=not ranges.isdisjoint((_STREAM, "text/*", "*/*")),
        names_stream=_STREAM in ranges,
    )


def accept_problem(allowed: Accepted, *, modern: bool) -> Refusal | None:
    """Return why the agent could not take the answer, or None."""
    if modern:
        if allowed.json and allowed.stream:
            return None
        return refusals.not_acceptable(f"{_JSON} and {_STREAM}")
    if allowed.anything or allowed.json:
        return None
    return refusals.not_acceptable(_JSON)


def _view(target: str, default: Form) -> Endpoint | Refusal:
    if not target.startswith("/"):
        return refusals.invalid_request("The request's target must be a path.")
    path, _, query = target.partition("?")
    parts = path.removesuffix("/").split("/")
    match parts:
        case ["", "mcp"]:
            return _named_view(query, default)
        case ["", "mcp", "servers", name] if _is_name(name):
            return _discovering(Endpoint(Form.BARE, unquote(name)), query)
        case ["", "mcp", "servers", namespace, name] if _is_name(namespace) and _is_name(name):
            server = labels.server_id(unquote(namespace), unquote(name))
            return _discovering(Endpoint(Form.BARE, server), query)
        case ["", "mcp", "views", *names] if len(names) in (1, 2) and all(map(_is_name, names)):
            endpoint = _named_view(query, default)
            # As `labels.server_id` joins a namespace and a name.
            of = "/".join(map(unquote, names))
            return replace(endpoint, view=of) if isinstance(endpoint, Endpoint) else endpoint
        case _:
            return refusals.no_such_path()


def _is_name(part: str) -> bool:
    """Say whether a part of a path names something: escaped, a slash would spell another path."""
    return bool(part) and "/" not in unquote(part)


def _named_view(query: str, default: Form) -> Endpoint | Refusal:
    asked = _asked(query, "names")
    if not asked:
        return _discovering(Endpoint(default), query)
    if asked in ([Form.DOTTED], [Form.SAFE]):
        return _discovering(Endpoint(Form(asked[0])), query)
    return refusals.invalid_request("names must be dotted or safe, once.")


def _discovering(endpoint: Endpoint, query: str) -> Endpoint | Refusal:
    """Return `endpoint`, its tools to be found rather than listed where `query` says so."""
    asked = _asked(query, "discover")
    if not asked:
        return endpoint
    if asked == ["1"]:
        return replace(endpoint, discover=True)
    return refusals.invalid_request("discover must be 1, once.")


def _asked(query: str, wanted: str) -> list[str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    return [value for name, value in pairs if name == wanted]
