"""Which host a header, an origin or a setting names."""

import ipaddress
import re

_PORT = re.compile(r":[0-9]{1,5}\Z", re.ASCII)


def bare(host: str) -> str:
    """Return a host as a header spells it, without port, case and final dot."""
    return _PORT.sub("", host.strip().lower()).removesuffix(".")


def allowed(host: str) -> str:
    """Return what `bare` makes of a header that names `host`, which a person may have written.

    Only headers demand brackets around an IPv6 address (RFC 9110, 7.2).
    """
    name = host.strip()
    is_ipv6 = ":" in name and is_address(name)
    return bare(f"[{name.strip('[]')}]" if is_ipv6 else name)


def is_address(name: str) -> bool:
    """Say whether a host, in brackets or not, is an address and no name that somebody resolves."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
