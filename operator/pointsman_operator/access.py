"""Where the API server is, who we are there, and what says so."""

from dataclasses import dataclass, field
from pathlib import Path

_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_PATH = f"{_SERVICE_ACCOUNT}/token"
CA_PATH = f"{_SERVICE_ACCOUNT}/ca.crt"
NAMESPACE_PATH = f"{_SERVICE_ACCOUNT}/namespace"


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach the API server."""

    server: str
    authorization: str | None = field(default=None, repr=False)
    """The value of the HTTP header."""
    ca_path: str | None = None
    certificate_path: str | None = None
    key_path: str | None = None
    verify: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class InPod:
    """The service account of the pod that we run in."""

    host: str
    port: str
    token_path: str = TOKEN_PATH
    ca_path: str = CA_PATH


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The current context of a file."""

    path: str


Identification = InPod | Kubeconfig


def in_pod(pod: InPod) -> Access:
    """Return the access of `pod`; its token is rotated, so that only the file knows it."""
    host = f"[{pod.host}]" if ":" in pod.host else pod.host
    return Access(
        server=f"https://{host}:{pod.port}",
        authorization=f"Bearer {Path(pod.token_path).read_text(encoding='ascii').strip()}",
        ca_path=pod.ca_path,
    )
