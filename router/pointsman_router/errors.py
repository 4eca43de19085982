"""How an upstream's trouble is told where no result can tell it: as a JSON-RPC error."""

from pointsman_contract import rawjson
from pointsman_router import failures, jsonrpc
from pointsman_router.eras import Revision
from pointsman_router.failures import Failure
from pointsman_router.jsonrpc import RpcError
from pointsman_router.refusals import RESOURCE_NOT_FOUND, Code
from pointsman_router.respond import ERROR_MAX_BYTES, Asker, Outcome, Response

_READ = "resources/read"
# What only one era knows; an agent of the other is told that its server failed.
_MODERN_ALONE = frozenset([Code.HEADER_MISMATCH, Code.MISSING_CAPABILITY, Code.UNSUPPORTED_VERSION])
_LEGACY_ALONE = frozenset([Code.URL_ELICITATION_REQUIRED])


def failed(failure: Failure, asker: Asker) -> Response:
    """Tell of an upstream's trouble; one is never an HTTP status of ours."""
    body = jsonrpc.error_response(
        asker.id, failure.code, failures.error_words(failure), failures.meta(failure)
    )
    return Response(200, body, outcome=Outcome.REFUSED)


def untold(server: str, why: str, asker: Asker) -> Response:
    """Tell of a result that this agent could make nothing of."""
    message = f"Server {server} gave no result that could be passed on: {why}."
    return Response(200, jsonrpc.error_response(asker.id, jsonrpc.INTERNAL_ERROR, message))


def relayed(server: str, error: RpcError, method: str, asker: Asker) -> Response:
    """Relay an upstream's own error, in the codes that the agent's era has for it."""
    code = _code(error, method, is_modern=asker.revision is Revision.MODERN)
    status = 400 if code == Code.MISSING_CAPABILITY else 200
    if len(error.raw) > ERROR_MAX_BYTES:
        text = failures.error_text(server, error.code, error.message)
        return Response(status, jsonrpc.error_response(asker.id, code, text))
    raw = error.raw
    if code != error.code:
        told = dict(rawjson.pairs(raw)) | {"code": str(code).encode()}
        raw = rawjson.assemble(told)
    return Response(status, jsonrpc.raw_error_response(asker.id, raw))


def _code(error: RpcError, method: str, *, is_modern: bool) -> int:
    code = error.code
    if is_modern:
        # It is never sent in the agent's era, of whichever the upstream is.
        if code == RESOURCE_NOT_FOUND:
            return jsonrpc.INVALID_PARAMS
        return jsonrpc.INTERNAL_ERROR if code in _LEGACY_ALONE else code
    if code == jsonrpc.INVALID_PARAMS and method == _READ and error.is_modern:
        # The only parameter of it is the URI. A legacy upstream has a code for an unknown one,
        # and means something else.
        return RESOURCE_NOT_FOUND
    return jsonrpc.INTERNAL_ERROR if code in _MODERN_ALONE else code
