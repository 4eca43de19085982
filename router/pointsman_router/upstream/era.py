"""Which era an upstream speaks, by what it answers to `server/discover` and from then on.

| answer to the probe                                     | verdict                            |
|---------------------------------------------------------|------------------------------------|
| a DiscoverResult that names our modern revision         | modern                             |
| a DiscoverResult that names only legacy ones            | legacy                             |
| a DiscoverResult that names only revisions unknown here | incompatible                       |
| any other result, and what is no answer at all          | legacy                             |
| -32022 that names our modern revision                   | ask once more, then incompatible   |
| -32022 that names a legacy one                          | legacy                             |
| -32022 that names neither                               | incompatible                       |
| -32020, -32021, -32602 about `_meta`                    | modern: our request is wrong       |
| any other JSON-RPC error, any other 4xx                 | legacy                             |
| 401, 403, 407, 408, 429, 5xx, redirects, no connection, | undecided: says nothing of the era |
| no answer in time, an answer cut short                  |                                    |
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed
from pointsman_contract.report import ServerInfo, printable
from pointsman_router import eras, metakeys
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import INVALID_PARAMS, RpcError
from pointsman_router.refusals import Code
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.trouble import Trouble

_OURS_IS_WRONG = frozenset([Code.HEADER_MISMATCH, Code.MISSING_CAPABILITY])
# Of the statuses that say no, those of somebody who only guards, limits or fails.
_SAYS_NOTHING = frozenset([401, 403, 407, 408, 429])
# How servers word that they know no request outside a session, with the codes they give it.
_SESSION_CODES = frozenset([-32000, -32600])
_SESSION_WORDS = ("session", "not initialized")
_VERSION_WORDS = "protocol version"


@dataclass(frozen=True, slots=True)
class Session:
    """What was agreed with a legacy upstream."""

    id: str | None
    revision: Revision
    offers_tools: bool
    headers: Mapping[str, str]
    """What every later request says."""
    server_info: ServerInfo | None = None
    tells_changes: bool = False
    """It says when its list of tools changed, to whoever listens."""
    declared: frozenset[str] | None = None
    """The names of its capabilities, where they are known."""
    tells_beside: frozenset[str] = frozenset()
    """Of which of its other lists it says that too, by capability."""


@dataclass(frozen=True, slots=True)
class Modern:
    """What is known of a modern upstream: every request to it describes itself."""

    revision: Revision = Revision.MODERN
    offers_tools: bool = True
    server_info: ServerInfo | None = None
    tells_changes: bool = False
    declared: frozenset[str] | None = None
    tells_beside: frozenset[str] = frozenset()


Terms = Session | Modern


@dataclass(frozen=True, slots=True)
class Legacy:
    """The upstream wants to be initialised."""


@dataclass(frozen=True, slots=True)
class AskAgain:
    """The upstream refuses the revision that it says it speaks."""


@dataclass(frozen=True, slots=True)
class Incompatible:
    """The upstream speaks only revisions that are unknown here."""

    supported: str
    """What it names instead, fit to be shown."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nothing can be told from this answer."""

    trouble: Trouble


Verdict = Modern | Legacy | AskAgain | Incompatible | Undecided


def judge(answer: Result | RpcError | Trouble) -> Verdict:
    """Return what the answer to a probe in our modern revision says of the era."""
    match answer:
        case Result(raw):
            try:
                return _discovered(rawjson.members(raw))
            except Malformed:
                return Legacy()
        case RpcError(Code.UNSUPPORTED_VERSION, _, raw):
            return _by_versions(_supported(raw), AskAgain())
        case RpcError() as error if error.code in _OURS_IS_WRONG or _is_about_meta(error):
            return Modern()
        case RpcError():
            return Legacy()
        case Trouble() as trouble:
            return Legacy() if _says_no(trouble) or trouble.senseless else Undecided(trouble)


def is_refused(terms: Terms, status: int, outcome: Result | RpcError) -> bool:
    """Say whether a request was refused, before anything else, for being of the era of `terms`."""
    if isinstance(outcome, Result) or not _is_refusal(status):
        return False
    if outcome.code == Code.UNSUPPORTED_VERSION:
        return True
    match terms:
        case Session():
            return outcome.code in _OURS_IS_WRONG or _is_about_meta(outcome)
        case Modern():
            return is_about_session(status, outcome) or _is_about_version(outcome)


def is_doubtful(terms: Terms, trouble: Trouble) -> bool:
    """Say whether a failure may come from a server of another era than that of `terms`.

    A legacy request that meets a modern server is answered with an error of that era, while a
    modern one may meet a server that words its refusal in HTTP alone.
    """
    return isinstance(terms, Modern) and _says_no(trouble)


def is_about_session(status: int, error: RpcError) -> bool:
    """Say whether an error means that the request lacked a session that the server knows."""
    said = error.message.lower()
    return (
        status == HTTPStatus.BAD_REQUEST
        and error.code in _SESSION_CODES
        and any(word in said for word in _SESSION_WORDS)
    )


def server_info(raw: bytes | None) -> ServerInfo | None:
    """Return what an upstream calls itself; it may be wrong without any harm."""
    try:
        said = rawjson.members(raw or b"{}")
        name, version = rawjson.string(said["name"]), rawjson.string(said["version"])
    except (Malformed, KeyError):
        return None
    return ServerInfo(name=printable(name), version=printable(version))


def tells_beside(capabilities: Mapping[str, bytes]) -> frozenset[str]:
    """Return of which lists beside that of tools an upstream tells when they changed."""
    return frozenset(of for of in ("prompts", "resources") if tells_changes(capabilities, of))


def tells_changes(capabilities: Mapping[str, bytes], of: str = "tools") -> bool:
    """Say whether an upstream declares that it tells when its list of tools changed."""
    try:
        return rawjson.members(capabilities.get(of, b"{}")).get("listChanged") == b"true"
    except Malformed:
        return False


def _discovered(result: Mapping[str, bytes]) -> Verdict:
    # Without it, it is no DiscoverResult.
    versions = [rawjson.string(raw) for raw in rawjson.items(result.get("supportedVersions", b""))]
    capabilities = rawjson.members(result.get("capabilities", b"{}"))
    meta = rawjson.members(result.get("_meta", b"{}"))
    found = Modern(
        Revision.MODERN,
        "tools" in capabilities,
        server_info(meta.get(metakeys.SERVER_INFO)),
        tells_changes(capabilities),
        frozenset(capabilities),
        tells_beside(capabilities),
    )
    return _by_versions(versions, found)


def _by_versions(versions: Sequence[str], ours: Verdict) -> Verdict:
    if Revision.MODERN in versions:
        return ours
    if any(eras.legacy_named(version) for version in versions):
        return Legacy()
    return Incompatible(printable(", ".join(versions)) or "none")


def _supported(error: bytes) -> Sequence[str]:
    try:
        data = rawjson.members(rawjson.members(error).get("data", b"{}"))
        return [rawjson.string(raw) for raw in rawjson.items(data.get("supported", b"[]"))]
    except Malformed:
        return []


# Not a part of a longer name: arguments are called anything.
_ABOUT_META = re.compile(rb"(?<![A-Za-z0-9_])_meta(?![A-Za-z0-9_])|io\.modelcontextprotocol/")


def _is_about_meta(error: RpcError) -> bool:
    return error.code == INVALID_PARAMS and _ABOUT_META.search(error.raw) is not None


def _is_about_version(error: RpcError) -> bool:
    return error.code in _SESSION_CODES and _VERSION_WORDS in error.message.lower()


def _says_no(trouble: Trouble) -> bool:
    return trouble.status is not None and _is_refusal(trouble.status)


def _is_refusal(status: int) -> bool:
    """Say whether a status means that the request itself is wrong."""
    return (
        HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        and status not in _SAYS_NOTHING
    )
