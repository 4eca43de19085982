"""Every page of one list of an upstream's, within bounds, or none."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_contract.meta import Exposed
from pointsman_contract.rawjson import Malformed
from pointsman_router.entrycheck import EXPOSED_AS, Kind
from pointsman_router.jsonrpc import METHOD_NOT_FOUND, RpcError
from pointsman_router.upstream import trouble
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Result
from pointsman_router.upstream.trouble import Trouble

# Nobody means a list to stay for longer than a year: what is larger is a mistake, and counts as
# absent, as does what is no whole number at all.
_TTL_MAX_MS = 366 * 24 * 3600 * 1000
_WHOLE = re.compile(rb"0|[1-9][0-9]{0,14}")


@dataclass(frozen=True, slots=True)
class Listable:
    """Something that upstreams list: how it is asked for, and what it is called."""

    method: str
    member: str
    """Of the result."""
    noun: str
    """In a sentence."""
    kind: Kind | None = None
    """None: tools."""

    @property
    def exposed(self) -> Exposed:
        """As what it is exposed."""
        return Exposed.TOOLS if self.kind is None else EXPOSED_AS[self.kind]


TOOLS = Listable("tools/list", "tools", "tools")
PROMPTS = Listable("prompts/list", "prompts", "prompts", Kind.PROMPT)
RESOURCES = Listable("resources/list", "resources", "resources", Kind.RESOURCE)
TEMPLATES = Listable(
    "resources/templates/list", "resourceTemplates", "resource templates", Kind.TEMPLATE
)
ALL = (TOOLS, PROMPTS, RESOURCES, TEMPLATES)


@dataclass(frozen=True, slots=True)
class Pages:
    """A whole list, and how long and for whom it is good."""

    items: tuple[bytes, ...]
    ttl_ms: int | None = None
    """The shortest that a page stated, if one did."""
    private: bool = False
    """Whether a page said that it is not for everybody."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A list in whose place, or in the place of one of whose pages, an error was answered."""

    why: Trouble
    is_unknown: bool
    """The upstream has no such list at all."""


@dataclass(frozen=True, slots=True)
class _Page:
    items: list[bytes]
    next_cursor: bytes | None
    """As the upstream spelled it; None on the last page, but not where it is empty."""
    ttl_ms: int | None
    private: bool


_Ask = Callable[[Mapping[str, bytes]], Awaitable[Result | RpcError]]


async def every(
    of: Listable, ask: _Ask, limits: Limits, max_bytes: int | None = None
) -> Pages | Refused:
    """Return what is on all pages, asked for with raw parameters; raises Trouble.

    `max_bytes` is what is left of the bound where several lists share it.
    """
    max_bytes = limits.list_max_bytes if max_bytes is None else max_bytes
    items: list[bytes] = []
    cursors: set[str] = set()
    cursor: bytes | None = None
    ttls_ms: list[int] = []
    private = False
    size = 0
    for _ in range(limits.pages_max):
        match await _page(of, ask, cursor):
            case RpcError(code, message):
                why = trouble.rpc_error(of.method, code, message)
                return Refused(why, is_unknown=cursor is None and code == METHOD_NOT_FOUND)
            case page:
                items += page.items
        ttls_ms += [] if page.ttl_ms is None else [page.ttl_ms]
        private = private or page.private
        size += sum(map(len, page.items))
        if len(items) > limits.tools_max:
            raise trouble.list_too_large(of.noun, f"has more than {limits.tools_max} {of.noun}")
        if size > max_bytes:
            raise trouble.list_too_large(of.noun, f"is larger than {max_bytes} bytes")
        if (cursor := page.next_cursor) is None:
            return Pages(tuple(items), min(ttls_ms, default=None), private)
        if (spelled := rawjson.string(cursor)) in cursors:
            raise trouble.cursor_loop(of.noun)
        cursors.add(spelled)
    raise trouble.list_too_large(of.noun, f"has more than {limits.pages_max} pages")


async def _page(of: Listable, ask: _Ask, cursor: bytes | None) -> _Page | RpcError:
    match await ask({} if cursor is None else {"cursor": cursor}):
        case RpcError() as error:
            return error
        case Result(raw):
            try:
                return _cut(of, raw)
            except Malformed:
                raise trouble.violation(f"its list of {of.noun} is none") from None


def _cut(of: Listable, raw: bytes) -> _Page:
    members = rawjson.members(raw)
    items = rawjson.items(members.get(of.member, b"null"))
    cursor: bytes | None = members.get("nextCursor", b"null")
    if cursor == b"null":
        cursor = None
    if cursor is not None:
        rawjson.string(cursor)
    return _Page(
        items,
        cursor,
        _ttl_ms(members.get("ttlMs", b"null")),
        members.get("cacheScope") == b'"private"',
    )


def _ttl_ms(raw: bytes) -> int | None:
    if not _WHOLE.fullmatch(raw) or int(raw) > _TTL_MAX_MS:
        return None
    return int(raw)
