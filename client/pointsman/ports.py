"""Which port a program may listen on."""

import errno
import socket

# How far above a taken port the next free one is looked for.
TRIES = 100


class NoFreePort(Exception):
    """No port near the one that was asked for is free, or the host is none of this machine's."""


def is_free(host: str, port: int) -> bool:
    """Say whether a program could listen there now; raises NoFreePort for a foreign host."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # As servers do: a port that only lingers from its last user counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as exc:
        if exc.errno in (errno.EADDRINUSE, errno.EACCES):
            return False
        raise NoFreePort(f"{host} is no address of this machine to listen on") from exc
    except UnicodeError as exc:
        raise NoFreePort(f"{host} is no host") from exc
    return True


def first_free(host: str, port: int) -> int:
    """Return the first port from `port` on that a program could listen on; raises NoFreePort."""
    last = min(port + TRIES, 65536)
    for candidate in range(port, last):
        if is_free(host, candidate):
            return candidate
    raise NoFreePort(f"no port from {port} to {last - 1} is free on {host}")


def any_free(host: str) -> int:
    """Return some free port."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
