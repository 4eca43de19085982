"""What an operator may do: no more than its work takes."""

from pathlib import Path
from typing import Any

from bench.controlplane import ControlPlane

ACCOUNT = "operator"
_RBAC = "rbac.authorization.k8s.io"
RESOURCES: list[dict[str, Any]] = [
    {
        "apiGroups": ["pointsman.dev"],
        "resources": ["mcpservers", "mcpviews"],
        "verbs": ["list", "watch"],
    },
    {
        "apiGroups": ["pointsman.dev"],
        "resources": ["mcpservers/status", "mcpviews/status"],
        "verbs": ["patch"],
    },
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
]
CONFIG_MAPS: list[dict[str, Any]] = [
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["list", "watch", "create", "patch", "delete"],
    }
]


def grant(control_plane: ControlPlane, release: str, tenant: str = "") -> Path:
    """The kubeconfig of a service account with these rights, in one tenant's namespace or all."""
    path = control_plane.kubeconfig_of(release, ACCOUNT)
    allow(control_plane, release, "config-maps", CONFIG_MAPS, account_in=release)
    allow(control_plane, tenant, f"resources-{release}", RESOURCES, account_in=release)
    return path


def allow(
    control_plane: ControlPlane,
    namespace: str,
    name: str,
    rules: list[dict[str, Any]],
    *,
    account_in: str,
) -> None:
    """Give the account a role of these rules, in a namespace or, without one, everywhere."""
    scope = "" if namespace else "Cluster"
    role = f"{scope}Role"
    body: dict[str, Any] = {"metadata": {"name": name}}
    control_plane.request("POST", _path(namespace, role), {**body, "rules": rules})
    body["roleRef"] = {"apiGroup": _RBAC, "kind": role, "name": name}
    body["subjects"] = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": account_in}]
    control_plane.request("POST", _path(namespace, f"{role}Binding"), body)


def withdraw(control_plane: ControlPlane, namespace: str, name: str) -> None:
    """Take a role away again."""
    role = "Role" if namespace else "ClusterRole"
    control_plane.request("DELETE", f"{_path(namespace, f'{role}Binding')}/{name}")
    control_plane.request("DELETE", f"{_path(namespace, role)}/{name}")


def _path(namespace: str, kind: str) -> str:
    within = f"namespaces/{namespace}/" if namespace else ""
    return f"/apis/{_RBAC}/v1/{within}{kind.lower()}s"
