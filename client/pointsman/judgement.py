"""What the operator would say of all the resources in some files, seen together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pointsman import verdicts
from pointsman.documents import Document
from pointsman.verdicts import Complaint, Outcome, Verdict
from pointsman_contract.register import Register
from pointsman_contract.view import ViewMeta
from pointsman_operator import arbitration, viewmanifests, viewplan
from pointsman_operator.arbitration import Arbitration
from pointsman_operator.spec import Server

# Without a cluster nobody waits for a server to come back: its prefix is free at once.
_GRACE = timedelta(0)
_NOW = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a file as a whole cannot be read."""

    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class File:
    """One file: what it says, or last said, and why it cannot be read now."""

    name: str
    documents: tuple[Document, ...] = ()
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of every resource, and who holds which prefix from now on."""

    verdicts: tuple[Verdict, ...]
    register: Register

    @property
    def accepted(self) -> tuple[Server, ...]:
        """The servers to be published."""
        return tuple(verdict.accepted for verdict in self.verdicts if verdict.accepted)

    @property
    def views(self) -> tuple[ViewMeta, ...]:
        """The views to be published."""
        return tuple(verdict.published for verdict in self.verdicts if verdict.published)


def judge(files: Iterable[File], register: Register | None = None) -> Judgement:
    """Return what becomes of the resources of `files`.

    Files have no creation times: what comes first in the order of `files` counts as the oldest,
    as if applied in that order. A prefix that `register` gives to a server stays with it, and of
    two resources that describe one server, or one view, the first counts. A view's selector takes
    of the servers in `files`, as the operator's takes of those in the cluster.
    """
    found = list(_once(verdict for file in files for verdict in _of_file(file)))
    ruling = arbitration.arbitrate(
        (_aged(server, at) for at, verdict in enumerate(found) if (server := verdict.accepted)),
        register or {},
        now=_NOW,
        grace=_GRACE,
    )
    ruled = [_after(ruling, verdict) for verdict in found]
    return Judgement(tuple(_resolved(ruled)), ruling.register)


def _of_file(file: File) -> Iterator[Verdict]:
    if file.fault:
        complaint = Complaint(Outcome.UNREADABLE, file.fault.message, line=file.fault.line)
        yield Verdict(file.name, file.fault.line, complaints=(complaint,))
    for document in file.documents:
        yield from verdicts.of_document(file.name, document)


def _once(found: Iterable[Verdict]) -> Iterator[Verdict]:
    first: dict[str, Verdict] = {}
    for verdict in found:
        subject = verdict.subject
        holder = first.setdefault(subject, verdict) if subject else verdict
        if holder is verdict:
            yield verdict
        else:
            message = (
                f"metadata.name describes {subject} again: {holder.file}:{holder.line} does already"
            )
            yield verdict.refused(Outcome.DUPLICATE, "metadata.name", message)


def _aged(server: Server, age: int) -> Server:
    return replace(server, identity=replace(server.identity, created=f"{age:09}"))


def _after(ruling: Arbitration, verdict: Verdict) -> Verdict:
    server = verdict.accepted
    conflict = ruling.conflicts.get(server.id) if server else None
    if conflict is None:
        return verdict
    message = f"spec.prefix must be another: {conflict.prefix} belongs to {conflict.holder}"
    return verdict.refused(Outcome.PREFIX_CONFLICT, "spec.prefix", message)


def _resolved(found: Sequence[Verdict]) -> Iterator[Verdict]:
    neighbours: dict[str | None, dict[str, Mapping[str, str]]] = {}
    for verdict in found:
        if verdict.server and verdict.identity:
            servers = neighbours.setdefault(verdict.identity.namespace, {})
            servers.setdefault(verdict.identity.name, verdict.labels)
    for verdict in found:
        yield _published(verdict, neighbours)


def _published(
    verdict: Verdict, neighbours: Mapping[str | None, Mapping[str, Mapping[str, str]]]
) -> Verdict:
    wish = verdict.wish
    if wish is None:
        return verdict
    there = neighbours.get(wish.identity.namespace, {})
    servers = viewplan.servers_of(wish, there)
    try:
        published = viewmanifests.meta_of(wish, servers)
        viewmanifests.document_of(published)
    except viewmanifests.ViewTooLarge as error:
        return verdict.refused(Outcome.TOO_LARGE, error.field, str(error))
    missing = tuple(name for name in servers if name not in there)
    return replace(verdict, published=published, missing=missing)
