"""What there is to say about files: what is wrong in them, and what has changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pointsman.judgement import File
from pointsman.verdicts import Complaint, Outcome, Verdict
from pointsman_contract.meta import EVERY_TOOL, Definitions, Exposed, Policy
from pointsman_contract.view import ViewMeta
from pointsman_operator.spec import Server


@dataclass(frozen=True, slots=True)
class Notice:
    """One line that is told, and whether it is good news."""

    text: str
    is_good: bool


def verdict(found: Verdict) -> Iterator[Notice]:
    """Yield the lines that tell a verdict, each beginning with file and line."""
    if found.accepted or found.published:
        where = f"{found.file}:{found.line}"
        yield Notice(f"{where}: {found.subject}: {_acceptance(found)}", is_good=True)
    for complaint in found.complaints:
        yield Notice(_complaint(found, complaint), is_good=not found.is_wrong)


def record(found: Verdict) -> dict[str, object]:
    """Return a verdict for programs."""
    about: dict[str, object] = {
        "server": found.server,
        "prefix": found.accepted.prefix if found.accepted else None,
    }
    if found.view:
        servers = found.published.servers if found.published else None
        about = {"view": found.view, "servers": servers}
    return {
        "file": found.file,
        "line": found.line,
        **about,
        "verdict": found.outcome,
        "complaints": [
            {
                "verdict": complaint.outcome,
                "field": complaint.field,
                "line": complaint.line,
                "message": complaint.message,
            }
            for complaint in found.complaints
        ],
    }


def changed(before: Iterable[File], after: Iterable[File]) -> Iterator[Notice]:
    """Yield a line for each file that came, went or says something else."""
    old = {file.name: file for file in before}
    new = {file.name: file for file in after}
    for name in sorted({*old, *new}):
        if name not in new:
            yield Notice(f"{name}: removed", is_good=True)
        elif name not in old:
            yield Notice(f"{name}: added", is_good=True)
        elif new[name].fault != old[name].fault and new[name].fault and new[name].documents:
            yield Notice(f"{name}: unreadable, so what it said before stays in force", False)
        elif new[name] != old[name]:
            yield Notice(f"{name}: changed", is_good=True)


def wrong(
    before: Iterable[Verdict], after: Iterable[Verdict], files: Iterable[File]
) -> Iterator[Notice]:
    """Yield what is wrong now and was not before, and which of `files` are in order again."""
    old, new = _complaints(before), _complaints(after)
    for file, complaints in new.items():
        known = old.get(file, {})
        yield from (Notice(text, False) for text in complaints if text not in known)
    for name in (file.name for file in files):
        if name in old and name not in new:
            yield Notice(f"{name}: in order again", is_good=True)


def _complaints(verdicts: Iterable[Verdict]) -> Mapping[str, Mapping[str, None]]:
    found: dict[str, dict[str, None]] = {}
    for each in verdicts:
        for complaint in each.complaints if each.is_wrong else ():
            found.setdefault(each.file, {})[_complaint(each, complaint)] = None
    return found


def _complaint(found: Verdict, complaint: Complaint) -> str:
    line = "" if complaint.line is None else f":{complaint.line}"
    subject = f"{found.subject}: " if found.subject else ""
    return f"{found.file}{line}: {subject}{complaint.outcome}: {complaint.message}"


def _acceptance(found: Verdict) -> str:
    if found.published is not None:
        return f"{Outcome.ACCEPTED} ({'; '.join(_of_view(found.published, found.missing))})"
    server = found.accepted
    if server is None:
        return str(found.outcome)
    notes = [f"prefix {server.prefix}"]
    if server.suspend:
        notes.append("suspended")
    if Exposed.TOOLS in server.expose and not server.allowed_tools:
        notes.append("no tool allowed: list some in spec.allowedTools")
    notes += [*_on_definitions(server.definitions), *_on_overrides(server)]
    return f"{Outcome.ACCEPTED} ({'; '.join(notes)})"


def _of_view(view: ViewMeta, missing: tuple[str, ...]) -> Iterator[str]:
    count = len(view.servers)
    yield f"{count} server{'' if count == 1 else 's'}"
    if missing:
        yield f"not in these files: {', '.join(missing)}"
    if not view.servers:
        yield "none of these files' servers is taken: see spec.servers"
    if not view.tools:
        yield 'no tool named: list some in spec.tools, or ["*"]'


def _on_definitions(definitions: Definitions) -> Iterator[str]:
    count = len(definitions.approved)
    match definitions.policy:
        case Policy.OFF:
            if count:
                yield "no approval matters: spec.definitions.policy is Off"
        case Policy.WARN:
            yield f"{count} approved, a warning for the others"
        case Policy.ENFORCE:
            yield f"{count} approved, no other is served"


def _on_overrides(server: Server) -> Iterator[str]:
    if server.allowed_tools in ((), (EVERY_TOOL,)):
        return
    worded = {override.name for override in server.overrides if not override.hide}
    if lost := sorted(worded - {*server.allowed_tools}):
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield f"spec.tools words {lost[0]}{more}, which spec.allowedTools does not allow"
