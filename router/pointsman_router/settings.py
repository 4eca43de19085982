"""What may be set about a router, what each setting is without being set, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pointsman_contract import environment, names
from pointsman_contract.environment import setting
from pointsman_router.listing import Form
from pointsman_router.upstream import egress

PREFIX = "POINTSMAN_ROUTER_"

_PORT = environment.whole(0, 65535)
# It travels in a header of every answer.
_LINE_MAX_LENGTH = 128
# A server that was not there for a month is gone.
_STALE_MAX_S = 30 * 86400


def _form(text: str) -> Form:
    if text not in (Form.DOTTED, Form.SAFE):
        raise ValueError("must be dotted or safe")
    return Form(text)


def _line(text: str) -> str:
    if not text.isprintable() or len(text) > _LINE_MAX_LENGTH:
        raise ValueError(f"must be one printable line of at most {_LINE_MAX_LENGTH} characters")
    return text


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is set about one router."""

    directory: Path = setting(
        f"{PREFIX}DIRECTORY",
        environment.directory,
        "/var/run/pointsman/servers",
        "where the meta.json files of servers and the view.json files of views are",
    )
    link_poll_s: float = setting(
        f"{PREFIX}LINK_POLL_SECONDS",
        environment.seconds(0.01, 60),
        "0.1",
        "how often a directory with a ..data link is looked at: one readlink costs microseconds",
    )
    files_poll_s: float = setting(
        f"{PREFIX}FILES_POLL_SECONDS",
        environment.seconds(0.1, 60),
        "0.5",
        "how often a directory without one is looked at: an edit is to be live within a second",
    )
    host: str = setting(f"{PREFIX}HOST", environment.host, "0.0.0.0", "address of the MCP port")
    port: int = setting(f"{PREFIX}PORT", _PORT, "8080", "the MCP port; 0: any")
    admin_host: str = setting(
        f"{PREFIX}ADMIN_HOST",
        environment.host,
        "0.0.0.0",
        "address of health, metrics, report and page",
    )
    admin_port: int = setting(
        f"{PREFIX}ADMIN_PORT", _PORT, "9090", "port of health, metrics, report and page; 0: any"
    )
    listed_names: Form = setting(
        f"{PREFIX}NAMES",
        _form,
        "dotted",
        "which names /mcp lists: dotted, or safe for model APIs that refuse a dot",
    )
    listed_max_length: int = setting(
        f"{PREFIX}NAMES_MAX_LENGTH",
        environment.whole(*names.LISTED_MAX_LENGTH_BOUNDS),
        str(names.LISTED_MAX_LENGTH),
        "longest listed name: large model APIs refuse over 64 characters, one client over 60",
    )
    allowed_hosts: tuple[str, ...] = setting(
        f"{PREFIX}ALLOWED_HOSTS",
        environment.words,
        "localhost,127.0.0.1,[::1]",
        "Host values that are answered, against rebinding of names; * turns the check off",
    )
    admin_allowed_hosts: tuple[str, ...] = setting(
        f"{PREFIX}ADMIN_ALLOWED_HOSTS",
        environment.words,
        "localhost",
        "names that the admin port answers to beside addresses",
    )
    refresh_s: float = setting(
        f"{PREFIX}REFRESH_SECONDS",
        environment.seconds(1, 86400),
        "60",
        "how often an upstream that cannot notify is listed again",
    )
    stale_s: float = setting(
        f"{PREFIX}STALE_SECONDS",
        environment.seconds(0, _STALE_MAX_S),
        "86400",
        "how long an upstream that cannot be listed is still shown: over a night, not over a week",
    )
    page_size: int = setting(
        f"{PREFIX}PAGE_SIZE",
        environment.whole(1, 10_000),
        "1000",
        "tools per page of a list: some clients read the first page only",
    )
    body_max_bytes: int = setting(
        f"{PREFIX}BODY_MAX_BYTES",
        environment.whole(1024, 64 * 1024 * 1024),
        str(1024 * 1024),
        "largest request of an agent: bodies in flight share the pod's memory",
    )
    body_s: float = setting(
        f"{PREFIX}BODY_SECONDS",
        environment.seconds(1, 600),
        "30",
        "how long a request's body may take to arrive",
    )
    silence_s: float = setting(
        f"{PREFIX}SILENCE_SECONDS",
        environment.seconds(0.1, 300),
        "15",
        "silence after which an answer streams, and a stream shows life: proxies drop the silent",
    )
    stall_s: float = setting(
        f"{PREFIX}STALL_SECONDS",
        environment.seconds(0.1, 600),
        "30",
        "how long an agent may read nothing of what it was sent before its connection is cut",
    )
    streams_max: int = setting(
        f"{PREFIX}SUBSCRIPTIONS_MAX",
        environment.whole(0, 100_000),
        "1000",
        "agents that may wait for changes at once: each holds a connection, and up to 100 KiB",
    )
    notify_s: float = setting(
        f"{PREFIX}NOTIFY_SECONDS",
        environment.seconds(0, 300),
        "0.4",
        "least time between two notices of changes to one agent, which lists again for each",
    )
    linger_s: float = setting(
        f"{PREFIX}LINGER_SECONDS",
        environment.seconds(0, 120),
        "5",
        "how long after SIGTERM new requests are still served: endpoints learn of it late",
    )
    drain_s: float = setting(
        f"{PREFIX}DRAIN_SECONDS",
        environment.seconds(0, 600),
        "40",
        "how long requests in flight may take to end after SIGTERM",
    )
    egress_proxy: str = setting(
        f"{PREFIX}EGRESS_PROXY",
        egress.proxy,
        "",
        "proxy that upstreams are reached through by CONNECT, as http://HOST:PORT; none if empty",
    )
    no_proxy: tuple[str, ...] = setting(
        f"{PREFIX}NO_PROXY",
        egress.rules,
        "localhost,127.0.0.0/8,::1,.svc,.cluster.local",
        "hosts reached without the proxy, and what lies below them: names, addresses, networks, *",
    )
    server_name: str = setting(
        f"{PREFIX}SERVER_NAME",
        _line,
        "pointsman",
        "what this installation calls itself toward agents: some group by it",
    )


def load(environ: Mapping[str, str]) -> Settings:
    """Return the settings that `environ` makes; raises InvalidSettings with every mistake."""
    return environment.load(Settings, environ, prefix=PREFIX)


def table() -> str:
    """Return every variable with its default and its meaning."""
    return environment.table(Settings)
