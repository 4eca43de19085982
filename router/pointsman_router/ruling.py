"""What a server's owner makes of the tools that it offers: served, reworded, or left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pointsman_contract.meta import Definitions, Meta, Override, Policy
from pointsman_contract.report import ToolReason
from pointsman_router import hiding, rewording
from pointsman_router.leftout import LeftOut
from pointsman_router.offer import Offer, Tool

_MENDED_BY_OWNER = frozenset([hiding.TITLE, hiding.HINTED_TITLE, hiding.DESCRIPTION])


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of the tools of one server."""

    served: tuple[Tool, ...] = ()
    """As agents read them."""
    left_out: tuple[LeftOut, ...] = ()
    flagged: tuple[LeftOut, ...] = ()
    """Of those that are served, what somebody should know."""
    unapproved: Mapping[str, bool] = field(default_factory=dict)
    """The tools that wait to be approved, and whether another definition of theirs was."""
    unmatched: tuple[str, ...] = ()
    """The names that are allowed or reworded and that the upstream does not have."""


def ruled(meta: Meta, offer: Offer) -> Ruling:
    """Return what becomes of the tools that an upstream offers.

    What the owner wants hidden is hidden first, and text that hides comes before a definition that
    nobody approved: to approve it would help nobody.
    """
    overrides = {override.name: override for override in meta.tools}
    is_enforced = meta.definitions.policy is Policy.ENFORCE
    served: list[Tool] = []
    flagged: list[LeftOut] = []
    left_out = [
        _hidden_by_owner(tool.name) if _hides(overrides.get(tool.name)) else tool
        for tool in offer.skipped
        if _allows(meta, tool.name)
    ]
    unapproved: dict[str, bool] = {}
    for tool in offer.tools:
        if not _allows(meta, tool.name):
            continue
        override = overrides.get(tool.name)
        read = rewording.reworded(tool, override) if override else tool
        changed = _changed(tool, meta.definitions)
        if _hides(override):
            left_out.append(_hidden_by_owner(tool.name))
            continue
        if changed and is_enforced:
            unapproved[tool.name] = tool.name in meta.definitions.approved
        if problem := _hidden_text(read) or (changed if is_enforced else None):
            left_out.append(problem)
            continue
        served.append(read)
        flagged += [changed] if changed else []
    return Ruling(
        tuple(served), tuple(left_out), tuple(flagged), unapproved, _unmatched(meta, offer)
    )


def _allows(meta: Meta, tool: str) -> bool:
    return meta.allows_every_tool or tool in meta.allowed_tools


def _unmatched(meta: Meta, offer: Offer) -> tuple[str, ...]:
    named = set() if meta.allows_every_tool else set(meta.allowed_tools)
    # An owner who hides a tool by a wrong name has to learn that it is shown.
    named.update(override.name for override in meta.tools)
    named.difference_update(tool.name for tool in offer.tools)
    named.difference_update(tool.name for tool in offer.skipped)
    return tuple(sorted(named))


def _hides(override: Override | None) -> bool:
    return override is not None and override.hide


def _hidden_by_owner(name: str) -> LeftOut:
    return LeftOut(
        name, ToolReason.HIDDEN_BY_OWNER, "spec.tools hides this tool; remove hide to show it"
    )


def _hidden_text(tool: Tool) -> LeftOut | None:
    if not tool.hidden:
        return None
    where = " and ".join(each.told for each in tool.hidden)
    mended = "have the upstream remove them"
    if _MENDED_BY_OWNER.issuperset(each.member for each in tool.hidden):
        mended += ", or give clean text with spec.tools"
    return LeftOut(tool.name, ToolReason.HIDDEN_TEXT, f"hidden characters in {where}: {mended}")


def _changed(tool: Tool, definitions: Definitions) -> LeftOut | None:
    """Return what is told of a tool whose definition is not the approved one, if that is asked."""
    if definitions.policy is Policy.OFF:
        return None
    approved = definitions.approved.get(tool.name)
    if approved == tool.digest:
        return None
    what = (
        "the definition of this tool is not the approved one any more: look at what changed"
        if approved
        else "nobody has approved the definition of this tool: read it"
    )
    return LeftOut(
        tool.name,
        ToolReason.DEFINITION_CHANGED,
        f"{what}, and approve it with pointsman approve (spec.definitions.approved)",
        tool.digest,
    )
