"""A real API server with its etcd and its controllers, for as long as a test needs it."""

import json
import os
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from bench import kubeconfig, tools
from bench.audit import AuditLog
from bench.waiting import wait_until

_SCRIPTS = Path(__file__).resolve().parent.parent / "cluster"
_CRDS = _SCRIPTS.parents[1] / "crds"
MCP_SERVER = _CRDS / "mcpserver.yaml"
MCP_VIEW = _CRDS / "mcpview.yaml"
_BOOT_TIMEOUT_S = 100.0
_COMMAND_TIMEOUT_S = 60.0
API_SERVER = "kube-apiserver"


class CommandFailed(AssertionError):
    """A command that should have succeeded did not; the message holds its output."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """One running control plane; everything of it lies in `directory`."""

    directory: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def audit(self) -> AuditLog:
        """Every request that the API server has answered."""
        return AuditLog(self.directory / "audit.log")

    @property
    def server(self) -> str:
        """The API server's base URL."""
        return kubeconfig.read(self.kubeconfig).server

    def kubectl(self, *arguments: str | Path, stdin: str = "") -> str:
        """What kubectl prints, as the administrator; `CommandFailed` when it refuses."""
        kubectl = tools.control_plane_binary("kubectl")
        return _run(
            [kubectl, "--kubeconfig", self.kubeconfig, *arguments],
            {"KUBECACHEDIR": str(self.directory / "kubectl-cache")},  # not the user's own
            stdin=stdin,
        )

    def request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """One JSON request as the administrator, blocking; for fixtures, not for async tests."""
        access = kubeconfig.read(self.kubeconfig)
        request = urllib.request.Request(
            access.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {access.token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, context=access.tls(), timeout=30) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")
            raise CommandFailed(f"{method} {path}: {error.code} {said}") from None

    def kubeconfig_of(self, namespace: str, account: str) -> Path:
        """A kubeconfig for a service account, which is made if it is not there: it may nothing.

        Grant it something with `kubectl create role` and `rolebinding`.
        """
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        known = {item["metadata"]["name"] for item in self.request("GET", accounts)["items"]}
        if account not in known:
            self.request("POST", accounts, {"metadata": {"name": account}})
        ask = {"spec": {"expirationSeconds": 3600}}
        token = self.request("POST", f"{accounts}/{account}/token", ask)["status"]["token"]
        admin = kubeconfig.read(self.kubeconfig)
        path = self.directory / f"{namespace}.{account}.kubeconfig"
        return kubeconfig.write(path, replace(admin, token=token))

    def pid(self, component: str = API_SERVER) -> int:
        """The process id of a component, for a test that wants to freeze it."""
        return int((self.directory / "pid" / component).read_text().split()[0])

    def stop(self, component: str = API_SERVER) -> None:
        """Stop one component; its data stays."""
        _run([_SCRIPTS / "component", self.directory, "stop", component])

    def start(self, component: str = API_SERVER) -> None:
        """Start a stopped component on its old port; returns when the API server answers."""
        _run([_SCRIPTS / "component", self.directory, "start", component])

    @contextmanager
    def namespace(self, prefix: str = "test") -> Iterator[str]:
        """A fresh namespace, deleted afterwards without waiting for its end."""
        name = f"{prefix}-{uuid.uuid4().hex[:10]}"
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        try:
            yield name
        finally:
            self._empty(name)

    def _empty(self, namespace: str) -> None:
        # Resources go at once: whoever watches all namespaces next must not meet them.
        for plural in ("mcpviews", "mcpservers"):
            resources = f"/apis/pointsman.dev/v1alpha1/namespaces/{namespace}/{plural}"
            with suppress(CommandFailed, OSError):  # no such kind, or the server was left stopped
                self.request("DELETE", resources)
        with suppress(CommandFailed, OSError):
            self.request("DELETE", f"/api/v1/namespaces/{namespace}")


@contextmanager
def running(directory: Path) -> Iterator[ControlPlane]:
    """A control plane in an empty folder, gone with all its processes and files afterwards."""
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl"):
        tools.control_plane_binary(name)
    directory.mkdir(parents=True, exist_ok=True)
    settings = {"CLUSTER_AUDIT": "1", "CLUSTER_OWNER": str(os.getpid())}
    try:
        _run([_SCRIPTS / "control-plane-up", directory], settings, timeout_s=_BOOT_TIMEOUT_S)
        yield ControlPlane(directory)
    finally:
        _run([_SCRIPTS / "control-plane-down", directory, "--delete"])


def install_all(control_plane: ControlPlane) -> None:
    """Make both kinds."""
    for crd in (MCP_SERVER, MCP_VIEW):
        install(control_plane, crd)


def install(control_plane: ControlPlane, crd: Path) -> None:
    """Make the kind that a CRD file defines, and return when objects of it can be kept."""
    control_plane.kubectl("apply", "--server-side", "-f", crd)
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", crd)
    document = yaml.safe_load(crd.read_text())["spec"]
    version = document["versions"][0]["name"]
    listed = f"/apis/{document['group']}/{version}/{document['names']['plural']}"
    wait_until(  # established is said before the path is served
        lambda: control_plane.request("GET", listed),
        deadline_s=15,
        what=f"{listed} is served",
        ignoring=(CommandFailed,),
    )


def _run(
    command: list[str | Path],
    settings: dict[str, str] | None = None,
    *,
    stdin: str = "",
    timeout_s: float = _COMMAND_TIMEOUT_S,
) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **(settings or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        start_new_session=True,  # Ctrl-C must not stop it half way: what it began is stopped below
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}".strip()
        raise CommandFailed(f"{Path(command[0]).name} ended with {done.returncode}\n{said}")
    return done.stdout
