"""Which spellings of an upstream's address are taken."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given

from bench.spellings import REFUSED, TAKEN, URLS
from pointsman_contract import url


@pytest.mark.parametrize("spelling", TAKEN)
def test_a_sound_address_is_taken(spelling: str) -> None:
    assert url.problem(spelling) is None


@pytest.mark.parametrize("spelling", REFUSED)
def test_any_other_spelling_is_refused(spelling: str) -> None:
    assert url.problem(spelling) is not None


@pytest.mark.parametrize(
    ("spelling", "words"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param("http://h/" + "a" * 2048, "2048", id="too long"),
        pytest.param("ftp://secret/", "http://", id="another scheme"),
        pytest.param("http://secret\u00fc/", "ASCII", id="a letter beyond ASCII"),
        pytest.param("http://secret\\x/", "backslash", id="a backslash"),
        pytest.param("http://h/#secret", "fragment", id="a fragment"),
        pytest.param("http://u:secret@h/", "user name", id="a user name"),
        pytest.param("http://secret%41/", "%", id="percent in the host"),
        pytest.param("http://[secret]/", "IPv6", id="no address in brackets"),
        pytest.param("http://[::1]secret/", "port", id="more after the bracket"),
        pytest.param("http:///secret", "host", id="no host"),
        pytest.param(f"http://{'secret.' * 40}x/", "253", id="a host too long"),
        pytest.param("http://127.1/?secret", "IPv4", id="half an address"),
        pytest.param("http://-secret/", "labels", id="a label with a hyphen in front"),
        pytest.param("http://xn--secret_/", "punycode", id="punycode that is none"),
        pytest.param("http://h:secret/", "65535", id="no port"),
        pytest.param("http://h/../secret", "dot segment", id="a dot segment"),
    ],
)
def test_a_refusal_says_what_to_change_and_never_shows_the_address(
    spelling: str, words: str
) -> None:
    problem = url.problem(spelling)

    assert problem is not None
    assert problem.startswith("must ")
    assert words in problem
    assert "secret" not in problem


@given(URLS)
def test_what_is_taken_names_the_same_host_to_a_common_parser(spelling: str) -> None:
    if url.problem(spelling) is not None:
        return
    parts = urlsplit(spelling)
    authority = spelling.split("/")[2].partition("?")[0]

    assert parts.scheme in ("http", "https")
    assert parts.netloc == authority
    assert parts.hostname
    assert (parts.username, parts.password, parts.fragment) == (None, None, "")
    assert parts.port is None or 1 <= parts.port <= url.MAX_PORT
    assert parts.geturl().rstrip("?") == spelling.rstrip("?")
