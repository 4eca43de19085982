"""How a request to a modern upstream describes itself: in its headers, and again in its `_meta`."""

from collections.abc import Mapping, Sequence

from pointsman_contract import rawjson
from pointsman_router import headervalues, metakeys
from pointsman_router.eras import Revision
from pointsman_router.upstream import messages

_VERSION = Revision.MODERN.value
# Which parameter the Mcp-Name header repeats.
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# What is kept of spelled names. A server has fewer tools, and shorter names of them; resources'
# come from agents, and may be any number.
_NAMES_MAX = 1024
_NAME_MAX_BYTES = 256


class Self:
    """What requests to one modern upstream say, as far as it is the same again and again."""

    def __init__(self, version: str) -> None:
        self._begin = b'{"%b":"%b","%b":%b,"%b":' % (
            metakeys.PROTOCOL_VERSION.encode(),
            _VERSION.encode(),
            metakeys.CLIENT_INFO.encode(),
            messages.client_info(version),
            metakeys.CLIENT_CAPABILITIES.encode(),
        )
        self.idle_meta = self.meta()
        """The `_meta` of a request of the router's own, to which nothing was declared."""
        self._said: dict[tuple[str, bytes | None], Mapping[str, str]] = {}

    def meta(
        self,
        capabilities: bytes = b"{}",
        *,
        log_level: bytes | None = None,
        token: str | None = None,
        others: Mapping[str, bytes] | None = None,
    ) -> bytes:
        """Return the `_meta` of one request; `others` are the keys that are not ours."""
        parts = [self._begin, capabilities]
        if log_level is not None:
            parts += (b',"', metakeys.LOG_LEVEL.encode(), b'":', log_level)
        if token is not None:
            parts += (b',"progressToken":"', token.encode(), b'"')
        for name, value in (others or {}).items():
            parts += (b",", rawjson.quote(name), b":", value)
        parts.append(b"}")
        return b"".join(parts)

    def headers(
        self, method: str, params: Mapping[str, bytes], more: Sequence[tuple[str, str]] = ()
    ) -> Mapping[str, str]:
        """Return the headers in which a request says again what its body says."""
        raw = params.get(_NAMED_BY.get(method, ""))
        said = self._said.get((method, raw))
        if said is None:
            said = _said(method, raw)
            if raw is None or len(raw) <= _NAME_MAX_BYTES:
                if len(self._said) >= _NAMES_MAX:
                    self._said.clear()
                self._said[method, raw] = said
        return {**said, **dict(more)} if more else said


def _said(method: str, raw: bytes | None) -> Mapping[str, str]:
    said = {"MCP-Protocol-Version": _VERSION, "Mcp-Method": method}
    if raw is not None and (name := _spelled(raw)) is not None:
        said["Mcp-Name"] = name
    return said


def _spelled(raw: bytes) -> str | None:
    try:
        return headervalues.encode(rawjson.string(raw))
    except UnicodeEncodeError:
        return None  # half a surrogate pair: a server that insists on the header says so
