"""How long an upstream may take, and how much it may send."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one upstream's wire; each default stands with its reason."""

    resolve_s: float = 2.0
    """A name service inside a cluster answers in milliseconds; silence is a fault."""
    connect_s: float = 2.0
    """A black hole must not cost a call's whole time."""
    tls_s: float = 3.0
    """A handshake is two round trips and some arithmetic."""
    tunnel_s: float = 5.0
    """An egress proxy asks a name service and connects, each about as long as we would."""
    keepalive_s: float = 3.0
    """Many servers close an idle connection after 5 s: ours is gone before."""

    first_byte_s: float = 10.0
    """Opening a session and listing need no work upstream. A tool may be slow: calls have none."""
    opening_s: float = 15.0
    """`initialize` at its bound, and time for the notification behind it."""
    listing_s: float = 30.0
    """All pages of one list."""
    pause_s: float = 30.0
    """Silence inside a JSON body that has begun; an event stream may be silent to the deadline."""
    farewell_s: float = 2.0
    """Ending a session is a courtesy that nobody waits long for."""
    reply_s: float = 10.0
    """Answering an upstream's own request, beside the call that it interrupts."""
    drain_s: float = 1.0
    """What follows the answer on an event stream, before its connection is given up."""

    header_line_max_bytes: int = 8 * KIB
    head_max_bytes: int = 64 * KIB
    headers_max: int = 128
    """Heads in the field have a tenth of each; trailers and what is put around chunks count too."""
    interims_max: int = 16
    """Answers that only announce the answer; servers send one or two."""
    held_max_bytes: int = 64 * KIB
    """Of an answer that nobody takes; then the upstream is read no further, and has to wait."""

    body_max_bytes: int = 4 * MIB
    """A result that fits neither a model nor, sixty-four at once, a small pod's memory."""
    at_once_max_bytes: int = 512 * KIB
    nested_at_once_max_bytes: int = 64 * KIB
    """What is read in the loop, which takes less than a millisecond, also where it is nested more
    than most; more is read beside it, so that no other call waits."""
    line_max_bytes: int = 1 * MIB
    """One line of an event stream; clients refuse larger events."""
    event_max_bytes: int = 4 * MIB
    """One event is at most one body."""
    events_max: int = 10_000
    """Events of one call: far more progress than anybody reads."""
    stream_max_bytes: int = 64 * MIB
    stream_lines_max: int = 250_000
    """One event stream in all, its comments included: reading more would cost the other calls."""
    drain_max_bytes: int = 64 * KIB
    """What may follow the answer on an event stream whose connection is to be kept."""
    drains_max: int = 64
    """Event streams whose end is waited for: one that never ends its streams may not hold more."""

    page_max_bytes: int = 2 * MIB
    pages_max: int = 50
    tools_max: int = 1000
    list_max_bytes: int = 8 * MIB
    """A list beyond any of these four fits no model, and is a fault more likely than a wish."""

    in_flight_max: int = 64
    waiting_max: int = 64
    waiting_s: float = 1.0
    """Calls at one upstream, and calls that wait for one of them to end: the rest is refused."""
    replies_max: int = 64
    """Requests of an upstream that are being answered; one with more of them is not sane."""

    revise_s: float = 3600.0
    """How long a server counts as one of the legacy era before it is asked again."""
    listening_s: float = 1800.0
    """How long one stream of changes is kept: a dead connection may look like a silent one."""
    listening_pause_s: tuple[float, float] = (1.0, 60.0)
    """Between streams of changes that end early, doubled each time, and at most."""
    steady_s: float = 30.0
    """A stream of changes that lived so long did not end early."""
    change_max_bytes: int = 64 * KIB
    """One event on a stream of changes, which says little."""

    retries: int = 2
    retry_pause_s: tuple[float, float] = (0.05, 0.5)
    """For requests without effect whose connection was lost; more only multiplies an outage."""
