"""Which requests the API server was asked, by its own audit log."""

import json
from dataclasses import dataclass
from pathlib import Path

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the API server has answered (a watch: has begun to answer)."""

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user: str
    agent: str
    status: int

    @property
    def is_write(self) -> bool:
        """Whether it asked for a change."""
        return self.verb in WRITES


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The growing log of one API server; `mark` a place, then read what came `since`."""

    path: Path

    def mark(self) -> int:
        """The place where the log ends now."""
        return self.path.stat().st_size if self.path.exists() else 0

    def since(
        self, mark: int = 0, *, user: str = "", agent: str = "", resource: str = ""
    ) -> tuple[Request, ...]:
        """The requests after a mark, narrowed to a user, a part of the user agent, a resource.

        An entry is written when the answer has been given: the last one may be some
        milliseconds behind what the client knows.
        """
        if not self.path.exists():
            return ()
        with self.path.open("rb") as log:
            log.seek(mark)
            lines = log.read().split(b"\n")[:-1]  # what follows the last newline is not whole yet
        requests = (_request(json.loads(line)) for line in lines if line)
        return tuple(
            one
            for one in requests
            if (not user or one.user == user)
            and agent in one.agent
            and (not resource or one.resource == resource)
        )

    def writes(
        self, mark: int = 0, *, user: str = "", agent: str = "", resource: str = ""
    ) -> tuple[Request, ...]:
        """The requests after a mark that asked for a change."""
        found = self.since(mark, user=user, agent=agent, resource=resource)
        return tuple(one for one in found if one.is_write)


def _request(entry: dict[str, object]) -> Request:
    target = _part(entry, "objectRef")
    status = _part(entry, "responseStatus").get("code", 0)
    return Request(
        verb=str(entry.get("verb", "")),
        resource=str(target.get("resource", "")),
        subresource=str(target.get("subresource", "")),
        namespace=str(target.get("namespace", "")),
        name=str(target.get("name", "")),
        user=str(_part(entry, "user").get("username", "")),
        agent=str(entry.get("userAgent", "")),
        status=status if isinstance(status, int) else 0,
    )


def _part(entry: dict[str, object], key: str) -> dict[str, object]:
    part = entry.get(key)
    return part if isinstance(part, dict) else {}
