"""Which spellings of an upstream's address are taken, and what is wrong with the others.

Characters are judged on the raw text, before any parser sees it: common URL parsers strip tabs,
fold characters and repair missing hosts, each in its own way, so that what one checked is not
what another dials. The CRD states the same rules in CEL.
"""

import ipaddress
import re

MAX_LENGTH = 2048
MAX_PORT = 65535

_SCHEMES = ("http://", "https://")
_HOST_MAX_LENGTH = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII | re.IGNORECASE)
_PUNYCODE = re.compile(r"xn--[a-z0-9-]*[a-z0-9]", re.ASCII | re.IGNORECASE)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_DOT_SEGMENT = re.compile(r"(\.|%2e){1,2}", re.ASCII | re.IGNORECASE)


def problem(url: str) -> str | None:
    """Return what has to change in `url` before it is an upstream's address, or None.

    The text never repeats the address: it may hold what must not be shown.
    """
    if not url:
        return "must not be empty"
    if len(url) > MAX_LENGTH:
        return f"must not be longer than {MAX_LENGTH} characters"
    if not url.startswith(_SCHEMES):
        return "must begin with http:// or https:// in lower case"
    if not all("!" <= character <= "~" for character in url):
        return "must hold only visible ASCII characters (write an international host in punycode)"
    for character, name in (("\\", "a backslash"), ("#", "a fragment (#)")):
        if character in url:
            return f"must not hold {name}"
    authority, path = _split(url)
    return _authority_problem(authority) or _path_problem(path)


def _split(url: str) -> tuple[str, str]:
    rest = url.partition("://")[2]
    end = next((at for at, character in enumerate(rest) if character in "/?"), len(rest))
    return rest[:end], rest[end:].partition("?")[0]


def _authority_problem(authority: str) -> str | None:
    if "@" in authority:
        return "must not hold a user name or password"
    if "%" in authority:
        return "must not hold % in the host"
    if authority.startswith("["):
        host, closing, port = authority[1:].partition("]")
        if not closing or not _is_ipv6(host):
            return "must hold a valid IPv6 address between brackets"
        if port and not port.startswith(":"):
            return "must hold nothing but a port after the bracket"
        return _port_problem(port)
    host, colon, port = authority.partition(":")
    return _host_problem(host) or _port_problem(colon + port)


def _host_problem(host: str) -> str | None:
    if not host:
        return "must name a host"
    name = host.removesuffix(".")
    if len(name) > _HOST_MAX_LENGTH:
        return f"must name a host of at most {_HOST_MAX_LENGTH} characters"
    labels = name.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return None if _is_ipv4(host) else "must spell an IPv4 address as four decimal numbers"
    for label in labels:
        if not _LABEL.fullmatch(label):
            return "must name a host of labels of 1 to 63 letters, digits and inner hyphens"
        if label[:4].lower() == "xn--" and not _PUNYCODE.fullmatch(label):
            return "must name a host whose punycode labels are complete"
    return None


def _port_problem(port: str) -> str | None:
    if not port:
        return None
    digits = port[1:]
    if _PORT.fullmatch(digits) and int(digits) <= MAX_PORT:
        return None
    return f"must name a port from 1 to {MAX_PORT}"


def _path_problem(path: str) -> str | None:
    if any(_DOT_SEGMENT.fullmatch(segment) for segment in path.split("/")):
        return "must not hold a dot segment (/./ or /../) in the path"
    return None


def _is_ipv4(text: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(text)) == text
    except ValueError:
        return False


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
