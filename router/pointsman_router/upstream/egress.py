"""Which upstreams are reached through a proxy."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pointsman_contract import environment, url
from pointsman_router import hostnames

_PORT = 80


@dataclass(frozen=True, slots=True)
class Egress:
    """A proxy that opens tunnels, and the hosts that are reached without it."""

    host: str
    port: int
    exempt: tuple[str, ...] = ()

    def leads_to(self, host: str) -> bool:
        """Say whether an upstream at that host is reached through the proxy."""
        return not any(_covers(rule, host) for rule in self.exempt)


def through(proxy_url: str, exempt: Sequence[str]) -> Egress | None:
    """Return the way that settings describe; None where they name no proxy."""
    if not proxy_url:
        return None
    parts = urlsplit(proxy_url)
    return Egress(parts.hostname or "", parts.port or _PORT, tuple(exempt))


def proxy(text: str) -> str:
    """Read the address of a proxy, if there is one; raises ValueError."""
    if not text:
        return ""
    problem = url.problem(text)
    if problem is not None:
        raise ValueError(problem)
    parts = urlsplit(text)
    if parts.scheme != "http" or parts.path not in ("", "/") or "?" in text:
        raise ValueError("must be http://HOST:PORT and nothing more")
    return text


def rules(text: str) -> tuple[str, ...]:
    """Read which hosts are exempt; raises ValueError about the first rule that none would meet."""
    found = environment.words(text)
    for rule in found:
        if problem := _problem(rule):
            raise ValueError(problem)
    return found


def _problem(rule: str) -> str | None:
    """Say what is wrong with a rule that no host would meet, and what to write instead."""
    if _can_match(rule):
        return None
    whole = hostnames.bare(rule)
    name = whole.removeprefix("*.")
    if not _can_match(name):
        return f"must hold host names, addresses, networks such as 10.0.0.0/8, or *; not {rule}"
    covers = "every port" if name == whole else "what lies below it too"
    return f"must not hold {rule}: write {name}, which covers {covers}"


def _can_match(rule: str) -> bool:
    return rule == "*" or _network(_spelled(rule)) is not None or not set("*:/") & set(rule)


def _covers(rule: str, host: str) -> bool:
    """Say whether a rule means a host: itself, one below it, or an address of its network."""
    if rule == "*":
        return True
    name = _spelled(host)
    if hostnames.is_address(name):
        network = _network(_spelled(rule))
        return network is not None and ipaddress.ip_address(name) in network
    suffix = _spelled(rule).removeprefix(".")
    return name == suffix or name.endswith(f".{suffix}")


def _spelled(host: str) -> str:
    return host.lower().removesuffix(".").strip("[]")


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
