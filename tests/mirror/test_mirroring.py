"""How events become generations: which are joined, which wait, which are told."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.waiting import until
from mirror import reader
from mirror.published import document, view_document
from pointsman_mirror import mirroring
from pointsman_mirror.disk import Directory
from pointsman_mirror.hearing import Cause, Changed, Event, Gone, Listed, Trouble, Unchanged
from pointsman_mirror.layout import Published
from pointsman_mirror.metrics import Metrics
from pointsman_mirror.mirroring import Mirror, settled


def item(name: str) -> Published:
    return Published(name, "tools", name, document("tools", name))


def listed(*names: str) -> Listed:
    return Listed({name: item(name) for name in names})


class Told:
    """A mirror that is told its events by the test."""

    def __init__(self, directory: Path) -> None:
        self.metrics = Metrics()
        self.mirror = Mirror(Directory(directory), self.metrics, logging.getLogger("told"))
        self._events: asyncio.Queue[Event] = asyncio.Queue()

    def tell(self, *events: Event) -> None:
        for event in events:
            self._events.put_nowait(event)

    async def events(self) -> AsyncGenerator[Event, None]:
        while True:
            yield await self._events.get()

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"pointsman_mirror_{name}", labels)


@asynccontextmanager
async def telling(directory: Path) -> AsyncIterator[Told]:
    told = Told(directory)
    running = asyncio.ensure_future(told.mirror.run(told.events()))
    try:
        yield told
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_nothing_is_written_before_the_whole_set_is_known(tmp_path: Path) -> None:
    async with telling(tmp_path) as told:
        told.tell(Trouble(Cause.UNREACHABLE, "refused", 0.1))
        await until(lambda: told.metric("watch_failures_total", cause="Unreachable"))

        assert not told.mirror.is_ready
        assert told.mirror.lack == "Unreachable: refused"
        assert reader.generations(tmp_path) == []


async def test_trouble_and_silence_change_nothing_that_readers_see(tmp_path: Path) -> None:
    async with telling(tmp_path) as told:
        told.tell(listed("github"))
        await until(lambda: told.mirror.is_ready)
        target = os.readlink(tmp_path / "..data")
        told.tell(Trouble(Cause.EXPIRED, "410", 0.1), Unchanged(), listed("github"))
        await until(lambda: told.metric("watch_failures_total", cause="Expired"))
        told.tell(Changed("search", item("search")))
        await until(lambda: len(reader.read(tmp_path)) == 2)

        assert reader.generations(tmp_path) == sorted([target, os.readlink(tmp_path / "..data")])


async def test_a_new_list_replaces_everything_that_was_known(tmp_path: Path) -> None:
    async with telling(tmp_path) as told:
        told.tell(listed("github"), Changed("search", item("search")), Gone("github"))
        await until(lambda: told.mirror.is_ready)
        told.tell(listed("zoo"))

        await until(lambda: list(reader.read(tmp_path)) == ["tools.zoo"])


async def test_servers_and_views_of_a_generation_are_counted(tmp_path: Path) -> None:
    view = Published("v", "tools", "support", view_document("tools", "support"), is_view=True)
    async with telling(tmp_path) as told:
        told.tell(listed("github"), Changed("v", view))
        await until(lambda: told.mirror.is_ready)

        assert sorted(reader.read(tmp_path)) == ["tools.github", "tools.support.view"]
        assert (told.metric("servers"), told.metric("views")) == (1, 1)

        told.tell(Gone("v"))

        await until(lambda: told.metric("views") == 0)
        assert list(reader.read(tmp_path)) == ["tools.github"]


async def test_the_end_of_something_unknown_is_no_fault(tmp_path: Path) -> None:
    async with telling(tmp_path) as told:
        told.tell(listed("github"), Gone("never-heard-of"))

        await until(lambda: told.mirror.is_ready)


async def test_what_comes_together_is_written_together(tmp_path: Path) -> None:
    async with telling(tmp_path) as told:
        told.tell(listed(), *(Changed(name, item(name)) for name in ("a", "b", "c")), Gone("b"))
        await until(lambda: told.mirror.is_ready)

        assert sorted(reader.read(tmp_path)) == ["tools.a", "tools.c"]
        assert told.metric("generations_total") == 1


async def test_a_fault_of_its_own_ends_it_instead_of_leaving_it_deaf(tmp_path: Path) -> None:
    async def events() -> AsyncGenerator[Event, None]:
        yield listed("github")
        raise LookupError("a mistake of ours")

    told = Told(tmp_path)
    with pytest.raises(ExceptionGroup) as failed:
        await told.mirror.run(events())

    assert failed.group_contains(LookupError)


async def test_a_burst_is_over_when_it_has_been_quiet_for_a_moment() -> None:
    changed = asyncio.Event()
    waiting = asyncio.ensure_future(settled(changed, quiet_s=0.02, at_most_s=60))
    changed.set()
    async with asyncio.timeout(5):
        await waiting

    assert not changed.is_set()


async def test_a_burst_that_does_not_end_is_not_waited_for() -> None:
    changed = asyncio.Event()
    clock = asyncio.get_running_loop().time

    async def change_without_end() -> None:
        while True:
            changed.set()
            await asyncio.sleep(0)

    changing = asyncio.ensure_future(change_without_end())
    begun_s = clock()
    async with asyncio.timeout(5):
        await settled(changed, quiet_s=1, at_most_s=0.05)
    changing.cancel()

    assert 0.05 <= clock() - begun_s < 0.5


async def test_without_a_change_nothing_settles() -> None:
    changed = asyncio.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await settled(changed, quiet_s=0.01, at_most_s=0.02)


def test_a_lone_change_is_in_force_soon_and_a_failed_write_is_tried_again_within_seconds() -> None:
    assert mirroring.QUIET_S <= 0.05
    assert mirroring.BURST_MAX_S <= 0.1
    assert mirroring.WRITE_RETRY_MAX_S < 5
