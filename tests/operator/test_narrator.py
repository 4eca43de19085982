"""What is told while nothing else waits for it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bench.cluster_api import mcp_server
from pointsman_operator import apierrors, narrator, seen
from pointsman_operator.apierrors import ApiError
from pointsman_operator.metrics import Metrics
from pointsman_operator.narrator import Narrator
from pointsman_operator.ration import Ration
from pointsman_operator.seen import Resource
from pointsman_operator.status import Condition, ConditionType, Lists, Remark, Status, Truth

READY = Condition(ConditionType.READY, Truth.TRUE, "Ready", "yes", 1, "")
SUSPENDED = replace(READY, truth=Truth.FALSE, reason="Suspended", message="no")
WHEN = datetime(2026, 1, 1, 8, tzinfo=UTC)


def resource(name: str = "github", *said: Condition) -> Resource:
    body = mcp_server(name, "tools", url="http://good.example/mcp")
    body["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "1", "generation": 1}
    return replace(seen.resource(body), status=Status(conditions=said))


def becomes(*said: Condition) -> Status:
    return Status(conditions=said)


class Paper:
    """Takes Events, or fails as the API server does."""

    def __init__(self) -> None:
        self.written: list[Mapping[str, object]] = []
        self.faults: list[Exception] = []

    async def create_event(self, namespace: str, body: Mapping[str, object]) -> None:
        assert namespace == "tools"
        if self.faults:
            raise self.faults.pop(0)
        self.written.append(body)

    @property
    def notes(self) -> list[object]:
        return [body["note"] for body in self.written]


class Telling:
    def __init__(self) -> None:
        self.paper, self.metrics = Paper(), Metrics()
        self.narrator = Narrator(
            self.paper,
            Ration(burst=3, interval_s=60.0),
            self.metrics,
            instance="operator-1",
            clock=lambda: WHEN,
            logger=logging.getLogger("test"),
        )

    @property
    def counted(self) -> float:
        name = "pointsman_operator_api_writes_total"
        return self.metrics.registry.get_sample_value(name, {"kind": "event"}) or 0.0


@asynccontextmanager
async def telling() -> AsyncIterator[Telling]:
    """A narrator at work; when the block ends, it has told everything."""
    one = Telling()
    running = asyncio.create_task(one.narrator.run())
    yield one
    one.narrator.close()
    async with asyncio.timeout(5):
        await running


async def test_what_became_of_a_resource_is_written() -> None:
    async with telling() as one:
        one.narrator.tell(resource(), becomes(READY), 0.0)
        one.narrator.tell(resource("github", READY), becomes(READY), 0.0)
        one.narrator.tell(resource("github", READY), becomes(SUSPENDED), 0.0)

    assert one.paper.notes == ["yes", "Suspended: no"]
    assert [body["eventTime"] for body in one.paper.written] == ["2026-01-01T08:00:00.000000Z"] * 2
    assert one.counted == 2


@pytest.mark.parametrize(
    "fault",
    [
        apierrors.Forbidden("no right"),
        apierrors.NotFound("no namespace"),
        apierrors.TooManyRequests("later"),
        RuntimeError("a fault of ours"),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_what_cannot_be_written_is_not_tried_again_and_ends_nothing(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with telling() as one:
        one.paper.faults.append(fault)
        one.narrator.tell(resource("a"), becomes(READY), 0.0)
        one.narrator.tell(resource("b"), becomes(SUSPENDED), 0.0)

    assert one.paper.notes == ["Suspended: no"]
    assert one.counted == 2
    assert len(caplog.records) == 1


async def test_of_many_that_cannot_be_written_the_first_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusal: ApiError = apierrors.Forbidden("no right")
    async with telling() as one:
        one.paper.faults.extend([refusal] * 5)
        for number in range(6):
            one.narrator.tell(resource(f"server-{number}"), becomes(READY), 0.0)

    assert len(one.paper.written) == 1
    assert len(caplog.records) == 1


async def test_one_that_flaps_is_held_to_its_ration_and_no_other_is() -> None:
    async with telling() as one:
        for _ in range(5):
            one.narrator.tell(resource("github", SUSPENDED), becomes(READY), 0.0)
            one.narrator.tell(resource("github", READY), becomes(SUSPENDED), 0.0)
        one.narrator.tell(resource("slack"), becomes(READY), 0.0)
        one.narrator.forget(resource().config_map)
        one.narrator.tell(resource(), becomes(READY), 0.0)

    assert one.paper.notes == ["yes", "Suspended: no", "yes", "yes", "yes"]


def holding(*tools: str, digest: str = "sha256:1") -> Status:
    """A status of which these tools' definitions wait to be approved."""
    remarks = tuple(Remark(tool, "DefinitionChanged", "m", digest) for tool in tools)
    return Status(lists=Lists(skipped=remarks))


async def test_of_a_definition_people_are_told_once_however_often_its_list_empties() -> None:
    github = resource()
    async with telling() as one:
        for now_s in (0.0, 1000.0):
            one.narrator.tell(github, holding("a"), now_s)
            one.narrator.tell(replace(github, status=holding("a")), Status(), now_s)
        one.narrator.tell(github, holding("a", digest="sha256:2"), 2000.0)
        one.narrator.tell(resource("slack"), holding("a"), 2000.0)

    assert [body["reason"] for body in one.paper.written] == ["DefinitionChanged"] * 3


async def test_a_definition_that_waited_before_the_narrator_began_is_not_told() -> None:
    github = resource()
    async with telling() as one:
        one.narrator.tell(replace(github, status=holding("a")), Status(), 0.0)
        one.narrator.tell(github, holding("a"), 1000.0)

    assert one.paper.written == []


async def test_of_definitions_without_end_the_newest_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(narrator, "DEFINITIONS_MAX", 2)
    github = resource()
    async with telling() as one:
        for number, tool in enumerate(["a", "b", "a", "c", "a", "b"]):
            one.narrator.tell(github, holding(tool), number * 1000.0)

    told = [str(note).split()[3] for note in one.paper.notes]
    assert told == ["a", "b", "c", "b"]


async def test_no_more_wait_than_are_worth_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(narrator, "WAITING_MAX", 3)
    async with telling() as one:
        for number in range(10):
            one.narrator.tell(resource(f"server-{number}"), becomes(READY), 0.0)

    assert len(one.paper.written) == 3
    assert len(caplog.records) == 1
