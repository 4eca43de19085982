"""How a published server is found again: labels, annotations, and its ConfigMap's name."""

import hashlib
import re

GROUP = "pointsman.dev"
VERSION = "v1alpha1"
KIND = "McpServer"
PLURAL = "mcpservers"
VIEW_KIND = "McpView"
VIEW_PLURAL = "mcpviews"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "pointsman"
META = "pointsman.dev/meta"
META_VERSION = "v1"
VIEW_VERSION = "view-v1"
SERVER_NAME = "pointsman.dev/server-name"
SERVER_NAMESPACE = "pointsman.dev/server-namespace"
SERVER_UID = "pointsman.dev/server-uid"
SERVER_GENERATION = "pointsman.dev/server-generation"
VIEW_NAME = "pointsman.dev/view-name"
VIEW_NAMESPACE = "pointsman.dev/view-namespace"
VIEW_UID = "pointsman.dev/view-uid"
VIEW_GENERATION = "pointsman.dev/view-generation"

DATA_KEY = "meta.json"
VIEW_DATA_KEY = "view.json"
REGISTER_NAME = "pointsman-prefixes"

# What operator and mirror list and watch by: everything of ours, nothing else.
SELECTOR = f"{META} in ({META_VERSION},{VIEW_VERSION})"

_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


def is_dns_label(text: str) -> bool:
    """Say whether `text` may name a server or a namespace: no dot, no slash, 63 characters."""
    return _DNS_LABEL.fullmatch(text) is not None


def server_id(namespace: str | None, name: str) -> str:
    """Return the identity of a server: `namespace/name`, or the bare name of a lone file."""
    return f"{namespace}/{name}" if namespace else name


def config_map_name(namespace: str, name: str) -> str:
    """Return the name of the ConfigMap that publishes one server.

    The digest is over `namespace/name`, so that `a/b-c` and `a-b/c` never share an object.
    """
    return f"mcp-{name}-{_digest(namespace, name)}"


def view_config_map_name(namespace: str, name: str) -> str:
    """Return the name of the ConfigMap that publishes one view; never that of a server's."""
    return f"mcpview-{name}-{_digest(namespace, name)}"


def is_of_view(config_map: str) -> bool:
    """Say whether a ConfigMap of this name publishes a view."""
    return config_map.startswith("mcpview-")


def view_folder(namespace: str, name: str) -> str:
    """Return the folder in which the mirror lays out a view; a server's has one dot."""
    return f"{namespace}.{name}.view"


def _digest(namespace: str, name: str) -> str:
    return hashlib.sha256(server_id(namespace, name).encode()).hexdigest()[:10]
