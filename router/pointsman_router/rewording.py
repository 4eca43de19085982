"""What agents read of a tool where its server's owner words it otherwise."""

from dataclasses import replace

from pointsman_contract import digest, rawjson
from pointsman_contract.meta import Override
from pointsman_router import hiding
from pointsman_router.offer import Tool


def reworded(tool: Tool, override: Override) -> Tool:
    """Return `tool` with its owner's texts in place of its upstream's; its digest stays."""
    members = dict(tool.members)
    if override.title is not None:
        title = rawjson.quote(override.title)
        members[hiding.TITLE] = title
        if annotations := members.get("annotations"):
            members["annotations"] = _retitled(annotations, title)
    if override.description is not None:
        members[hiding.DESCRIPTION] = rawjson.quote(override.description)
    given = tuple(members.items())
    if given == tool.members:
        return tool
    raw = rawjson.assemble(members)
    return replace(
        tool,
        members=given,
        size_bytes=len(raw),
        hidden=tuple(each for each in tool.hidden if each.member not in covered(override)),
        worded=digest.definition(raw),
    )


def covered(override: Override) -> frozenset[str]:
    """Return the members of which agents read nothing but what the owner wrote."""
    titles = {hiding.TITLE, hiding.HINTED_TITLE} if override.title is not None else set()
    described = {hiding.DESCRIPTION} if override.description is not None else set()
    return frozenset(titles | described)


def _retitled(annotations: bytes, title: bytes) -> bytes:
    hints = rawjson.pairs(annotations)
    if all(name != hiding.TITLE for name, _ in hints):
        return annotations
    return rawjson.assemble(
        (name, title if name == hiding.TITLE else value) for name, value in hints
    )
