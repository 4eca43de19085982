"""What may be set about a mirror, what each setting is without being set, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pointsman_contract import environment
from pointsman_contract.environment import setting

PREFIX = "POINTSMAN_MIRROR_"

_NAMESPACE = f"{PREFIX}NAMESPACE"
_KUBECONFIG = "KUBECONFIG"
_IN_A_POD = "KUBERNETES_SERVICE_HOST"
_SERVICE_ACCOUNT = "the pod's service account"


def _kubeconfig(text: str) -> str:
    if not text:
        raise ValueError("must name a kubeconfig outside a pod")
    return "" if text == _SERVICE_ACCOUNT else text


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is set about one mirror."""

    namespace: str = setting(
        _NAMESPACE,
        environment.namespace,
        "",
        "the release namespace: where the ConfigMaps are",
        shown="the pod's namespace",
    )
    directory: Path = setting(
        f"{PREFIX}DIRECTORY",
        environment.directory,
        "/var/run/pointsman/servers",
        "where the router reads; nobody else may write there",
    )
    admin_host: str = setting(
        f"{PREFIX}ADMIN_HOST", environment.host, "0.0.0.0", "address of health and metrics"
    )
    admin_port: int = setting(
        f"{PREFIX}ADMIN_PORT",
        environment.whole(0, 65535),
        "9091",
        "port of health and metrics; 0: any",
    )
    page_size: int = setting(
        f"{PREFIX}PAGE_SIZE",
        environment.whole(1, 1000),
        "100",
        "objects per answer to a list: with the largest metas some 25 MiB in memory",
    )
    silence_s: float = setting(
        f"{PREFIX}SILENCE_SECONDS",
        environment.seconds(1, 600),
        "70",
        "a watch silent for longer is opened anew; the API server speaks about once a minute",
    )
    retry_max_s: float = setting(
        f"{PREFIX}RETRY_MAX_SECONDS",
        environment.seconds(0.1, 60),
        "2",
        "longest pause between attempts, so that an outage is over 5 s after its end",
    )
    kubeconfig: str = setting(
        _KUBECONFIG, _kubeconfig, _SERVICE_ACCOUNT, "how to reach the API server"
    )
    """Path of a kubeconfig; empty for the service account of the pod."""


def load(environ: Mapping[str, str], *, pod_namespace: str = "") -> Settings:
    """Return the settings that `environ` makes; raises InvalidSettings with every mistake."""
    defaults = {_NAMESPACE: pod_namespace}
    if not environ.get(_IN_A_POD):
        defaults[_KUBECONFIG] = ""
    return environment.load(Settings, environ, prefix=PREFIX, defaults=defaults)


def table() -> str:
    """Return every variable with its default and its meaning, as `--help` shows it."""
    return environment.table(Settings)
