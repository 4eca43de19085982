"""How many tools clients take, and what to say of a server that has more."""

from collections.abc import Sequence

# Editors that show an agent the first forty tools and tell nobody of the others.
SMALL_CLIENTS_MAX = 40
# Assistants in editors that stop at eighty.
MIDDLE_CLIENTS_MAX = 80
# A large model API refuses a request with more than 128 tools, and with it the agent's turn.
LARGEST_API_MAX = 128
LIMITS = (SMALL_CLIENTS_MAX, MIDDLE_CLIENTS_MAX, LARGEST_API_MAX)


def warning(tool_count: int, *, remedy: str = "allow fewer, or give agents a view") -> str | None:
    """Return what to do about so many tools; None where every known client takes them."""
    passed = [str(limit) for limit in LIMITS if tool_count > limit]
    if not passed:
        return None
    return f"{tool_count} tools: some clients take at most {_either(passed)} of them: {remedy}"


def _either(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
