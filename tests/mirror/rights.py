"""What a mirror may do: list and watch ConfigMaps in its own namespace, nothing else."""

from pathlib import Path
from typing import Any

from bench.controlplane import ControlPlane

ACCOUNT = "mirror"
_RBAC = "rbac.authorization.k8s.io"


def grant(control_plane: ControlPlane, namespace: str) -> Path:
    """The kubeconfig of a service account that has these rights."""
    path = control_plane.kubeconfig_of(namespace, ACCOUNT)
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    role = {"metadata": {"name": ACCOUNT}, "rules": [rule]}
    control_plane.request("POST", _path(namespace, "roles"), role)
    bind(control_plane, namespace)
    return path


def bind(control_plane: ControlPlane, namespace: str) -> None:
    """Give the account its role."""
    binding: dict[str, Any] = {
        "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    }
    control_plane.request("POST", _path(namespace, "rolebindings"), binding)


def unbind(control_plane: ControlPlane, namespace: str) -> None:
    """Take the role away."""
    control_plane.request("DELETE", f"{_path(namespace, 'rolebindings')}/{ACCOUNT}")


def _path(namespace: str, plural: str) -> str:
    return f"/apis/{_RBAC}/v1/namespaces/{namespace}/{plural}"
