"""Every page of one upstream's tools, within bounds, or none."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed
from pointsman_router.jsonrpc import RpcError
from pointsman_router.upstream import messages, trouble
from pointsman_router.upstream.limits import Limits
from pointsman_router.upstream.messages import Result

METHOD = "tools/list"


@dataclass(frozen=True, slots=True)
class _Page:
    tools: list[bytes]
    next_cursor: bytes | None
    """As the upstream spelled it; None on the last page, but not where it is empty."""


async def every(
    ask: Callable[[bytes], Awaitable[Result | RpcError]], limits: Limits
) -> tuple[bytes, ...] | RpcError:
    """Return the tools of all pages, asked for with raw parameters; raises Trouble.

    Returns the upstream's error where it does not list at all.
    """
    tools: list[bytes] = []
    cursors: set[str] = set()
    cursor: bytes | None = None
    size = 0
    for _ in range(limits.pages_max):
        match await _page(ask, cursor):
            case RpcError() as error:
                return error
            case page:
                tools += page.tools
        size += sum(map(len, page.tools))
        if len(tools) > limits.tools_max:
            raise trouble.list_too_large(f"has more than {limits.tools_max} tools")
        if size > limits.list_max_bytes:
            raise trouble.list_too_large(f"is larger than {limits.list_max_bytes} bytes")
        if (cursor := page.next_cursor) is None:
            return tuple(tools)
        if (spelled := rawjson.string(cursor)) in cursors:
            raise trouble.cursor_loop()
        cursors.add(spelled)
    raise trouble.list_too_large(f"has more than {limits.pages_max} pages")


async def _page(
    ask: Callable[[bytes], Awaitable[Result | RpcError]], cursor: bytes | None
) -> _Page | RpcError:
    match await ask(messages.list_params(cursor)):
        case RpcError(code, message) if cursor is not None:
            raise trouble.rpc_error(METHOD, code, message)
        case RpcError() as error:
            return error
        case Result(raw):
            try:
                return _cut(raw)
            except Malformed:
                raise trouble.violation("its list of tools is none") from None


def _cut(raw: bytes) -> _Page:
    members = rawjson.members(raw)
    tools = rawjson.items(members.get("tools", b"null"))
    cursor = members.get("nextCursor", b"null")
    if cursor == b"null":
        return _Page(tools, None)
    rawjson.string(cursor)
    return _Page(tools, cursor)
