"""Two spellings of one host are one name, and no name passes for an address."""

import pytest

from pointsman_router import admission, hostnames


@pytest.mark.parametrize(
    ("spelled", "bare"),
    [
        pytest.param("Router.Tools.svc", "router.tools.svc", id="with capitals"),
        pytest.param("router:8080", "router", id="with a port"),
        pytest.param("router.tools.svc.:80", "router.tools.svc", id="with a final dot and a port"),
        pytest.param(" 127.0.0.1:8080 ", "127.0.0.1", id="an IPv4 address with a port"),
        pytest.param("[::1]:8080", "[::1]", id="an IPv6 address with a port"),
        pytest.param("router:port", "router:port", id="a port that is none"),
    ],
)
def test_a_host_is_known_without_its_port(spelled: str, bare: str) -> None:
    assert hostnames.bare(spelled) == bare


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("10.0.0.1", True, id="IPv4"),
        pytest.param("fd00::5", True, id="IPv6"),
        pytest.param("[fd00::5]", True, id="IPv6 in brackets"),
        pytest.param("10.0.0.1.evil.example", False, id="a name that begins like one"),
        pytest.param("router", False, id="a name"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_an_address_is_told_from_a_name(name: str, expected: bool) -> None:
    assert hostnames.is_address(name) is expected


@pytest.mark.parametrize("written", ["fd00::5", "[fd00::5]", "[FD00::5]:8080"])
def test_an_ipv6_address_is_allowed_however_it_is_written(written: str) -> None:
    hosts = admission.hosts([written])

    assert hosts.answers("[fd00::5]:8080")
    assert not hosts.answers("[fd00::6]:8080")
