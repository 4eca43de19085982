"""What may be set about the operator, what each setting is without being set, and why."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pointsman_contract import url
from pointsman_operator.access import Identification, InPod, Kubeconfig
from pointsman_operator.fleet import ByName, Whereabouts

PREFIX = "POINTSMAN_OPERATOR_"
_POD_HOST, _POD_PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"

_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


class InvalidSettings(ValueError):
    """Everything that is wrong with the environment, one mistake a line."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is set about one operator."""

    namespace: str
    watched: tuple[str, ...]
    routers: Whereabouts
    admin_host: str
    admin_port: int
    resync_s: float
    prefix_grace_s: float
    workers: int
    silence_s: float
    identification: Identification


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of the environment, and the field that it sets."""

    name: str
    field: str
    parse: Callable[[str], object]
    default: str
    meaning: str
    shown: str = ""
    """The default in words, where it is no fixed text."""


def _namespace(text: str) -> str:
    if not _DNS_LABEL.fullmatch(text):
        raise ValueError("must be the name of a namespace")
    return text


def _namespaces(text: str) -> tuple[str, ...]:
    names = _words(text)
    if not all(_DNS_LABEL.fullmatch(name) for name in names):
        raise ValueError("must be names of namespaces, separated by commas")
    return tuple(dict.fromkeys(names))


def _routers(text: str) -> Whereabouts:
    addresses = _words(text)
    if len(addresses) == 1 and addresses[0].startswith("dns://"):
        return _by_name(addresses[0])
    for address in addresses:
        problem = url.problem(address)
        if problem is not None or "?" in address:
            raise ValueError(
                "must be URLs separated by commas, or one dns://name:port; one of them"
                f" {problem or 'must not hold a query'}"
            )
    return tuple(dict.fromkeys(address.rstrip("/") for address in addresses))


def _by_name(text: str) -> ByName:
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or not port or parts.path or parts.query or parts.username is not None:
        raise ValueError("must be dns://name:port of a headless Service")
    return ByName(parts.hostname, port)


def _host(text: str) -> str:
    if not text or not text.isprintable() or " " in text:
        raise ValueError("must be a host name or an address")
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(text)

    return parse


def _seconds(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not least <= seconds <= most:
            raise ValueError(f"must be a number of seconds from {least:g} to {most:g}")
        return seconds

    return parse


def _words(text: str) -> list[str]:
    return [word for part in text.split(",") if (word := part.strip())]


TABLE = (
    Variable(
        f"{PREFIX}NAMESPACE",
        "namespace",
        _namespace,
        "",
        "the release namespace: where ConfigMaps are written",
        "the pod's namespace",
    ),
    Variable(
        f"{PREFIX}WATCH_NAMESPACES",
        "watched",
        _namespaces,
        "",
        "whose McpServers are served, separated by commas",
        "all namespaces",
    ),
    Variable(
        f"{PREFIX}ROUTERS",
        "routers",
        _routers,
        "",
        "admin URLs of the routers, separated by commas, or dns://name:port of a headless Service",
        "none: Ready is NoRouter",
    ),
    Variable(
        f"{PREFIX}ADMIN_HOST",
        "admin_host",
        _host,
        "0.0.0.0",
        "address of health and metrics",
    ),
    Variable(
        f"{PREFIX}ADMIN_PORT",
        "admin_port",
        _whole(0, 65535),
        "9090",
        "port of health and metrics; 0: any that is free",
    ),
    Variable(
        f"{PREFIX}RESYNC_SECONDS",
        "resync_s",
        _seconds(1, 86400),
        "300",
        "everything is listed anew this often: what a watch lost is put right by then",
    ),
    Variable(
        f"{PREFIX}PREFIX_GRACE_SECONDS",
        "prefix_grace_s",
        _seconds(0, 7 * 86400),
        "3600",
        "how long a prefix waits for its holder to come back before another may have it",
    ),
    Variable(
        f"{PREFIX}WORKERS",
        "workers",
        _whole(4, 16),
        "8",
        "how many resources are worked on at once: one core's worth of requests",
    ),
    Variable(
        f"{PREFIX}SILENCE_SECONDS",
        "silence_s",
        _seconds(1, 600),
        "70",
        "a watch silent for longer is opened anew; the API server speaks about once a minute",
    ),
)

_KUBECONFIG = Variable(
    "KUBECONFIG", "", str, "", "how to reach the API server", "the pod's service account"
)


def load(environ: Mapping[str, str], *, pod_namespace: str = "") -> Settings:
    """Return the settings that `environ` makes; raises InvalidSettings with every mistake."""
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for variable in TABLE:
        text = environ.get(variable.name, "") or variable.default
        if variable.field == "namespace":
            text = text or pod_namespace
        try:
            values[variable.field] = variable.parse(text)
        except ValueError as exc:
            mistakes.append(f"{variable.name}: {exc}")
    if environ.get("KUBECONFIG"):
        values["identification"] = Kubeconfig(environ["KUBECONFIG"])
    elif environ.get(_POD_HOST) and environ.get(_POD_PORT):
        values["identification"] = InPod(environ[_POD_HOST], environ[_POD_PORT])
    else:
        mistakes.append("KUBECONFIG: must name a kubeconfig outside a pod")
    known = [variable.name for variable in TABLE]
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            mistakes.append(f"{name}: is no setting{_hint(name, known)}")
    if mistakes:
        raise InvalidSettings(mistakes)
    return Settings(**values)


def _hint(name: str, known: list[str]) -> str:
    # The prefix, which all share, would make any two of them look alike.
    words = [each.removeprefix(PREFIX) for each in known]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), words, n=1)
    return f"; did you mean {PREFIX}{near[0]}?" if near else ""


def table() -> str:
    """Return every variable with its default and its meaning, as `--help` shows it."""
    rows = [(each.name, each.shown or each.default, each.meaning) for each in (*TABLE, _KUBECONFIG)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{name:<{widths[0]}}  {default:<{widths[1]}}  {meaning}" for name, default, meaning in rows
    )
