"""What goes wrong between the router and an upstream, each with its code and our words.

A message is one line, tells whose fault it is or what to change, and holds nothing of a library,
of an address, or of an upstream beyond what `printable` lets through.
"""

from http import HTTPStatus

from pointsman_contract.report import ServerReason, printable
from pointsman_router.failures import Executed

RETRY_AFTER_MAX_MS = 60_000
"""A wait that an upstream demands beyond this is not believed."""
# Statuses by which an upstream says that it did not take the request.
_NOT_TAKEN = frozenset([401, 403, 404, 405, 413, 415, 429])


class Trouble(Exception):
    """Why an upstream gave no answer."""

    def __init__(
        self,
        reason: ServerReason,
        message: str,
        *,
        executed: Executed = Executed.UNKNOWN,
        retry_after_ms: int | None = None,
        status: int | None = None,
        fleeting: bool = False,
        busy: bool = False,
        too_large: bool = False,
        senseless: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.executed = executed
        """What is known of the request that failed."""
        self.retry_after_ms = retry_after_ms
        self.status = status
        """The HTTP status that says no."""
        self.fleeting = fleeting
        """The connection was refused or lost: a new one at once may well work."""
        self.busy = busy
        """The upstream was not asked, since as many calls as it gets are in flight."""
        self.too_large = too_large
        """One answer was over its bound."""
        self.senseless = senseless
        """A whole answer came, and is none in any revision."""

    def unsent(self) -> "Trouble":
        """Return the same trouble, met before the request that matters was sent."""
        return self._but(self.message, Executed.NO)

    def advising(self, advice: str) -> "Trouble":
        """Return the same trouble, and what may be done about it."""
        return self._but(f"{self.message}; {advice}", self.executed)

    def _but(self, message: str, executed: Executed) -> "Trouble":
        return Trouble(
            self.reason,
            message,
            executed=executed,
            retry_after_ms=self.retry_after_ms,
            status=self.status,
            fleeting=self.fleeting,
            busy=self.busy,
            too_large=self.too_large,
            senseless=self.senseless,
        )


def unresolved() -> Trouble:
    """The name has no address, or none came in time."""
    return _unreachable("the host in url has no address: check its spelling and its Service")


def refused() -> Trouble:
    """Nothing listens."""
    return _unreachable(
        "nothing accepts connections at the host and port in url: check that the server runs",
        fleeting=True,
    )


def no_connection(limit_s: float) -> Trouble:
    """Nobody says yes or no."""
    return _unreachable(
        f"the host in url took no connection within {limit_s:g} s:"
        " check the port, and network policies on the way"
    )


def no_proxy(*, fleeting: bool) -> Trouble:
    """No connection to the egress proxy."""
    return _unreachable("the egress proxy takes no connection", fleeting=fleeting)


def no_tunnel(number: int | None) -> Trouble:
    """An egress proxy that does not connect, with the status that says so."""
    said = "does not answer" if number is None else f"answers HTTP {number}"
    return _unreachable(
        f"the egress proxy {said}: check the host and port in url,"
        " or exempt the host from the proxy"
    )


def tls_failed(why: str) -> Trouble:
    """No TLS connection that could be trusted."""
    return Trouble(ServerReason.TLS_FAILED, f"TLS: {why}", executed=Executed.NO)


def lost() -> Trouble:
    """The connection ended before a byte of the answer."""
    return Trouble(
        ServerReason.UNREACHABLE,
        "the upstream closed the connection without an answer",
        fleeting=True,
    )


def closed() -> Trouble:
    """The server went, or has another address now."""
    return _unreachable("the server was just removed or its url changed")


def late(limit_s: float, executed: Executed = Executed.UNKNOWN) -> Trouble:
    """No answer in time."""
    return Trouble(
        ServerReason.TIMEOUT,
        f"the upstream gave no answer within {limit_s:g} s",
        executed=executed,
    )


def stalled(limit_s: float) -> Trouble:
    """An answer that began and does not go on."""
    return Trouble(
        ServerReason.TIMEOUT,
        f"the upstream paused for {limit_s:g} s in the middle of its answer",
    )


def violation(what: str) -> Trouble:
    """An answer that the protocol does not allow; `what` names the upstream's mistake."""
    return Trouble(ServerReason.PROTOCOL_VIOLATION, f"the upstream breaks the protocol: {what}")


def senseless(what: str) -> Trouble:
    """A violation by an answer that was there as a whole."""
    return Trouble(
        ServerReason.PROTOCOL_VIOLATION,
        f"the upstream breaks the protocol: {what}",
        senseless=True,
    )


def unsupported(what: str) -> Trouble:
    """An upstream that speaks no revision of ours."""
    return Trouble(ServerReason.UNSUPPORTED_PROTOCOL, what, executed=Executed.NO)


def status(number: int, retry_after_ms: int | None = None) -> Trouble:
    """An HTTP status that says no."""
    executed = Executed.NO if number in _NOT_TAKEN else Executed.UNKNOWN
    match number:
        case HTTPStatus.TOO_MANY_REQUESTS:
            return throttled(retry_after_ms)
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            reason = ServerReason.UPSTREAM_AUTH_REQUIRED
        case _:
            reason = ServerReason.UPSTREAM_HTTP_ERROR
    words = f"the upstream answers HTTP {number}{_advice(number)}"
    return Trouble(reason, words, executed=executed, status=number)


def throttled(retry_after_ms: int | None) -> Trouble:
    """An upstream that has had enough."""
    return Trouble(
        ServerReason.UPSTREAM_THROTTLED,
        "the upstream limits how often it is called (HTTP 429)",
        executed=Executed.NO,
        retry_after_ms=retry_after_ms,
        status=HTTPStatus.TOO_MANY_REQUESTS,
    )


def session_lost() -> Trouble:
    """A session that is forgotten as soon as it is opened."""
    return Trouble(
        ServerReason.UPSTREAM_HTTP_ERROR,
        "the upstream forgot a session it had just opened:"
        " several replicas behind one url must share their sessions, or have none",
        executed=Executed.NO,
    )


def rpc_error(method: str, code: int, message: str) -> Trouble:
    """A JSON-RPC error to a request of the router's own."""
    return Trouble(
        ServerReason.UPSTREAM_RPC_ERROR,
        f"the upstream answers {method} with error {code}: {printable(message)}",
    )


def too_large(limit_bytes: int) -> Trouble:
    """An answer over a bound."""
    return Trouble(
        ServerReason.LIST_TOO_LARGE,
        f"the upstream's answer is larger than {limit_bytes} bytes",
        too_large=True,
    )


def list_too_large(of: str, what: str) -> Trouble:
    """A list of tools, or the like, over a bound; `what` names the bound."""
    return Trouble(
        ServerReason.LIST_TOO_LARGE,
        f"the upstream's list of {of} {what}",
    )


def cursor_loop(of: str) -> Trouble:
    """A list without an end."""
    return Trouble(
        ServerReason.CURSOR_LOOP,
        f"the upstream's list of {of} never ends: a cursor came twice",
    )


def busy(in_flight: int) -> Trouble:
    """As many calls as one upstream gets."""
    return Trouble(
        ServerReason.UPSTREAM_THROTTLED,
        f"{in_flight} calls are already waiting for this server's answer",
        executed=Executed.NO,
        busy=True,
    )


def _unreachable(message: str, *, fleeting: bool = False) -> Trouble:
    return Trouble(
        ServerReason.UNREACHABLE,
        message,
        executed=Executed.NO,
        fleeting=fleeting,
    )


def _advice(number: int) -> str:
    match number:
        case HTTPStatus.UNAUTHORIZED:
            return ": it wants credentials, which are not supported yet"
        case HTTPStatus.FORBIDDEN:
            return ": it wants credentials, or does not allow the host in url"
        case HTTPStatus.NOT_FOUND:
            return ": check the path in url"
        case HTTPStatus.MISDIRECTED_REQUEST:
            return ": add the host in url to the hosts that it allows"
        case _ if HTTPStatus.MULTIPLE_CHOICES <= number < HTTPStatus.BAD_REQUEST:
            return ", a redirect, which is not followed: put the final address into url"
        case _:
            return ""
