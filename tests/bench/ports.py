"""Which ports of 127.0.0.1 a test may use."""

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

LOOPBACK = "127.0.0.1"
# Below the range that the kernel takes client ports from, so that none is lost meanwhile.
_FIRST, _LAST = 12000, 19999
_TRIES = 200


def free_port() -> int:
    """A port that nothing listens on, for a program that has to be told its port."""
    for _ in range(_TRIES):
        port = random.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no free port found in {_TRIES} tries")


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses every connection, and that nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind((LOOPBACK, 0))
        yield bound.getsockname()[1]


@contextmanager
def taken_port() -> Iterator[int]:
    """A port on which somebody else listens already."""
    with socket.create_server((LOOPBACK, 0)) as listening:
        yield listening.getsockname()[1]


def listens(port: int) -> bool:
    """Whether something accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0


def linger_off(connection: socket.socket) -> None:
    """Make closing this connection a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
