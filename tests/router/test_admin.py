"""What the admin port answers, to whom, and when."""

import asyncio
import json
import time

import pytest
from prometheus_client import CollectorRegistry, Gauge

from bench.adminport import listening, reporting
from bench.waiting import until
from pointsman_contract.report import Change


async def test_a_router_that_lives_says_so_ready_or_not() -> None:
    async with listening(unready=lambda: "not yet") as port:
        answer = await port.get("/livez")

    assert (answer.status, answer.body) == (200, b"ok\n")


async def test_readiness_says_why_not() -> None:
    problem: list[str | None] = ["the directory has not been read yet"]
    async with listening(unready=lambda: problem[0]) as port:
        before = await port.get("/readyz")
        problem[0] = None
        after = await port.get("/readyz")

    assert (before.status, before.body) == (503, b"the directory has not been read yet\n")
    assert (after.status, after.body) == (200, b"ok\n")


async def test_a_draining_router_is_alive_and_not_ready() -> None:
    async with listening(reporting()) as port:
        port.admin.drain()
        ready, alive = await port.get("/readyz"), await port.get("/livez")

    assert (ready.status, ready.body) == (503, b"draining\n")
    assert alive.status == 200


async def test_metrics_are_those_of_the_registry_it_was_given() -> None:
    registry = CollectorRegistry()
    Gauge("pointsman_test", "A number.", registry=registry).set(7)
    async with listening(metrics=registry) as port:
        answer = await port.get("/metrics")

    assert answer.status == 200
    assert b"pointsman_test 7.0" in answer.body
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")


async def test_the_status_is_the_whole_report_with_its_tag() -> None:
    async with listening(reporting("a", "b")) as port:
        answer = await port.get("/status")

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["ETag"].startswith('"router-1.')
    assert answer.document == reporting("a", "b")
    assert json.loads(answer.body)["servers"][0]["state"] == "Pending"


async def test_a_router_that_never_read_its_directory_reports_why_instead_of_no_servers() -> None:
    async with listening(unready=lambda: "/servers: ENOENT") as port:
        answer = await port.get("/status?since=x&wait=30")

    assert (answer.status, answer.body) == (503, b"/servers: ENOENT\n")


async def test_the_first_report_is_told_when_it_comes() -> None:
    async with listening() as port:
        port.reports.put(reporting("a"))
        answer = await port.get("/status")

    assert answer.document == reporting("a")


@pytest.mark.parametrize("quote", ["", '"'], ids=["bare", "quoted"])
async def test_a_long_poll_answers_the_change_as_soon_as_it_happens(quote: str) -> None:
    async with listening(reporting("a", "b")) as port:
        first = await port.get("/status")
        polling = asyncio.create_task(port.get(f"/status?since={quote}{first.tag}{quote}&wait=30"))
        await until(lambda: port.admin.waiting == 1)
        began_s = time.monotonic()
        port.reports.put(reporting("b", "c"))
        answer = await polling
        took_s = time.monotonic() - began_s

    assert took_s < 1.0
    assert answer.status == 200
    assert answer.tag != first.tag
    change = answer.document
    assert isinstance(change, Change)
    assert [server.id for server in change.changed] == ["c"]
    assert change.removed == ("a",)


async def test_every_asker_that_waits_is_answered() -> None:
    async with listening(reporting("a")) as port:
        first = await port.get("/status")
        polling = [
            asyncio.create_task(port.get(f"/status?since={first.tag}&wait=30")) for _ in range(5)
        ]
        await until(lambda: port.admin.waiting == 5)
        port.reports.put(reporting("b"))
        answers = await asyncio.gather(*polling)

        assert {answer.status for answer in answers} == {200}
        assert port.admin.waiting == 0


async def test_a_change_that_already_happened_is_answered_at_once() -> None:
    async with listening(reporting("a")) as port:
        first = await port.get("/status")
        port.reports.put(reporting("a", "b"))
        async with asyncio.timeout(5):
            answer = await port.get(f"/status?since={first.tag}&wait=60")

    assert isinstance(answer.document, Change)


async def test_an_unknown_tag_gets_the_whole_at_once() -> None:
    async with listening(reporting("a")) as port, asyncio.timeout(5):
        answer = await port.get("/status?since=router-0.7&wait=60")

    assert answer.document == reporting("a")


async def test_nothing_new_within_the_wait_is_304() -> None:
    async with listening(reporting("a")) as port:
        first = await port.get("/status")
        began_s = time.monotonic()
        answer = await port.get(f"/status?since={first.tag}&wait=0.2")
        took_s = time.monotonic() - began_s

    assert (answer.status, answer.body, answer.tag) == (304, b"", first.tag)
    assert took_s >= 0.2


async def test_a_wait_is_bounded_whatever_was_asked() -> None:
    async with listening(reporting("a"), wait_max_s=0.1) as port, asyncio.timeout(5):
        first = await port.get("/status")
        answer = await port.get(f"/status?since={first.tag}&wait=86400")

    assert answer.status == 304


async def test_a_known_tag_in_the_header_saves_the_body() -> None:
    async with listening(reporting("a")) as port:
        first = await port.get("/status")
        answer = await port.get("/status", If_None_Match=first.headers["ETag"])

    assert (answer.status, answer.body) == (304, b"")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("wait=soon", "wait"),
        ("wait=", "wait"),
        ("wait=-1", "wait"),
        ("wait=NaN", "wait"),
        ("wait=Infinity", "wait"),
        ("wait=1&wait=2", "wait"),
        ("since=a&since=b", "since"),
    ],
    ids=["word", "empty", "negative", "NaN", "infinite", "wait-twice", "since-twice"],
)
async def test_a_wrong_parameter_is_named(query: str, names: str) -> None:
    async with listening(reporting("a")) as port:
        answer = await port.get(f"/status?{query}")

    assert answer.status == 400
    assert answer.body.decode().startswith(f"{names} must")


async def test_a_drain_ends_every_long_poll_and_begins_none() -> None:
    async with listening(reporting("a")) as port, asyncio.timeout(5):
        first = await port.get("/status")
        polling = asyncio.create_task(port.get(f"/status?since={first.tag}&wait=60"))
        await until(lambda: port.admin.waiting == 1)
        port.admin.drain()
        ended = await polling
        refused = await port.get(f"/status?since={first.tag}&wait=60")
        plain = await port.get("/status")

    assert ended.status == 304
    assert refused.status == 503
    assert plain.status == 200
