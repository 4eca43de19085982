"""ConfigMaps as an operator publishes them, and as others forge them."""

import json
from typing import Any

from pointsman_contract import labels

Body = dict[str, Any]


def document(namespace: str, name: str, **members: object) -> str:
    """The meta.json of one server."""
    whole = {"name": name, "namespace": namespace, "url": "http://mcp.example/mcp", **members}
    return json.dumps(whole, sort_keys=True)


def view_document(namespace: str, name: str, **members: object) -> str:
    """The view.json of one view."""
    whole = {"name": name, "namespace": namespace, "servers": ["github"], "tools": ["*"], **members}
    return json.dumps(whole, sort_keys=True)


def view_config_map(
    namespace: str,
    name: str,
    text: str | None = None,
    *,
    release: str = "release",
    object_name: str = "",
    **members: object,
) -> Body:
    """The ConfigMap that publishes one view; `text` replaces its document."""
    document = view_document(namespace, name, **members) if text is None else text
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": object_name or labels.view_config_map_name(namespace, name),
            "namespace": release,
            "labels": {
                labels.MANAGED_BY: labels.MANAGER,
                labels.META: labels.VIEW_VERSION,
                labels.VIEW_NAMESPACE: namespace,
                labels.VIEW_NAME: name,
            },
        },
        "data": {labels.VIEW_DATA_KEY: document},
    }


def config_map(
    namespace: str,
    name: str,
    text: str | None = None,
    *,
    release: str = "release",
    object_name: str = "",
    **members: object,
) -> Body:
    """The ConfigMap that publishes one server; `text` replaces its document."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": object_name or labels.config_map_name(namespace, name),
            "namespace": release,
            "labels": {
                labels.MANAGED_BY: labels.MANAGER,
                labels.META: labels.META_VERSION,
                labels.SERVER_NAMESPACE: namespace,
                labels.SERVER_NAME: name,
            },
        },
        "data": {labels.DATA_KEY: document(namespace, name, **members) if text is None else text},
    }
