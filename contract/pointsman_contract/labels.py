"""How a published server is found again: labels, annotations, and its ConfigMap's name."""

import hashlib
import re

GROUP = "pointsman.dev"
VERSION = "v1alpha1"
KIND = "McpServer"
PLURAL = "mcpservers"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "pointsman"
META = "pointsman.dev/meta"
META_VERSION = "v1"
SERVER_NAME = "pointsman.dev/server-name"
SERVER_NAMESPACE = "pointsman.dev/server-namespace"
SERVER_UID = "pointsman.dev/server-uid"
SERVER_GENERATION = "pointsman.dev/server-generation"

DATA_KEY = "meta.json"
REGISTER_NAME = "pointsman-prefixes"

# What operator and mirror list and watch by: everything of ours, nothing else.
SELECTOR = f"{META}={META_VERSION}"

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
    digest = hashlib.sha256(server_id(namespace, name).encode()).hexdigest()
    return f"mcp-{name}-{digest[:10]}"
