"""What a kubeconfig says about reaching an API server."""

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Access:
    """Address, authority and bearer token of one user of one cluster."""

    server: str
    authority: str
    token: str

    def tls(self) -> ssl.SSLContext:
        """A context that trusts this cluster's authority alone."""
        return ssl.create_default_context(cadata=self.authority)


def read(path: Path) -> Access:
    """The access that a kubeconfig of the control plane's scripts describes."""
    document = yaml.safe_load(path.read_text())
    cluster = document["clusters"][0]["cluster"]
    return Access(
        server=cluster["server"],
        authority=base64.b64decode(cluster["certificate-authority-data"]).decode(),
        token=document["users"][0]["user"]["token"],
    )


def write(path: Path, access: Access) -> Path:
    """Write a kubeconfig that uses this access, readable by its owner only."""
    authority = base64.b64encode(access.authority.encode()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [
            {
                "name": "test",
                "cluster": {"server": access.server, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": "user", "user": {"token": access.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document))
    return path
