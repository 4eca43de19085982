"""Whose a key of `_meta` is: the protocol's, this router's, or that of whoever wrote it."""

from pointsman_contract import labels

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
PROGRESS_TOKEN = "progressToken"  # noqa: S105 - no secret: it names a call
OURS = f"{labels.GROUP}/"

_PROTOCOL_LABELS = ("modelcontextprotocol", "mcp")


def is_reserved(key: str) -> bool:
    """Say whether a key is the protocol's: its prefix has one of two words as second label."""
    prefix, slash, _ = key.partition("/")
    if not slash:
        return False
    parts = prefix.split(".", 2)
    return len(parts) > 1 and parts[1] in _PROTOCOL_LABELS


def is_ours(key: str) -> bool:
    """Say whether only this router may write a key."""
    return key.startswith(OURS)


def goes_on(key: str) -> bool:
    """Say whether an upstream may see what an agent wrote under a key.

    Reserved keys describe the agent's own connection, and its progress token means nothing to
    the upstream; vendors' keys and trace context go on as they came.
    """
    return key != PROGRESS_TOKEN and not is_ours(key) and not is_reserved(key)
