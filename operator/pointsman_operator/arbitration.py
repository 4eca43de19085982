"""Who holds which prefix, and who has to wait for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pointsman_contract.register import Claim, Register
from pointsman_operator.spec import Server


@dataclass(frozen=True, slots=True)
class Conflict:
    """A server's prefix belongs to another."""

    prefix: str
    holder: str
    """The other's identity."""
    until: datetime | None = None
    """Until when the prefix is kept for a holder that is gone; None while it is there."""

    @property
    def message(self) -> str:
        """What is wrong, and which field to set."""
        whose = f"{self.prefix} belongs to {self.holder}"
        if self.until is not None:
            whose += f", which is gone and may come back until {self.until:%Y-%m-%dT%H:%M:%SZ}"
        return f"spec.prefix must be set to another prefix: {whose}"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who has one prefix."""

    claim: Claim | None
    """What the register is to say; None where nobody has it any more."""
    holder: str | None
    """The server that has it now; None where nobody wants it or it is kept for one that is gone."""
    until: datetime | None
    """When the matter has to be looked at again."""

    def conflict(self, server: Server) -> Conflict | None:
        """Return why `server`, which wants this prefix, does not have it, or None if it does."""
        if self.holder == server.id or self.claim is None:
            return None
        return Conflict(server.prefix, self.claim.server, self.until)


@dataclass(frozen=True, slots=True)
class Arbitration:
    """Who has which prefix, of all servers."""

    holders: Mapping[str, str]
    """The holding server of each prefix in force."""
    conflicts: Mapping[str, Conflict]
    """The servers that have to wait, by identity."""
    register: Register
    deadline: datetime | None
    """When the next grace time ends."""


def arbitrate(
    servers: Iterable[Server], register: Register, *, now: datetime, grace: timedelta
) -> Arbitration:
    """Return who has which prefix: all valid `servers` compete, suspended ones included."""
    wanting: dict[str, list[Server]] = {}
    for server in servers:
        wanting.setdefault(server.prefix, []).append(server)
    rulings = {
        prefix: rule(wanting.get(prefix, ()), register.get(prefix), now=now, grace=grace)
        for prefix in wanting.keys() | register.keys()
    }
    return Arbitration(
        holders={
            prefix: ruling.holder for prefix, ruling in rulings.items() if ruling.holder is not None
        },
        conflicts={
            server.id: conflict
            for prefix, competing in wanting.items()
            for server in competing
            if (conflict := rulings[prefix].conflict(server)) is not None
        },
        register={
            prefix: ruling.claim for prefix, ruling in rulings.items() if ruling.claim is not None
        },
        deadline=min((r.until for r in rulings.values() if r.until is not None), default=None),
    )


def rule(
    wanting: Iterable[Server], claim: Claim | None, *, now: datetime, grace: timedelta
) -> Ruling:
    """Return who has a prefix that the servers in `wanting` ask for.

    registered holder   what follows
    asks for it         has it
    gone, within grace  nobody has it: it may come back
    gone for longer     as if there were none
    none                the oldest has it, then the lower uid
    """
    competing = {server.id: server for server in wanting}
    if claim is not None and claim.server in competing:
        return Ruling(Claim(claim.server), claim.server, None)
    if claim is not None:
        released_at = claim.released_at or now
        until = released_at + grace
        if now < until:
            return Ruling(Claim(claim.server, released_at), None, until)
    if not competing:
        return Ruling(None, None, None)
    oldest = min(competing.values(), key=seniority).id
    return Ruling(Claim(oldest), oldest, None)


def seniority(server: Server) -> tuple[str, str, str]:
    """Return what sorts the older server, then the lower uid, first."""
    identity = server.identity
    return (identity.created, identity.uid or "", identity.id)
