"""Which prefix belongs to whom at this moment, kept so one change at a time."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from pointsman_contract.register import Claim, Register
from pointsman_operator import arbitration
from pointsman_operator.arbitration import Conflict, Ruling
from pointsman_operator.spec import Server

_NOBODY = Ruling(None, None, None)


class Claims:
    """All valid servers' claims: equal to an arbitration of all, at the cost of one prefix."""

    def __init__(self, grace: timedelta) -> None:
        self._grace = grace
        self._servers: dict[str, Server] = {}
        self._wanting: dict[str, set[str]] = {}
        self._rulings: dict[str, Ruling] = {}
        self._written: dict[str, Claim] = {}
        self._unwritten: set[str] = set()
        self.decisions = 0
        """How often anything was decided otherwise than before."""

    def begin(self, register: Register, servers: Iterable[Server], *, now: datetime) -> set[str]:
        """Start again from what the register holds; return the servers to look at again."""
        before = self._rulings
        self._written, self._unwritten = dict(register), set()
        self._servers = {server.id: server for server in servers}
        self._wanting = {}
        for server in self._servers.values():
            self._wanting.setdefault(server.prefix, set()).add(server.id)
        self._rulings = {}
        for prefix in self._wanting.keys() | register.keys():
            self._rule(prefix, register.get(prefix), now)
        changed = before.keys() | self._rulings.keys()
        return self._whose(p for p in changed if before.get(p) != self._rulings.get(p))

    def see(self, server_id: str, server: Server | None, *, now: datetime) -> set[str]:
        """Note what a server asks for now (None: nothing valid); return whom that may affect."""
        before = self._servers.get(server_id)
        if server == before:
            return set()
        prefixes: set[str] = set()
        if before is not None:
            prefixes.add(before.prefix)
            self._wanting[before.prefix].discard(server_id)
            del self._servers[server_id]
        if server is not None:
            prefixes.add(server.prefix)
            self._wanting.setdefault(server.prefix, set()).add(server_id)
            self._servers[server_id] = server
        return self._again(prefixes, now)

    def end_grace(self, *, now: datetime) -> set[str]:
        """Settle what was kept for holders that did not come back; return whom that affects."""
        return self._again(
            [p for p, r in self._rulings.items() if r.until is not None and r.until <= now], now
        )

    def conflict(self, server: Server) -> Conflict | None:
        """Return who has the prefix of `server` instead of it."""
        return self._rulings.get(server.prefix, _NOBODY).conflict(server)

    def is_written(self, server: Server) -> bool:
        """Say whether the register holds what makes `server` the holder of its prefix."""
        written = self._written.get(server.prefix)
        return written is not None and written.server == server.id

    @property
    def waiting(self) -> set[str]:
        """The servers of whose prefixes the register does not hold what it is to hold."""
        return self._whose(self._unwritten)

    @property
    def deadline(self) -> datetime | None:
        """When the next grace time ends."""
        ends = (ruling.until for ruling in self._rulings.values() if ruling.until is not None)
        return min(ends, default=None)

    @property
    def register(self) -> Register:
        """What the register is to hold."""
        return {
            prefix: ruling.claim
            for prefix, ruling in self._rulings.items()
            if ruling.claim is not None
        }

    def wrote(self, register: Register) -> set[str]:
        """Note what the register holds now; return the servers that waited for it."""
        before, self._written = self._written, dict(register)
        self._unwritten = {
            prefix
            for prefix in self._rulings.keys() | register.keys()
            if self._rulings.get(prefix, _NOBODY).claim != register.get(prefix)
        }
        return self._whose(p for p in register if before.get(p) != register[p])

    @property
    def is_register_right(self) -> bool:
        """Say whether the register was last written as it is to be."""
        return not self._unwritten

    def _again(self, prefixes: Iterable[str], now: datetime) -> set[str]:
        changed = set()
        for prefix in prefixes:
            before = self._rulings.get(prefix, _NOBODY)
            self._rule(prefix, before.claim, now)
            if self._rulings.get(prefix, _NOBODY) != before:
                changed.add(prefix)
        return self._whose(changed)

    def _rule(self, prefix: str, claim: Claim | None, now: datetime) -> None:
        wanting = [self._servers[server_id] for server_id in self._wanting.get(prefix, ())]
        ruling = arbitration.rule(wanting, claim, now=now, grace=self._grace)
        if ruling != self._rulings.get(prefix, _NOBODY):
            self.decisions += 1
        if ruling == _NOBODY:
            self._rulings.pop(prefix, None)
            self._wanting.pop(prefix, None)
        else:
            self._rulings[prefix] = ruling
        if ruling.claim == self._written.get(prefix):
            self._unwritten.discard(prefix)
        else:
            self._unwritten.add(prefix)

    def _whose(self, prefixes: Iterable[str]) -> set[str]:
        return {server_id for prefix in prefixes for server_id in self._wanting.get(prefix, ())}
