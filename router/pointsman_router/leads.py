"""What a name leads to, as it is compared with what it led to when an agent chose it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lead:
    """One tool as it is at one time."""

    server: str
    tool: str
    reads: str
    """The digest of what agents read."""
    definition: str
    """The digest of what its upstream says, which its owner may word otherwise for agents."""


def forgotten(server: str) -> Lead:
    """Return what stands for a tool of a server of which nobody knows any more what it was."""
    return Lead(server, "", "", "")
