"""What is believed of one upstream, listing after listing, and when to ask it again.

| known before      | a listing brings      | believed after                                      |
|-------------------|-----------------------|-----------------------------------------------------|
| anything          | tools                 | these tools                                         |
| nothing, or empty | no tools              | no tools                                            |
| tools             | no tools, at first    | all else anew; the tools as before, stale: restarts |
|                   |                       | look like this                                      |
| tools             | no tools, three times | no tools                                            |
| tools             | a failure             | the tools as before, stale, for `keep_s`            |
| nothing           | a failure             | nothing, and why                                    |
| entries of a kind | an error in the place | all else anew; these as before, for                 |
|                   | of their list, or a   | `keep_s`                                            |
|                   | list beyond bounds    |                                                     |
| entries of a kind | none of them          | all else anew; these as before, until they are      |
|                   |                       | missing three times                                 |
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from pointsman_contract.meta import Exposed
from pointsman_contract.report import ServerReason
from pointsman_router.entrycheck import Kind
from pointsman_router.offer import Finding, Offer
from pointsman_router.registry import Skip

# Beyond this much doubt an empty list is the truth: the first, and two more that agree.
_EMPTY_BELIEVED = 3
# What nobody repairs within seconds is not asked about every second.
_SLOW = frozenset(
    [
        ServerReason.UPSTREAM_AUTH_REQUIRED,
        ServerReason.UNSUPPORTED_PROTOCOL,
        ServerReason.LIST_TOO_LARGE,
        ServerReason.CURSOR_LOOP,
    ]
)
_NOTHING = Finding(None, None)
# Past this many doublings a wait is at its bound anyway.
_DOUBLINGS_MAX = 16


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When upstreams are asked; each default stands with its reason."""

    refresh_s: float = 60.0
    """How old may be what agents see of an upstream that cannot notify."""
    ttl_least_s: float = 30.0
    """An upstream's `ttlMs` may shorten a refresh to this: what it says is no order."""
    refresh_jitter: float = 0.2
    """The share by which a refresh is early or late, so that replicas do not ask in step."""
    backoff_first_s: float = 1.0
    """After a first failure: most are a restart."""
    backoff_max_s: float = 60.0
    """A healed upstream is back after a minute at the latest."""
    least_s: float = 0.4
    """Listings of one upstream are at least so far apart, whoever asks for them. A change that
    comes right behind one, and then right behind a notice, still reaches agents in a second."""
    keep_s: float = 24 * 3600.0
    """How long an offer outlives its upstream's silence: over a night, not over a week."""
    confirm_s: float = 10.0
    """How far apart empty lists have to be to confirm each other: longer than a restart."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """How often a list came empty in which there was something."""

    empties: int
    """Empty lists since the last full one, counted only at a distance from each other."""
    at_s: float
    """When the last of them was counted."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What one upstream's listings came to."""

    finding: Finding = _NOTHING
    listed_at_s: float | None = None
    """When the offer was last confirmed, on the asker's clock."""
    failures: int = 0
    """In a row."""
    doubts: Mapping[Kind | None, Doubt] = field(default_factory=dict)
    """The lists that came empty and are not believed; None is that of the tools."""
    refused_at_s: Mapping[Kind, float] = field(default_factory=dict)
    """Since when a list is answered with an error each time."""

    @property
    def reason(self) -> ServerReason | None:
        """What is wrong now, if anything is."""
        return self.finding.trouble.reason if self.finding.trouble else None


def listed(belief: Belief, offer: Offer, now_s: float, rhythm: Rhythm) -> Belief:
    """Return what is believed once the upstream listed `offer`."""
    known = belief.finding.offer or offer
    refused_at_s = {kind: belief.refused_at_s.get(kind, now_s) for kind in offer.refused}
    kept = [kind for kind, at_s in refused_at_s.items() if now_s - at_s <= rhythm.keep_s]
    counted = {of: _counted(belief.doubts.get(of), now_s, rhythm) for of in offer.lacking(known)}
    doubts = {of: doubt for of, doubt in counted.items() if doubt.empties < _EMPTY_BELIEVED}
    trouble = _tools_doubted(offer, doubts)
    doubted = {kind: _doubted(kind) for kind in doubts if kind is not None}
    offer = replace(offer.keeping(known, [*kept, *doubts]), refused={**offer.refused, **doubted})
    return Belief(
        _unless_equal(belief.finding, Finding(offer, trouble)),
        listed_at_s=belief.listed_at_s if trouble else now_s,
        doubts=doubts,
        refused_at_s=refused_at_s,
    )


def asked_otherwise(belief: Belief, exposes: Collection[Exposed]) -> Belief:
    """Return what is believed of the same upstream before it is first asked in another way.

    What was known stays as far as it is exposed. What was counted begins anew: another question's
    answers confirm nothing.
    """
    offer = belief.finding.offer
    finding = Finding(offer and offer.only(exposes), belief.finding.trouble)
    return Belief(
        _unless_equal(belief.finding, finding),
        listed_at_s=belief.listed_at_s,
        refused_at_s=belief.refused_at_s,
    )


def failed(belief: Belief, trouble: Skip, now_s: float, rhythm: Rhythm) -> Belief:
    """Return what is believed once a listing failed."""
    finding = Finding(belief.finding.offer, trouble)
    new = replace(
        belief,
        finding=_unless_equal(belief.finding, finding),
        failures=belief.failures + 1,
    )
    return outlived(new, now_s, rhythm)


def outlived(belief: Belief, now_s: float, rhythm: Rhythm) -> Belief:
    """Return what is believed once time has passed: an offer does not outlive `keep_s`."""
    left_s = keeps_s(belief, now_s, rhythm)
    if left_s is None or left_s > 0:
        return belief
    return replace(belief, finding=Finding(None, belief.finding.trouble))


def keeps_s(belief: Belief, now_s: float, rhythm: Rhythm) -> float | None:
    """Return for how long an offer is still believed; None where its upstream answers."""
    if not belief.failures or belief.finding.offer is None or belief.listed_at_s is None:
        return None
    return belief.listed_at_s + rhythm.keep_s - now_s


def wait_s(
    belief: Belief, rhythm: Rhythm, chance: Callable[[], float], at_least_ms: int | None
) -> float:
    """Return the time until the next listing; `chance` gives numbers from 0 to 1."""
    if belief.failures and belief.reason not in _SLOW:
        doublings = min(belief.failures - 1, _DOUBLINGS_MAX)
        bound = min(rhythm.backoff_max_s, rhythm.backoff_first_s * float(2**doublings))
        return max(chance() * bound, (at_least_ms or 0) / 1000)
    if belief.doubts:
        return rhythm.confirm_s * (1 + rhythm.refresh_jitter * chance())
    return _refresh_s(belief, rhythm) * (1 + rhythm.refresh_jitter * (2 * chance() - 1))


def _refresh_s(belief: Belief, rhythm: Rhythm) -> float:
    """Return how old a list may become: an upstream may shorten that, and never lengthen it."""
    offer = belief.finding.offer
    if offer is None or offer.ttl_ms is None:
        return rhythm.refresh_s
    return min(rhythm.refresh_s, max(rhythm.ttl_least_s, offer.ttl_ms / 1000))


def _counted(doubt: Doubt | None, now_s: float, rhythm: Rhythm) -> Doubt:
    """Return the doubt that one more empty list leaves."""
    if doubt is None:
        return Doubt(1, now_s)
    if now_s - doubt.at_s < rhythm.confirm_s:
        return doubt
    return Doubt(doubt.empties + 1, now_s)


def _tools_doubted(offer: Offer, doubts: Collection[Kind | None]) -> Skip | None:
    """Return what is wrong where no tools came, or nothing at all did, and that is doubted."""
    if not doubts or (None not in doubts and any(offer.fills)):
        return None
    what = "no tools" if any(offer.fills) else "nothing"
    return Skip(
        ServerReason.NO_TOOLS,
        f"the upstream suddenly lists {what}; its last list stays until that is confirmed",
    )


def _doubted(kind: Kind) -> Skip:
    return Skip(
        ServerReason.NO_TOOLS, f"the upstream suddenly lists no {kind}s, which is not confirmed yet"
    )


def _unless_equal(old: Finding, new: Finding) -> Finding:
    """Return the old finding where nothing changed: equal ones are one object."""
    return old if new == old else new
