"""What of an agent's request its upstream is asked."""

from collections.abc import Mapping

import msgspec
from msgspec import structs

from pointsman_contract import rawjson
from pointsman_router import exposure, metakeys, paramheaders, prompts, refusals, resources
from pointsman_router.jsonrpc import Request
from pointsman_router.refusals import Refusal
from pointsman_router.upstream.asking import RESUMING, Call

# What a server needs to find its way back into a call is short; a longer state is no state.
_STATE_MAX_BYTES = 64 * 1024
# What a completion is asked with.
_COMPLETING = frozenset(["ref", "argument", "context"])
# What an upstream may ask of an agent through the router; nothing else is relayed back.
_RELAYED_CAPABILITIES = ("elicitation", "roots", "sampling")
# A legacy agent is promised `logging`, and cannot say with its call what it wants of it; a modern
# upstream logs nothing unasked. This is what servers log by default.
_LEGACY_LOG_LEVEL = b'"info"'
# By their first characters: objects, lists and booleans.
_NEVER_A_TOKEN = frozenset("{[tf")


Route = exposure.Route | prompts.Route | resources.Route


class Forward(msgspec.Struct, frozen=True):
    """A request that goes to an upstream."""

    route: Route
    call: Call
    token: bytes | None = None
    """The agent's own name for the call's progress: a string or a number, as JSON."""
    is_resumed: bool = False
    """Whether it brings the input that the call asked for."""
    by_arguments: bool = False
    """Whether the agent's arguments say where it goes: its next call may go elsewhere."""

    @property
    def calls_tool(self) -> bool:
        """Whether its results can say no."""
        return isinstance(self.route, exposure.Route)

    @property
    def is_plain(self) -> bool:
        """Whether structure in its result is an object."""
        return not isinstance(self.route, exposure.Route) or self.route.is_plain


def forward(
    route: exposure.Route,
    request: Request,
    arguments: bytes,
    *,
    is_modern: bool,
    by_arguments: bool = False,
) -> Forward | Refusal:
    """Return the `tools/call` that `route` gets; `arguments` go byte for byte."""
    params = {"name": rawjson.quote(route.tool), "arguments": arguments}
    headers = paramheaders.headers(route.annotations, arguments) if route.annotations else ()
    going = _resumable(route, request, params, is_modern=is_modern, headers=headers)
    if by_arguments and isinstance(going, Forward):
        return structs.replace(going, by_arguments=True)
    return going


def prompt(route: prompts.Route, request: Request, *, is_modern: bool) -> Forward | Refusal:
    """Return the `prompts/get` that `route` gets."""
    params = {"name": rawjson.quote(route.prompt)}
    if "arguments" in request.params:
        params["arguments"] = request.params["arguments"]
    return _resumable(route, request, params, is_modern=is_modern)


def resource(route: resources.Route, request: Request, *, is_modern: bool) -> Forward | Refusal:
    """Return the `resources/read` that `route` gets."""
    params = {"uri": rawjson.quote(route.uri)}
    return _resumable(route, request, params, is_modern=is_modern)


def completion(
    route: prompts.Route | resources.Route,
    request: Request,
    params: Mapping[str, bytes],
    *,
    is_modern: bool,
) -> Forward | Refusal:
    """Return the `completion/complete` that `route` gets, with parameters that it understands."""
    own = {name: value for name, value in params.items() if name in _COMPLETING}
    return _forward(route, request, own, is_modern=is_modern)


def _resumable(
    route: Route,
    request: Request,
    params: dict[str, bytes],
    *,
    is_modern: bool,
    headers: tuple[tuple[str, str], ...] = (),
) -> Forward | Refusal:
    """Return a request that may ask for input, and perhaps brings it."""
    is_resumed = False
    if is_modern:
        if len(request.params.get("requestState", b"")) > _STATE_MAX_BYTES:
            return refusals.invalid_params(
                f"params.requestState must be of at most {_STATE_MAX_BYTES} bytes."
            )
        for name in RESUMING:
            if name in request.params:
                params[name] = request.params[name]
                is_resumed = True
    return _forward(
        route, request, params, is_modern=is_modern, headers=headers, is_resumed=is_resumed
    )


def _forward(
    route: Route,
    request: Request,
    params: Mapping[str, bytes],
    *,
    is_modern: bool,
    headers: tuple[tuple[str, str], ...] = (),
    is_resumed: bool = False,
) -> Forward | Refusal:
    meta = request.meta
    if meta is None:
        return refusals.invalid_params("params._meta must be an object with unique members.")
    token = meta.get(metakeys.PROGRESS_TOKEN)
    if token == b"null":  # some clients write it for none
        token = None
    if token is not None and rawjson.kind(token) in _NEVER_A_TOKEN:
        return refusals.invalid_params("params._meta.progressToken must be a string or a number.")
    call = Call(
        method=request.method,
        params=params,
        meta={key: value for key, value in meta.items() if metakeys.goes_on(key)},
        timeout_s=route.timeout_s,
        capabilities=_relayed(meta.get(metakeys.CLIENT_CAPABILITIES)) if is_modern else b"{}",
        log_level=_level(meta) if is_modern else _LEGACY_LOG_LEVEL,
        wants_progress=token is not None,
        headers=headers,
    )
    return Forward(route, call, token, is_resumed)


def _level(meta: Mapping[str, bytes]) -> bytes | None:
    level = meta.get(metakeys.LOG_LEVEL)
    return level if level is not None and rawjson.kind(level) == '"' else None


def _relayed(capabilities: bytes | None) -> bytes:
    """Return the capabilities of the agent of which an upstream can make use."""
    if capabilities is None or capabilities == b"{}":
        return b"{}"
    return rawjson.assemble(
        (name, value)
        for name, value in rawjson.pairs(capabilities)
        if name in _RELAYED_CAPABILITIES
    )
