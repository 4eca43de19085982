"""What one router says of one server or view, and how its silence or lateness is worded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pointsman_contract.report import ServerReport, ViewReport, printable

MESSAGE_MAX_LENGTH = 512

_Entry = TypeVar("_Entry", ServerReport, ViewReport)


@dataclass(frozen=True, slots=True)
class Statement(Generic[_Entry]):
    """What one router says."""

    router: str
    answers: bool
    """Whether its last long poll ended recently enough to be believed."""
    young: bool = False
    """Whether the router began so recently that it may not have looked yet."""
    entry: _Entry | None = None
    fault: str | None = None
    """Why it holds something older than its directory has."""


def believed(
    statements: Iterable[Statement[_Entry]], has_begun: Callable[[Statement[_Entry]], bool]
) -> list[Statement[_Entry]]:
    """Return what routers say that answer and have had their time, by the routers' names."""
    # In which order they were found must not decide what is said.
    ordered = sorted(statements, key=lambda statement: statement.router)
    return [one for one in ordered if one.answers and not has_begun(one)]


def no_router(total: int) -> str:
    """Say that none of the routers, `total` of them, answers."""
    if not total:
        return "no router is known: start one, and have POINTSMAN_OPERATOR_ROUTERS name it"
    return "no router answers: look at the routers' pods"


def late(statement: Statement[ServerReport] | Statement[ViewReport], published: str) -> str:
    """Say that a router does not serve what is `published` yet, and why where it says so."""
    return _with_fault(
        f"router {printable(statement.router)} does not serve this {published} yet", statement.fault
    )


def lingering(
    serving: Sequence[Statement[ServerReport]] | Sequence[Statement[ViewReport]],
) -> str:
    """Say that the `serving` routers, one or more, still offer what nobody wishes any more."""
    first, others = serving[0], len(serving) - 1
    routers = f"router {printable(first.router)}"
    verb = "serves"
    if others:
        routers, verb = f"{routers} and {others} more", "serve"
    message = f"{routers} still {verb} what was published before, and agents can call that there"
    return _with_fault(message, first.fault)


def _with_fault(message: str, fault: str | None) -> str:
    if fault is None:
        return message
    return f"{message}: {printable(fault, MESSAGE_MAX_LENGTH)}"
