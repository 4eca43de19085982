"""The Kubernetes API as tests speak it: plain documents, refusals as values to assert on."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bench import kubeconfig

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object, and where the API server keeps it."""

    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection or of one object; without a namespace: of all."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"namespaces/{namespace}" if self.namespaced and namespace else ""
        return "/".join(part for part in (root, within, self.plural, name, subresource) if part)


CONFIG_MAP = Kind("configmaps")
SECRET = Kind("secrets")
SERVICE_ACCOUNT = Kind("serviceaccounts")
NAMESPACE = Kind("namespaces", namespaced=False)
EVENT = Kind("events")
NEW_EVENT = Kind("events", "events.k8s.io")
ROLE = Kind("roles", "rbac.authorization.k8s.io")
ROLE_BINDING = Kind("rolebindings", "rbac.authorization.k8s.io")
CRD = Kind("customresourcedefinitions", "apiextensions.k8s.io", namespaced=False)
MCP_SERVER = Kind("mcpservers", "pointsman.dev", "v1alpha1")
MCP_VIEW = Kind("mcpviews", "pointsman.dev", "v1alpha1")


class Refused(Exception):
    """The API server said no: HTTP status, reason and message as it gave them."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class ClusterApi:
    """One user's requests to one API server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Body:
        """One object, or `Refused` (404)."""
        return await self._ask("GET", kind.path(namespace, name))

    async def find(self, kind: Kind, name: str, namespace: str = "") -> Body | None:
        """One object, or None where there is none."""
        try:
            return await self.get(kind, name, namespace)
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    async def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Body]:
        """All objects of a namespace (or of all of them), narrowed by a label selector."""
        query = {"labelSelector": labels} if labels else {}
        found = await self._ask("GET", kind.path(namespace), query=query)
        items: list[Body] = found["items"]
        return items

    async def create(self, kind: Kind, body: Body, *, strict: bool = False) -> Body:
        """Create the object; `strict` refuses unknown fields instead of dropping them."""
        return await self._ask("POST", kind.path(_namespace(body)), body, query=_validation(strict))

    async def replace(self, kind: Kind, body: Body, *, strict: bool = False) -> Body:
        """Put the whole object in place of the one there (its resourceVersion must agree)."""
        path = kind.path(_namespace(body), body["metadata"]["name"])
        return await self._ask("PUT", path, body, query=_validation(strict))

    async def apply(
        self,
        kind: Kind,
        body: Body,
        *,
        manager: str = "test",
        subresource: str = "",
        strict: bool = False,
    ) -> Body:
        """Server-side apply, as `kubectl apply --server-side --force-conflicts` does it."""
        path = kind.path(_namespace(body), body["metadata"]["name"], subresource)
        query = {"fieldManager": manager, "force": "true", **_validation(strict)}
        return await self._ask("PATCH", path, body, query=query, form="apply-patch+yaml")

    async def patch(  # a merge patch: what is null goes
        self, kind: Kind, name: str, patch: Body, namespace: str = "", *, subresource: str = ""
    ) -> Body:
        """Change the named fields; those set to None are removed."""
        path = kind.path(namespace, name, subresource)
        return await self._ask("PATCH", path, patch, form="merge-patch+json")

    async def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Delete the object, or `Refused` (404)."""
        await self._ask("DELETE", kind.path(namespace, name))

    async def _ask(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        query: Mapping[str, str] | None = None,
        form: str = "json",
    ) -> Body:
        data = None if body is None else json.dumps(body).encode()
        async with self._session.request(
            method,
            path,
            params=query,
            data=data,
            headers={"Content-Type": f"application/{form}"} if data is not None else None,
        ) as answer:
            text = await answer.text()
            if answer.status >= 400:
                raise _refusal(answer.status, text)
            found: Body = json.loads(text)
            return found


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[ClusterApi]:
    """The API as the user of this kubeconfig sees it."""
    access = kubeconfig.read(path)
    async with aiohttp.ClientSession(
        access.server,
        headers={"Authorization": f"Bearer {access.token}", "User-Agent": "pointsman-tests"},
        connector=aiohttp.TCPConnector(ssl=access.tls()),
        timeout=aiohttp.ClientTimeout(total=30),
    ) as session:
        yield ClusterApi(session)


def mcp_server(name: str, namespace: str, **spec: object) -> Body:
    """An McpServer document with this spec; its uid and generation are the API server's."""
    return {
        "apiVersion": "pointsman.dev/v1alpha1",
        "kind": "McpServer",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def mcp_view(name: str, namespace: str, **spec: object) -> Body:
    """An McpView document with this spec; its uid and generation are the API server's."""
    return {**mcp_server(name, namespace, **spec), "kind": "McpView"}


def config_map(name: str, namespace: str, data: Mapping[str, str], **metadata: object) -> Body:
    """A ConfigMap document; `labels`, `annotations`, `ownerReferences` as keywords."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "data": dict(data),
    }


def _namespace(body: Body) -> str:
    return str(body["metadata"].get("namespace", ""))


def _validation(strict: bool) -> dict[str, str]:
    return {"fieldValidation": "Strict" if strict else "Ignore"}


def _refusal(status: int, text: str) -> Refused:
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    if not isinstance(said, dict):
        said = {}
    return Refused(status, str(said.get("reason", "")), str(said.get("message", text)))
