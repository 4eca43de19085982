"""Which input a result may ask of an agent: what that agent offered with this very request."""

from pointsman_contract import rawjson
from pointsman_contract.rawjson import Malformed

# Nothing else may be answered with a question (2026-07-28, "Input required").
_ANSWERED_SO = frozenset(["prompts/get", "resources/read", "tools/call"])
_CAPABILITY_OF = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}


def is_asked(kind: bytes) -> bool:
    """Say whether the `resultType` of a result makes it one that asks for input."""
    try:
        return rawjson.string(kind) == "input_required"
    except Malformed:
        return False


def problem(requests: bytes, method: str, declared: bytes) -> str | None:
    """Return why the answer to `method` may not ask for this, or None.

    `requests`: the raw `inputRequests`; `declared`: the raw capabilities of the agent.
    """
    if method not in _ANSWERED_SO:
        return f"it asks for input in answer to {method}, which asks for none"
    try:
        capabilities = rawjson.members(declared)
        methods = [
            rawjson.string(rawjson.members(request).get("method", b""))
            for _, request in rawjson.pairs(requests)
        ]
    except Malformed:
        return "what it asks for cannot be read"
    if all(_CAPABILITY_OF.get(asked) in capabilities for asked in methods):
        return None
    return "it asks for input that this agent did not offer to give"
