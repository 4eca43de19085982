"""Which port is taken where another is in use."""

import socket

import pytest

from bench import ports as bench_ports
from pointsman import ports
from pointsman.ports import NoFreePort


def test_a_free_port_is_taken_as_wished() -> None:
    port = bench_ports.free_port()

    assert ports.first_free("127.0.0.1", port) == port


def test_behind_a_taken_port_comes_the_next_free_one() -> None:
    with bench_ports.taken_port() as port:
        found = ports.first_free("127.0.0.1", port)

        assert port < found <= port + ports.TRIES


def test_a_port_that_somebody_has_on_every_address_is_taken() -> None:
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        assert not ports.is_free("127.0.0.1", everywhere.getsockname()[1])


def test_behind_the_last_port_comes_none() -> None:
    with (
        socket.create_server(("127.0.0.1", 65535)),
        pytest.raises(NoFreePort, match="no port from 65535 to 65535 is free"),
    ):
        ports.first_free("127.0.0.1", 65535)


@pytest.mark.parametrize(
    ("host", "said"),
    [
        pytest.param("192.0.2.1", "no address of this machine", id="another machine's"),
        pytest.param("fe80::1%nowhere", "no address of this machine", id="no interface's"),
        pytest.param("a" * 64, "is no host", id="longer than a label may be"),
    ],
)
def test_an_address_that_is_not_here_is_refused(host: str, said: str) -> None:
    with pytest.raises(NoFreePort, match=said):
        ports.is_free(host, 8080)
