"""Which transitions of a status are told, and in which words."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_operator import events
from pointsman_operator.consensus import ONLY_BEGAN
from pointsman_operator.events import Event, EventReason
from pointsman_operator.spec import Identity
from pointsman_operator.status import Condition, ConditionType, Lists, Remark, Status, Truth

SERVER = Identity("tools", "github", "u-1", 3)
NOW = "2026-01-01T08:00:00.000001Z"


def status(
    accepted: str = "True Accepted",
    published: str = "True Published",
    discovered: str = "True Discovered",
    ready: str = "True Ready",
    *,
    generation: int = 1,
    **members: Any,
) -> Status:
    """A status by the truth and reason of each condition; an empty one was never stated."""
    words = dict(zip(ConditionType, (accepted, published, discovered, ready), strict=True))
    return Status(
        generation=generation,
        conditions=tuple(
            Condition(kind, Truth(truth), reason, f"why {kind}", generation, "")
            for kind, word in words.items()
            if word
            for truth, reason in [word.split()]
        ),
        **members,
    )


def refused(reason: str) -> Status:
    return status(f"False {reason}", *["False NotAccepted"] * 3)


NOTHING = Status()
UNHEARD = status(discovered="", ready="")
READY = status()
TAKEN_UP = status(discovered="Unknown Pending", ready="False Progressing")
PENDING = status(discovered="Unknown Pending", ready="False NotDiscovered")
UNREACHABLE = status(discovered="False Unreachable", ready="False NotDiscovered")
LATE = status(discovered="False Timeout", ready="False NotDiscovered")
STALE = status(discovered="False Unreachable", ready="False Stale")
NO_ROUTER = status(discovered="Unknown NoRouter", ready="False NoRouter")
BEGUN = replace(
    NO_ROUTER, conditions=tuple(replace(one, message=ONLY_BEGAN) for one in NO_ROUTER.conditions)
)
SUSPENDED = status(ready="False Suspended")
FORBIDDEN = status(
    published="False Forbidden", discovered="Unknown Pending", ready="False Progressing"
)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(NOTHING, UNHEARD, ["Published"], id="a new server"),
        pytest.param(NOTHING, TAKEN_UP, ["Published"], id="a new server, taken up by routers"),
        pytest.param(TAKEN_UP, PENDING, [], id="its upstream is being listed"),
        pytest.param(PENDING, READY, ["Ready"], id="it was"),
        pytest.param(PENDING, UNREACHABLE, ["NotReady"], id="it could not be"),
        pytest.param(UNREACHABLE, LATE, [], id="it could not be in another way"),
        pytest.param(UNREACHABLE, READY, ["Ready"], id="it could in the end"),
        pytest.param(READY, UNREACHABLE, ["NotReady"], id="it no longer can be"),
        pytest.param(READY, STALE, ["NotReady"], id="its tools are old"),
        pytest.param(STALE, UNREACHABLE, ["NotReady"], id="its tools are gone"),
        pytest.param(READY, PENDING, ["NotReady"], id="one router has not listed it after all"),
        pytest.param(READY, TAKEN_UP, [], id="a change is taken up"),
        pytest.param(NOTHING, NO_ROUTER, ["Published", "NotReady"], id="no router"),
        pytest.param(READY, NO_ROUTER, ["NotReady"], id="no router any more"),
        pytest.param(NOTHING, BEGUN, ["Published"], id="routers that only began"),
        pytest.param(READY, BEGUN, [], id="routers that all began again"),
        pytest.param(BEGUN, READY, ["Ready"], id="they had their time"),
        pytest.param(BEGUN, NO_ROUTER, ["NotReady"], id="they fell silent"),
        pytest.param(READY, SUSPENDED, ["NotReady"], id="suspended"),
        pytest.param(NO_ROUTER, SUSPENDED, ["NotReady"], id="another reason"),
        pytest.param(
            READY, status(generation=2), ["Published"], id="a change that was taken up at once"
        ),
        pytest.param(
            TAKEN_UP,
            status(generation=2, ready="False Progressing"),
            ["Published"],
            id="a change before the last was taken up",
        ),
        pytest.param(NOTHING, FORBIDDEN, ["NotReady"], id="a ConfigMap that may not be written"),
        pytest.param(FORBIDDEN, TAKEN_UP, ["Published"], id="it may"),
        pytest.param(NOTHING, refused("InvalidUrl"), ["NotReady"], id="a bad spec"),
        pytest.param(
            refused("InvalidUrl"), refused("TooLarge"), ["NotReady"], id="bad in another way"
        ),
        pytest.param(refused("InvalidUrl"), UNHEARD, ["Published"], id="a spec that was mended"),
        pytest.param(NOTHING, refused("PrefixConflict"), ["PrefixConflict"], id="a rival"),
        pytest.param(READY, refused("PrefixConflict"), ["PrefixConflict"], id="an older rival"),
        pytest.param(refused("PrefixConflict"), TAKEN_UP, ["Published"], id="the rival is gone"),
        pytest.param(
            refused("PrefixConflict"),
            refused("InvalidUrl"),
            ["NotReady"],
            id="a rival's trouble is its spec",
        ),
    ],
)
def test_a_transition_is_told(before: Status, after: Status, told: list[str]) -> None:
    assert [str(one.reason) for one in events.between(before, after)] == told


@pytest.mark.parametrize(
    "one",
    [NOTHING, UNHEARD, READY, TAKEN_UP, PENDING, UNREACHABLE, NO_ROUTER, refused("PrefixConflict")],
)
def test_what_is_as_it_was_is_not_told(one: Status) -> None:
    other_words = replace(
        one, conditions=tuple(replace(each, message="other") for each in one.conditions)
    )

    assert events.between(one, one) == ()
    assert events.between(one, other_words) == ()


@pytest.mark.parametrize(
    ("after", "note"),
    [
        pytest.param(status(generation=3), "generation 3 is why Published", id="published"),
        pytest.param(UNREACHABLE, "Unreachable: why Discovered", id="not discovered"),
        pytest.param(NO_ROUTER, "NoRouter: why Ready", id="not ready"),
        pytest.param(refused("InvalidUrl"), "InvalidUrl: why Accepted", id="not accepted"),
        pytest.param(refused("PrefixConflict"), "why Accepted", id="a rival"),
        pytest.param(FORBIDDEN, "Forbidden: why Published", id="not written"),
    ],
)
def test_a_note_has_the_reason_and_what_to_do(after: Status, note: str) -> None:
    assert events.between(READY, after)[-1].note == note


def changed(*names: str, digest: str = "sha256:1") -> tuple[Remark, ...]:
    return tuple(Remark(name, "DefinitionChanged", "m", digest) for name in names)


def listing(**members: Any) -> Status:
    return status(lists=Lists(**members))


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        pytest.param(
            listing(),
            listing(flagged=changed("b", "a")),
            "the definition of b, a is not approved, and is served nevertheless: read it, and have"
            " `pointsman approve` write the approval (spec.definitions.approved)",
            id="under Warn",
        ),
        pytest.param(
            listing(skipped=changed("a")),
            listing(skipped=changed("a", "b\x07")),
            "the definition of b· is not approved, and is left out: read it, and have"
            " `pointsman approve` write the approval (spec.definitions.approved)",
            id="under Enforce",
        ),
        pytest.param(
            listing(flagged=changed("a")),
            listing(flagged=changed("a", digest="sha256:2")),
            "the definition of a is not approved, and is served nevertheless: read it, and have"
            " `pointsman approve` write the approval (spec.definitions.approved)",
            id="once more",
        ),
        pytest.param(
            listing(),
            listing(skipped=changed("a", "b", "c", "d", "e")),
            "the definition of a, b, c, 2 more is not approved, and is left out: read it, and have"
            " `pointsman approve` write the approval (spec.definitions.approved)",
            id="of many tools",
        ),
        pytest.param(
            listing(),
            listing(flagged=changed("z", "a", "b", "c", "d"), flagged_truncated=True),
            "the definition of z, a, b, at least 2 more is not approved, and is served"
            " nevertheless: read it, and have `pointsman approve` write the approval"
            " (spec.definitions.approved)",
            id="of more than a status lists, what was approved first",
        ),
    ],
)
def test_a_changed_definition_is_told_with_the_tools_names(
    before: Status, after: Status, note: str
) -> None:
    assert events.between(before, after) == (Event(EventReason.DEFINITION_CHANGED, note),)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(listing(flagged=changed("a")), listing(), id="approved"),
        pytest.param(
            listing(flagged=changed("a")), listing(skipped=changed("a")), id="the policy changed"
        ),
        pytest.param(
            listing(),
            listing(skipped=(Remark("a", "TooLarge", "m"),)),
            id="left out for another reason",
        ),
    ],
)
def test_what_is_no_change_of_a_definition_is_not_told_as_one(
    before: Status, after: Status
) -> None:
    assert events.between(before, after) == ()


def test_definitions_that_were_told_before_are_not_told_again() -> None:
    told = {("a", "sha256:1"), ("b", "sha256:1")}
    (event,) = events.between(listing(), listing(skipped=changed("a", "b", "c")), told)

    assert event.note.startswith("the definition of c is not approved")
    assert events.between(listing(), listing(skipped=changed("a", "b")), told) == ()


def test_definitions_with_and_without_a_digest_are_told_together() -> None:
    (event,) = events.between(
        listing(),
        listing(skipped=changed("a"), flagged=(Remark("a", "DefinitionChanged", "m"),)),
    )

    assert event.reason is EventReason.DEFINITION_CHANGED


def test_an_event_is_what_the_api_server_takes() -> None:
    event = Event(EventReason.NOT_READY, "NoRouter: none")

    assert events.body_of(event, SERVER, instance="operator-1", at=NOW) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "github-", "namespace": "tools"},
        "eventTime": NOW,
        "reportingController": "pointsman.dev/operator",
        "reportingInstance": "operator-1",
        "action": "AskRouters",
        "reason": "NotReady",
        "type": "Warning",
        "regarding": {
            "apiVersion": "pointsman.dev/v1alpha1",
            "kind": "McpServer",
            "namespace": "tools",
            "name": "github",
            "uid": "u-1",
        },
        "note": "NoRouter: none",
    }


@pytest.mark.parametrize("reason", EventReason)
def test_only_trouble_is_a_warning_and_each_event_says_what_was_done(reason: EventReason) -> None:
    body = events.body_of(Event(reason, ""), SERVER, instance="x" * 300, at=NOW)
    good = reason in (EventReason.PUBLISHED, EventReason.READY)

    assert body["type"] == ("Normal" if good else "Warning")
    assert re.fullmatch("[A-Za-z]{1,128}", str(body["action"]))
    assert len(str(body["reportingInstance"])) == 128


@given(st.text(max_size=400).map(lambda text: text * 5))
def test_no_note_is_longer_than_the_api_server_takes(text: str) -> None:
    body = events.body_of(Event(EventReason.READY, text), SERVER, instance="o", at=NOW)
    note = str(body["note"])

    assert len(note.encode()) <= 1024
    assert note == text or (note.endswith("…") and text.startswith(note[:-1]))
