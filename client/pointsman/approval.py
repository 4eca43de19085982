"""What an approval changes of a resource: the patch, and how a person is told of it."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pointsman import approvable
from pointsman.approvable import Approvable
from pointsman_contract import digest
from pointsman_contract.meta import APPROVED_MAX, Policy
from pointsman_operator import manifests, toolspec

# Enough to tell two digests apart at a glance.
_SHOWN_DIGITS = 12

_ASK_A_ROUTER = "ask a router, with --status URL of its admin port"
_ASK_AGAIN = "ask again once it serves the change, or see what Ready says of it"
_PIPE_IT_IN = "pipe in the resource, and give - for its name"


class NotApproved(Exception):
    """Nothing is approved; the message says what to do instead."""


@dataclass(frozen=True, slots=True)
class Approval:
    """What somebody approves of one server."""

    found: Approvable
    digests: Mapping[str, str]
    """By the tools' own names."""
    unfit: Mapping[str, str] = field(default_factory=dict)
    """What no resource can hold by its name, with what that must be like."""
    gone: tuple[str, ...] = ()
    """What was approved before, and is not offered: it is not allowed, or gone."""
    prunes: bool = False
    """Whether that is taken out."""
    policy: Policy | None = None
    """What the policy becomes; None where it stays."""

    @property
    def patch(self) -> bytes:
        """The merge patch, as JSON."""
        dropped = dict.fromkeys(self.gone) if self.prunes else {}
        definitions: dict[str, object] = {"approved": {**self.digests, **dropped}}
        if self.policy is not None:
            definitions["policy"] = str(self.policy)
        return manifests.spell({"spec": {"definitions": definitions}}) + b"\n"


def decide(
    found: Approvable, names: Iterable[str], *, policy: Policy | None = None, prunes: bool = False
) -> Approval:
    """Return the approval of the tools of these `names`, or of every one; raises NotApproved."""
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in found.digests:
            raise NotApproved(_missing(found, name))
    if prunes and found.before is None:
        raise NotApproved(f"what was approved before is not known: {_PIPE_IT_IN}")
    if found.partial and (prunes or not wanted):
        raise NotApproved(f"the status of {found.server} {found.partial}: {_ASK_A_ROUTER}")
    if found.is_behind and (prunes or not wanted):
        raise NotApproved(f"{_behind(found)}: {_ASK_AGAIN}")
    if found.differs and prunes:
        raise NotApproved(
            f"the routers differ in what they see of {found.server}, and one of them may have what"
            " another lacks: take nothing out before they agree"
        )
    if not found.digests:
        raise NotApproved(f"no tool of {found.server} is served or waits for approval")
    unfit = _unfit(wanted or found.digests)
    if unfit.keys() & set(wanted) or unfit.keys() == found.digests.keys():
        name, problem = next(iter(unfit.items()))
        raise NotApproved(f"{name} of {found.server} cannot be approved: its name {problem}")
    chosen = {name: found.digests[name] for name in sorted(wanted or found.digests.keys() - unfit)}
    for name, each in chosen.items():
        if not digest.is_digest(each):
            raise NotApproved(f"what the router calls the digest of {name} is none: {each}")
    approval = Approval(found, chosen, unfit, tuple(_gone(found)), prunes, policy)
    if (count := _count(approval)) > APPROVED_MAX:
        raise NotApproved(
            f"{count} tools would be approved, and at most {APPROVED_MAX} can be: name those that"
            " agents need, and allow no others"
        )
    return approval


def told(approval: Approval) -> Iterator[str]:
    """Yield the lines that say what is approved, what changes, and how it is applied."""
    found = approval.found
    yield f"{found.server}: {_numbered(len(approval.digests), 'definition')} to approve"
    for name in approval.digests:
        yield f"  {name}: {_change(approval, name)}"
    for name, problem in approval.unfit.items():
        yield f"  {name}: not approved, its name {problem}"
    for name in approval.gone:
        end = "taken out" if approval.prunes else "still approved (--prune takes it out)"
        yield f"  {name}: not offered (not allowed, or gone), {end}"
    before = found.before.policy if found.before else None
    if approval.policy and approval.policy != before:
        yield f"policy: {f'{before} -> ' if before else ''}{approval.policy}"
    if (approval.policy or before) is Policy.OFF:
        yield "policy: Off, so that no approval matters (--policy Enforce, or Warn, changes that)"
    namespace, slash, name = found.server.partition("/")
    if slash:
        yield f"to apply it, pipe it into: {_kubectl(namespace, name)}"
    else:
        yield "the server is one of a file: write there what is under spec"


def _change(approval: Approval, name: str) -> str:
    new, found = _short(approval.digests[name]), approval.found
    if found.before is None:
        return f"{new}, {'left out so far' if name in found.waiting else 'served'}"
    old = found.before.approved.get(name)
    if old is None:
        return f"{new}, new"
    return f"{new}, as before" if old == approval.digests[name] else f"{_short(old)} -> {new}"


def _missing(found: Approvable, name: str) -> str:
    where = f"of {found.server}"
    if own := found.aliases.get(name):
        return f"{name} is what agents call the tool {own} {where}: name it {own}"
    if reason := found.why_left_out(name):
        return f"{name} {where} is left out, and not for its definition: {reason}"
    if not found.is_whole:
        return f"{name} {where} is not in the status, which {found.partial}: {_ASK_A_ROUTER}"
    if found.is_behind:
        return f"{name} {where} is not in the report, and {_behind(found)}: {_ASK_AGAIN}"
    there = approvable.nearest(name, found.digests) or "none is"
    return f"no tool {name} {where} is served or waits for approval: {there}"


def _unfit(names: Iterable[str]) -> dict[str, str]:
    problems = {name: toolspec.name_problem(name) for name in sorted(names)}
    return {name: problem for name, problem in problems.items() if problem}


def _gone(found: Approvable) -> Iterator[str]:
    if found.before is None or not found.is_whole or found.is_behind or found.differs:
        return
    for name in sorted(found.before.approved.keys() - found.digests.keys()):
        if found.why_left_out(name) is None:
            yield name


def _behind(found: Approvable) -> str:
    return f"the router serves {found.server} as it was before it was changed"


def _count(approval: Approval) -> int:
    before = approval.found.before
    kept = set(before.approved) - set(approval.gone if approval.prunes else ()) if before else set()
    return len(kept | approval.digests.keys())


def _kubectl(namespace: str, name: str) -> str:
    return shlex.join(
        [
            *("kubectl", "patch", "mcpserver", name, "--namespace", namespace),
            *("--type", "merge", "--patch-file", "/dev/stdin"),
        ]
    )


def _short(text: str) -> str:
    return text.removeprefix("sha256:")[:_SHOWN_DIGITS]


def _numbered(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
