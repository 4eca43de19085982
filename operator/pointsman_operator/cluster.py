"""What is read of the API server, and what is written to it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

import aiohttp
from kubernetes.aio import client, config

from pointsman_contract import labels
from pointsman_operator import apierrors, manifests
from pointsman_operator.access import Access, Identification, InPod, in_pod
from pointsman_operator.manifests import JSON

# Fixed for ever: under another name our own fields would be somebody else's.
FIELD_MANAGER = "pointsman-operator"

# `; charset` keeps the client from spelling the body its own way.
_APPLY = "application/apply-patch+yaml; charset=utf-8"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"

# Of the largest resources a page is some 50 MiB in memory, and 5,000 are fifty requests.
PAGE_SIZE = 100
# Nothing that is asked for takes the API server long; a silent one is a fault.
REQUEST_TIMEOUT_S = 30.0
# Projected tokens live for an hour and are rotated well before: a minute's delay is never late.
CREDENTIALS_MAX_AGE_S = 60.0
# A list that is outrun by compaction this often is not going to end well.
LIST_ATTEMPTS = 3

_EVENTS = "/apis/events.k8s.io/v1"
_RESOURCES = f"/apis/{labels.GROUP}/{labels.VERSION}"


async def log_in(identification: Identification) -> Access:
    """Return what `identification` says now: files are read again; raises Unavailable."""
    try:
        if isinstance(identification, InPod):
            return in_pod(identification)
        return await _in_file(identification.path)
    except (config.ConfigException, OSError, ValueError, TypeError, AttributeError) as exc:
        raise apierrors.Unavailable(f"no usable credentials: {type(exc).__name__}") from exc


async def _in_file(path: str) -> Access:
    loaded = client.Configuration()
    await config.load_kube_config(  # type: ignore[no-untyped-call]  # the library's
        config_file=path, client_configuration=loaded, persist_config=False
    )
    token = loaded.api_key.get("BearerToken")
    return Access(
        server=loaded.host,
        authorization=token.strip() if token else None,
        ca_path=loaded.ssl_ca_cert,
        certificate_path=loaded.cert_file,
        key_path=loaded.key_file,
        verify=loaded.verify_ssl,
        tls_server_name=loaded.tls_server_name,
        proxy=loaded.proxy,
    )


_Sight = TypeVar("_Sight")
Read = Callable[[JSON], _Sight | None]


@dataclass(frozen=True, slots=True)
class Listing(Generic[_Sight]):
    """All objects of a kind, as they were read."""

    items: tuple[_Sight, ...]
    version: int
    """When this was so: nothing in it is older than this resourceVersion."""


class Cluster:
    """The API server, as one operator uses it."""

    def __init__(
        self,
        identification: Identification,
        *,
        namespace: str,
        watched: Sequence[str] = (),
    ) -> None:
        self._identification = identification
        self._config_maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._folders = [f"{_RESOURCES}/namespaces/{name}" for name in watched] or [_RESOURCES]
        self._access: Access | None = None
        self._client: client.ApiClient | None = None
        self._logged_in_s = 0.0
        self._logging_in = asyncio.Lock()

    async def close(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.close()  # type: ignore[no-untyped-call]  # the library's

    async def list_resources(self, read: Read[_Sight]) -> Listing[_Sight]:
        """Return every McpServer that is watched; raises NotFound where the kind is unknown.

        Bodies are read page by page, and only what `read` makes of them is kept.
        """
        return await self._list_all(labels.PLURAL, read)

    async def list_views(self, read: Read[_Sight]) -> Listing[_Sight]:
        """Return every McpView that is watched; raises NotFound where the kind is unknown."""
        return await self._list_all(labels.VIEW_PLURAL, read)

    async def list_config_maps(self, read: Read[_Sight]) -> Listing[_Sight]:
        """Return every ConfigMap that has our label."""
        return await self._list(self._config_maps, read, labelSelector=labels.SELECTOR)

    async def find_config_map(self, name: str) -> JSON | None:
        """Return the ConfigMap of that name, whosever it is."""
        named = f"metadata.name={name}"
        listing = await self._list(self._config_maps, lambda body: body, fieldSelector=named)
        return next(iter(listing.items), None)

    async def create_config_map(self, body: JSON) -> JSON:
        """Write a ConfigMap that does not exist; raises Conflict if it does."""
        return await self._ask("POST", self._config_maps, body, _JSON)

    async def apply_config_map(self, name: str, body: JSON) -> JSON:
        """Make the fields of `body` right in an existing ConfigMap of ours."""
        return await self._ask("PATCH", f"{self._config_maps}/{name}", body, _APPLY)

    async def merge_config_map(self, name: str, body: JSON) -> JSON:
        """Merge `body` into an existing ConfigMap: null takes a member out."""
        return await self._ask("PATCH", f"{self._config_maps}/{name}", body, _MERGE)

    async def delete_config_map(self, name: str, *, uid: str, version: int) -> None:
        """Delete a ConfigMap, if it is still the one that was looked at; none is fine too."""
        conditions = {"uid": uid, "resourceVersion": str(version)}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        try:
            await self._ask("DELETE", f"{self._config_maps}/{name}", body, _JSON)
        except apierrors.NotFound:
            return

    async def apply_status(self, namespace: str, name: str, uid: str, status: JSON) -> JSON:
        """Make `status` the status of a McpServer, unless another has taken its name."""
        metadata = {"name": name, "namespace": namespace, "uid": uid}
        return await self._apply_status(labels.KIND, labels.PLURAL, metadata, status)

    async def apply_view_status(self, namespace: str, name: str, uid: str, status: JSON) -> JSON:
        """Make `status` the status of a McpView, unless another has taken its name."""
        metadata = {"name": name, "namespace": namespace, "uid": uid}
        return await self._apply_status(labels.VIEW_KIND, labels.VIEW_PLURAL, metadata, status)

    async def _apply_status(
        self, kind: str, plural: str, metadata: Mapping[str, str], status: JSON
    ) -> JSON:
        body = {
            "apiVersion": f"{labels.GROUP}/{labels.VERSION}",
            "kind": kind,
            "metadata": metadata,
            "status": status,
        }
        namespace, name = metadata["namespace"], metadata["name"]
        path = f"{_RESOURCES}/namespaces/{namespace}/{plural}/{name}/status"
        return await self._ask("PATCH", path, body, _APPLY)

    async def create_event(self, namespace: str, body: JSON) -> None:
        """Write an Event."""
        await self._ask("POST", f"{_EVENTS}/namespaces/{namespace}/events", body, _JSON)

    async def _list_all(self, plural: str, read: Read[_Sight]) -> Listing[_Sight]:
        listings = [await self._list(f"{folder}/{plural}", read) for folder in self._folders]
        return Listing(
            tuple(item for listing in listings for item in listing.items),
            min(listing.version for listing in listings),
        )

    async def _list(self, path: str, read: Read[_Sight], **query: str) -> Listing[_Sight]:
        for _ in range(LIST_ATTEMPTS - 1):
            try:
                return await self._list_once(path, read, query)
            except apierrors.Gone:
                continue
        return await self._list_once(path, read, query)

    async def _list_once(
        self, path: str, read: Read[_Sight], query: Mapping[str, str]
    ) -> Listing[_Sight]:
        items: list[_Sight] = []
        version = 0
        async for page in self._pages(path, query):
            sights = (read(body) for body in _mappings(page.get("items")))
            items.extend(sight for sight in sights if sight is not None)
            metadata = page.get("metadata")
            if not version and isinstance(metadata, Mapping):
                version = int(metadata.get("resourceVersion") or 0)
        return Listing(tuple(items), version)

    async def _pages(self, path: str, query: Mapping[str, str]) -> AsyncIterator[JSON]:
        following = ""
        while True:
            more = {"continue": following} if following else {}
            page = await self._ask("GET", path, query={"limit": str(PAGE_SIZE), **query, **more})
            yield page
            metadata = page.get("metadata")
            following = metadata.get("continue", "") if isinstance(metadata, Mapping) else ""
            if not following:
                return

    async def _ask(
        self,
        method: str,
        path: str,
        body: JSON | None = None,
        content_type: str = _JSON,
        query: Mapping[str, str] | None = None,
    ) -> JSON:
        if method in ("POST", "PATCH"):
            query = {"fieldManager": FIELD_MANAGER}
            if content_type == _APPLY:
                query["force"] = "true"
        access = await self._identified()
        try:
            return await self._exchange(method, path, body, content_type, query or {})
        except apierrors.Forbidden:
            # A token that was replaced before its time; any other 401 or 403 stays one.
            if await self._identified(again=True) == access:
                raise
        return await self._exchange(method, path, body, content_type, query or {})

    async def _exchange(
        self, method: str, path: str, body: JSON | None, content_type: str, query: Mapping[str, str]
    ) -> JSON:
        assert self._client is not None, "identified before"
        try:
            _, url, headers, sent, _ = await self._client.param_serialize(
                method,
                path,
                query_params=list(query.items()),
                header_params={"Accept": _JSON, "Content-Type": content_type},
                body=manifests.spell(body) if body and content_type == _APPLY else body,
                auth_settings=["BearerToken"],
            )
            response = await self._client.call_api(
                method,
                url,
                headers,
                sent,
                _request_timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S),
            )
            answer = await response.read()  # type: ignore[no-untyped-call]  # the library's
        except (aiohttp.ClientError, OSError, TimeoutError, RuntimeError) as exc:
            raise apierrors.Unavailable(f"no answer: {type(exc).__name__}") from exc
        if response.status >= 400:
            raise apierrors.of(response.status, response.headers.get("Retry-After"), answer)
        try:
            return cast("JSON", json.loads(answer))
        except ValueError as exc:
            raise apierrors.Unavailable("the answer is no JSON") from exc

    async def _identified(self, *, again: bool = False) -> Access:
        async with self._logging_in:
            now_s = time.monotonic()
            fresh = now_s - self._logged_in_s < CREDENTIALS_MAX_AGE_S
            if self._access is not None and fresh and not again:
                return self._access
            access = await log_in(self._identification)
            before, self._access, self._logged_in_s = self._access, access, now_s
            if before is None or replace(before, authorization=access.authorization) != access:
                if self._client is not None:
                    await self._client.close()  # type: ignore[no-untyped-call]  # the library's
                self._client = client.ApiClient(_configuration(access))
                self._client.user_agent = FIELD_MANAGER
            elif before != access and self._client is not None:
                self._client.configuration.api_key["BearerToken"] = access.authorization or ""
            return access


def _configuration(access: Access) -> client.Configuration:
    # Only what the credentials say about proxies counts, as it does for the watches.
    configuration = client.Configuration(
        host=access.server,
        ssl_ca_cert=access.ca_path,
        cert_file=access.certificate_path,
        key_file=access.key_path,
        verify_ssl=access.verify,
        tls_server_name=access.tls_server_name,
        proxy=access.proxy,
        client_session_kwargs={"trust_env": False},
    )
    if access.authorization:
        configuration.api_key["BearerToken"] = access.authorization
    return configuration


def _mappings(value: object) -> list[JSON]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, Mapping)]
