"""What an owner says of single tools: which may be called, who approved what, what agents read."""

from collections.abc import Mapping

from pointsman_contract import digest, hiddentext
from pointsman_contract.meta import (
    ALLOWED_TOOLS_MAX,
    APPROVED_MAX,
    DESCRIPTION_MAX_LENGTH,
    EVERY_TOOL,
    OVERRIDES_MAX,
    TITLE_MAX_LENGTH,
    TOOL_NAME_MAX_LENGTH,
    Definitions,
    Override,
    Policy,
)
from pointsman_operator.specerror import SpecError

_CONTROL_CHARACTERS = frozenset(chr(point) for point in (*range(0x20), *range(0x7F, 0xA0)))
# What lays out a text; in a name it has no business.
_LAYOUT = frozenset("\t\n\r")


def allowed(value: object) -> tuple[str, ...]:
    """Return the tools that agents may call, sorted; raises SpecError."""
    field = "spec.allowedTools"
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise SpecError(field, "must be a list")
    if len(value) > ALLOWED_TOOLS_MAX:
        raise SpecError(field, f"must hold at most {ALLOWED_TOOLS_MAX} names")
    tools = tuple(_name(item, f"{field}[{index}]") for index, item in enumerate(value))
    if len(set(tools)) < len(tools):
        raise SpecError(field, "must not hold a name twice")
    if EVERY_TOOL in tools and len(tools) > 1:
        raise SpecError(field, f'must hold "{EVERY_TOOL}" alone, or names without it')
    return tuple(sorted(tools))


def definitions(value: object) -> Definitions:
    """Return what is approved, and what becomes of the rest; raises SpecError."""
    field = "spec.definitions"
    if value is None:
        return Definitions()
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object")
    return Definitions(
        policy=_policy(value.get("policy"), f"{field}.policy"),
        approved=_approved(value.get("approved"), f"{field}.approved"),
    )


def overrides(value: object) -> tuple[Override, ...]:
    """Return what agents read in place of what the upstream wrote, by name; raises SpecError."""
    field = "spec.tools"
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise SpecError(field, "must be a list")
    if len(value) > OVERRIDES_MAX:
        raise SpecError(field, f"must hold at most {OVERRIDES_MAX} tools")
    found: dict[str, Override] = {}
    for index, item in enumerate(value):
        override = _override(item, f"{field}[{index}]")
        if override.name in found:
            raise SpecError(f"{field}[{index}].name", "must not name a tool a second time")
        found[override.name] = override
    return tuple(found[name] for name in sorted(found))


def name_problem(name: object) -> str | None:
    """Return what is wrong with the name of a tool that a resource is to hold, or None."""
    if not isinstance(name, str):
        return "must be a string"
    if not 1 <= len(name) <= TOOL_NAME_MAX_LENGTH:
        return f"must hold 1 to {TOOL_NAME_MAX_LENGTH} characters"
    if not _CONTROL_CHARACTERS.isdisjoint(name):
        return "must not hold a control character"
    return _encoding_problem(name)


def _policy(value: object, field: str) -> Policy:
    if value is None:
        return Policy.OFF
    if not isinstance(value, str) or value not in set(Policy):
        raise SpecError(field, f"must be one of {', '.join(Policy)}")
    return Policy(value)


def _approved(value: object, field: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SpecError(field, "must be an object: the digest of each tool's definition by name")
    # The API server drops what is null, as a merge patch does.
    given = {tool: each for tool, each in value.items() if each is not None}
    if len(given) > APPROVED_MAX:
        raise SpecError(field, f"must hold at most {APPROVED_MAX} tools")
    for tool, approved in given.items():
        if problem := name_problem(tool):
            raise SpecError(field, f"must be named by a tool, whose name {problem}", key=str(tool))
        if not isinstance(approved, str) or not digest.is_digest(approved):
            raise SpecError(field, "must be sha256: and 64 lower-case hex digits", key=tool)
    return {tool: given[tool] for tool in sorted(given)}


def _override(item: object, field: str) -> Override:
    if not isinstance(item, Mapping):
        raise SpecError(field, "must be an object")
    name = _name(item.get("name"), f"{field}.name")
    title = _text(item.get("title"), f"{field}.title", TITLE_MAX_LENGTH)
    description = _text(item.get("description"), f"{field}.description", DESCRIPTION_MAX_LENGTH)
    hide = item.get("hide")
    if hide is not None and not isinstance(hide, bool):
        raise SpecError(f"{field}.hide", "must be true or false")
    if title is None and description is None and not hide:
        raise SpecError(field, "must give a title or a description, or hide the tool")
    return Override(name=name, title=title, description=description, hide=bool(hide))


def _name(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise SpecError(field, "must be given" if value is None else "must be a string")
    if problem := name_problem(value):
        raise SpecError(field, problem)
    return value


def _text(value: object, field: str, max_length: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise SpecError(field, "must be a string")
    if not 1 <= len(value) <= max_length:
        raise SpecError(field, f"must hold 1 to {max_length} characters")
    if not _CONTROL_CHARACTERS.difference(_LAYOUT).isdisjoint(value):
        raise SpecError(field, "must not hold a control character but tabs and line ends")
    if problem := _encoding_problem(value):
        raise SpecError(field, problem)
    if hidden := hiddentext.first_hidden(value):
        raise SpecError(field, f"must not hold a hidden character such as {hidden}")
    return value


def _encoding_problem(text: str) -> str | None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "must not hold half of a surrogate pair"
    return None
