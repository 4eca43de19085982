"""What may be set about the operator, what each setting is without being set, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from pointsman_contract import environment, labels, url
from pointsman_contract.environment import setting
from pointsman_operator.access import Identification, InPod, Kubeconfig
from pointsman_operator.fleet import ByName, Whereabouts

PREFIX = "POINTSMAN_OPERATOR_"

_NAMESPACE = f"{PREFIX}NAMESPACE"
_KUBECONFIG = "KUBECONFIG"
_POD_HOST, _POD_PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def _namespaces(text: str) -> tuple[str, ...]:
    names = environment.words(text)
    if not all(labels.is_dns_label(name) for name in names):
        raise ValueError("must be names of namespaces, separated by commas")
    return tuple(dict.fromkeys(names))


def _routers(text: str) -> Whereabouts:
    addresses = environment.words(text)
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


def _kubeconfig(text: str) -> Identification:
    if not text:
        raise ValueError("must name a kubeconfig outside a pod")
    return Kubeconfig(text)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is set about one operator."""

    namespace: str = setting(
        _NAMESPACE,
        environment.namespace,
        "",
        "the release namespace: where ConfigMaps are written",
        shown="the pod's namespace",
    )
    watched: tuple[str, ...] = setting(
        f"{PREFIX}WATCH_NAMESPACES",
        _namespaces,
        "",
        "whose McpServers are served, separated by commas",
        shown="all namespaces",
    )
    routers: Whereabouts = setting(
        f"{PREFIX}ROUTERS",
        _routers,
        "",
        "admin URLs of the routers, separated by commas, or dns://name:port of a headless Service",
        shown="none: Ready is NoRouter",
    )
    admin_host: str = setting(
        f"{PREFIX}ADMIN_HOST", environment.host, "0.0.0.0", "address of health and metrics"
    )
    admin_port: int = setting(
        f"{PREFIX}ADMIN_PORT",
        environment.whole(0, 65535),
        "9090",
        "port of health and metrics; 0: any that is free",
    )
    resync_s: float = setting(
        f"{PREFIX}RESYNC_SECONDS",
        environment.seconds(1, 86400),
        "300",
        "everything is listed anew this often: what a watch lost is put right by then",
    )
    prefix_grace_s: float = setting(
        f"{PREFIX}PREFIX_GRACE_SECONDS",
        environment.seconds(0, 7 * 86400),
        "3600",
        "how long a prefix waits for its holder to come back before another may have it",
    )
    workers: int = setting(
        f"{PREFIX}WORKERS",
        environment.whole(4, 16),
        "8",
        "how many resources are worked on at once: one core's worth of requests",
    )
    silence_s: float = setting(
        f"{PREFIX}SILENCE_SECONDS",
        environment.seconds(1, 600),
        "70",
        "a watch silent for longer is opened anew; the API server speaks about once a minute",
    )
    repair_interval_s: float = setting(
        f"{PREFIX}REPAIR_SECONDS",
        environment.seconds(0, 3600),
        "10",
        "somebody who undoes repairs of one ConfigMap is answered this often; others at once",
    )
    settled_after_s: float = setting(
        f"{PREFIX}SETTLED_SECONDS",
        environment.seconds(0, 3600),
        "10",
        "how routers count and differ is written once it stood still so long: a rollout changes it",
    )
    event_burst: int = setting(
        f"{PREFIX}EVENT_BURST",
        environment.whole(0, 1000),
        "10",
        "Events of one resource at once, for all that may happen within minutes; 0: none at all",
    )
    event_interval_s: float = setting(
        f"{PREFIX}EVENT_INTERVAL_SECONDS",
        environment.seconds(1, 86400),
        "60",
        "beyond the burst a resource has one Event so often: one that flaps fills no history",
    )
    identification: Identification = setting(
        _KUBECONFIG, _kubeconfig, "the pod's service account", "how to reach the API server"
    )


def load(environ: Mapping[str, str], *, pod_namespace: str = "") -> Settings:
    """Return the settings that `environ` makes; raises InvalidSettings with every mistake."""
    host, port = environ.get(_POD_HOST), environ.get(_POD_PORT)
    pod = InPod(host, port) if host and port else None
    defaults = {_NAMESPACE: pod_namespace}
    if pod is None:
        defaults[_KUBECONFIG] = ""
    chosen = environment.load(Settings, environ, prefix=PREFIX, defaults=defaults)
    if pod is None or environ.get(_KUBECONFIG):
        return chosen
    return replace(chosen, identification=pod)


def table() -> str:
    """Return every variable with its default and its meaning, as `--help` shows it."""
    return environment.table(Settings)
