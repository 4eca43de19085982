"""What an agent of some revision is told of an upstream's result, and of what came before it."""

import re

from pointsman_contract import rawjson
from pointsman_router import inputrequests, jsonrpc, metakeys
from pointsman_router.eras import Revision
from pointsman_router.eras.removals import UNKNOWN, Unknown
from pointsman_router.upstream.asking import PROGRESS, Notice

_COMPLETE = b'"complete"'
_NULL = b"null"
_WHOLE = re.compile(rb"0|[1-9][0-9]{0,14}")
_SCOPES = frozenset([b'"public"', b'"private"'])
_KEEPING = frozenset(["ttlMs", "cacheScope"])
_JUDGED = frozenset(["_meta", "content", "resultType", "structuredContent"])
# Of a result that has none of these nothing depends on them.
_JUDGED_MODERN = frozenset(["_meta", "resultType"])
_JUDGED_BY = {
    revision: _JUDGED_MODERN
    if revision is Revision.MODERN
    else unknown.result | _JUDGED - {"content"}
    for revision, unknown in UNKNOWN.items()
}


class CannotBeTold(ValueError):
    """A result that means nothing to an agent of this revision; the message says why."""


def result(
    raw: bytes,
    revision: Revision,
    *,
    is_plain: bool,
    server_info: bytes,
    method: str = "tools/call",
    declared: bytes = b"{}",
) -> bytes:
    """Return an upstream's result of `method` as an agent of `revision` may see it.

    `is_plain`: its structure is an object. `declared`: the agent's capabilities. Raises Malformed
    where `raw` is no object, or has twice what decides how it is told, CannotBeTold where the agent
    could not make anything of it.
    """
    if not raw.startswith(b"{"):
        raise rawjson.Malformed("not an object")
    is_modern = revision is Revision.MODERN
    if _needs_nothing(raw, revision):
        return _complete(raw, server_info) if is_modern else raw
    pairs = _pairs(raw)
    if is_modern:
        _demand_declared(dict(pairs), method, declared)
        return _modern(pairs, server_info)
    told = _legacy(pairs, UNKNOWN[revision], is_plain=is_plain)
    return raw if told == pairs else rawjson.assemble(told)


def cacheable(raw: bytes) -> bytes:
    """Return what was read, for how long and for whom it may be kept stated as it has to be.

    Of what says nothing sensible nobody may keep anything.
    """
    pairs = _pairs(raw, _JUDGED | _KEEPING)
    members = dict(pairs)
    if members.get("resultType", _NULL) not in (_COMPLETE, _NULL):
        return raw
    ttl_ms, scope = members.get("ttlMs", b""), members.get("cacheScope", b"")
    if _WHOLE.fullmatch(ttl_ms) and scope in _SCOPES:
        return raw
    kept = [pair for pair in pairs if pair[0] not in _KEEPING]
    return rawjson.assemble([*kept, ("ttlMs", b"0"), ("cacheScope", b'"private"')])


def prompt(raw: bytes, revision: Revision) -> bytes:
    """Return a prompt without the kinds of content that an agent of `revision` does not know."""
    unknown = UNKNOWN[revision]
    if not (unknown.links or unknown.block) or _has_no_links(raw):
        return raw
    pairs = _pairs(raw, frozenset(["messages"]))
    members = dict(pairs)
    try:
        messages = rawjson.items(members.get("messages", _NULL))
        told = [_message(message, unknown) for message in messages]
    except rawjson.Malformed:
        return raw
    if told == messages:
        return raw
    whole = b"[" + b",".join(told) + b"]"
    return rawjson.assemble((name, whole if name == "messages" else value) for name, value in pairs)


def notice(said: Notice, revision: Revision, token: bytes | None) -> bytes | None:
    """Return the notification that an agent gets; None where it cannot know what it is about.

    `token` is its own name for the call, in the JSON type in which it came.
    """
    params = dict(said.params)
    if "_meta" in params:
        kept = _kept(_meta(params.pop("_meta")), UNKNOWN[revision])
        params |= {"_meta": rawjson.assemble(kept)} if kept else {}
    if said.method == PROGRESS:
        if token is None:
            return None
        params = {metakeys.PROGRESS_TOKEN: token} | params
    return jsonrpc.notification(said.method, rawjson.assemble(params))


def _needs_nothing(raw: bytes, revision: Revision) -> bool:
    """Say whether a result holds nothing that anything depends on."""
    names = rawjson.names(raw)
    if names is None or not _JUDGED_BY[revision].isdisjoint(names):
        return False
    unknown = UNKNOWN[revision]
    return not (unknown.links or unknown.block) or _has_no_links(raw)


def _has_no_links(raw: bytes) -> bool:
    """Say whether no word in `raw` names a kind of content that some agents do not know."""
    return b"resource_link" not in raw and b"\\u" not in raw  # an escape may spell any word


def _complete(raw: bytes, server_info: bytes) -> bytes:
    rest = raw[1:].lstrip(b" \t\r\n")
    comma = b"" if rest == b"}" else b","
    return (
        b'{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":'
        + server_info
        + b"}"
        + comma
        + rest
    )


def _pairs(raw: bytes, judged: frozenset[str] = _JUDGED) -> list[tuple[str, bytes]]:
    """Return the members of a result; of those that anything depends on none may be there twice."""
    try:
        return list(rawjson.members(raw).items())
    except rawjson.Malformed:
        pairs = rawjson.pairs(raw)
        names = [name for name, _ in pairs]
        if any(names.count(name) > 1 for name in judged):
            raise
        return pairs


def _demand_declared(members: dict[str, bytes], method: str, declared: bytes) -> None:
    kind = members.get("resultType", _NULL)
    if kind in (_NULL, _COMPLETE) or not inputrequests.is_asked(kind):
        return
    problem = inputrequests.problem(members.get("inputRequests", b"{}"), method, declared)
    if problem is not None:
        raise CannotBeTold(problem)


def _modern(pairs: list[tuple[str, bytes]], server_info: bytes) -> bytes:
    members = dict(pairs)
    meta = [
        pair
        for pair in _meta(members.get("_meta", _NULL))
        if pair[0] != metakeys.SERVER_INFO and not metakeys.is_ours(pair[0])
    ]
    kind = members.get("resultType", _NULL)
    return rawjson.assemble(
        [
            *((name, value) for name, value in pairs if name not in ("_meta", "resultType")),
            ("_meta", rawjson.assemble([*meta, (metakeys.SERVER_INFO, server_info)])),
            ("resultType", _COMPLETE if kind == _NULL else kind),
        ]
    )


def _legacy(
    pairs: list[tuple[str, bytes]], unknown: Unknown, *, is_plain: bool
) -> list[tuple[str, bytes]]:
    if dict(pairs).get("resultType", _NULL) not in (_COMPLETE, _NULL):
        raise CannotBeTold(
            "it asks for input, or answers in a kind, that only newer agents understand"
        )
    told: list[tuple[str, bytes]] = []
    for name, value in pairs:
        if name in unknown.result:
            continue
        match name:
            case "structuredContent" if not is_plain or rawjson.kind(value) != "{":
                continue
            case "_meta":
                # Some serialisers write null for what is not there; strict agents refuse it.
                before = _meta(value)
                after = _kept(before, unknown)
                if after or value == b"{}":
                    told.append((name, value if after == before else rawjson.assemble(after)))
            case "content" if unknown.links or unknown.block:
                told.append((name, _blocks(value, unknown)))
            case _:
                told.append((name, value))
    return told


def _meta(raw: bytes) -> list[tuple[str, bytes]]:
    return [] if raw == _NULL else rawjson.pairs(raw)


def _kept(meta: list[tuple[str, bytes]], unknown: Unknown) -> list[tuple[str, bytes]]:
    return [
        (key, value)
        for key, value in meta
        if not metakeys.is_ours(key) and not (unknown.reserved_meta and metakeys.is_reserved(key))
    ]


def _blocks(raw: bytes, unknown: Unknown) -> bytes:
    """Return content without what an agent does not know; what is no list of blocks stays."""
    if _has_no_links(raw):
        return raw
    try:
        blocks = rawjson.items(raw)
    except rawjson.Malformed:
        return raw
    known = [_block(block, unknown) for block in blocks]
    return raw if known == blocks else b"[" + b",".join(known) + b"]"


def _message(raw: bytes, unknown: Unknown) -> bytes:
    members = dict(rawjson.pairs(raw))
    if "content" not in members:
        return raw
    return rawjson.assemble(members | {"content": _block(members["content"], unknown)})


def _block(raw: bytes, unknown: Unknown) -> bytes:
    try:
        pairs = rawjson.pairs(raw)
        members = dict(pairs)
        if rawjson.string(members.get("type", _NULL)) != "resource_link":
            return raw
    except rawjson.Malformed:
        return raw
    if unknown.links:
        text = {"type": b'"text"', "text": members.get("uri", b'""')}
        return rawjson.assemble(
            text | {name: members[name] for name in ("annotations",) if name in members}
        )
    kept = [pair for pair in pairs if pair[0] not in unknown.block]
    return raw if len(kept) == len(pairs) else rawjson.assemble(kept)
