"""Which key is worked on, when, and by how many."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pointsman_operator import workqueue
from pointsman_operator.workqueue import WorkQueue

SOON_S = 0.05
DEADLINE_S = 5.0


class Work:
    """What the workers were handed, and a gate that they wait at."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue = queue
        self.begun: list[str] = []
        self.at_once: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self.all_at_once = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.moved = asyncio.Condition()

    async def handle(self, key: str) -> None:
        self.begun.append(key)
        self.at_once[key] += 1
        self.most_at_once[key] = max(self.most_at_once[key], self.at_once[key])
        self.all_at_once = max(self.all_at_once, self.at_once.total())
        async with self.moved:
            self.moved.notify_all()
        await self.gate.wait()
        self.at_once[key] -= 1

    async def until_begun(self, *keys: str) -> None:
        async with asyncio.timeout(DEADLINE_S), self.moved:
            await self.moved.wait_for(lambda: self.begun == list(keys))


@asynccontextmanager
async def working(workers: int = 4) -> AsyncIterator[Work]:
    queue = WorkQueue(spread=lambda: 0.0)
    work = Work(queue)
    tasks = [asyncio.create_task(queue.work(work.handle)) for _ in range(workers)]
    try:
        yield work
    finally:
        work.gate.set()
        queue.close()
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*tasks)


async def test_a_key_is_handed_to_one_worker_once() -> None:
    async with working() as work:
        for _ in range(5):
            work.queue.put("a")
        await work.until_begun("a")

    assert work.begun == ["a"]


async def test_a_key_that_comes_while_it_is_worked_on_is_worked_on_again_after() -> None:
    async with working() as work:
        work.gate.clear()
        work.queue.put("a")
        await work.until_begun("a")
        work.queue.put("a")
        work.queue.put("a")
        work.queue.put("b")
        await work.until_begun("a", "b")
        work.gate.set()
        await work.until_begun("a", "b", "a")

    assert work.most_at_once["a"] == 1


async def test_as_many_keys_are_worked_on_as_there_are_workers() -> None:
    async with working(workers=3) as work:
        work.gate.clear()
        for key in "abcde":
            work.queue.put(key)
        await work.until_begun("a", "b", "c")

        assert work.queue.depth == 2
        work.gate.set()
        await work.until_begun(*"abcde")

    assert work.all_at_once == 3


async def test_a_key_waits_for_its_time() -> None:
    async with working() as work:
        work.queue.put("later", work.queue.now_s() + SOON_S)
        work.queue.put("now")
        await work.until_begun("now", "later")


async def test_a_change_takes_the_place_of_the_time_before() -> None:
    async with working() as work:
        work.queue.put("a", work.queue.now_s() + 3600)
        work.queue.put("a")
        await work.until_begun("a")

        assert work.queue.depth == 0


async def test_a_reminder_never_makes_a_key_later() -> None:
    async with working() as work:
        work.queue.put("a", work.queue.now_s() + SOON_S)
        work.queue.wake("a", work.queue.now_s() + 3600)
        await work.until_begun("a")


async def test_a_key_that_fails_comes_back_later_each_time() -> None:
    queue = WorkQueue(spread=lambda: 0.0)

    delays = [queue.failed("a") for _ in range(12)]

    first = workqueue.BACKOFF_FIRST_S
    assert delays[:4] == pytest.approx([first, first * 2, first * 4, first * 8])
    assert delays[-1] == pytest.approx(workqueue.BACKOFF_MAX_S)


async def test_failures_are_spread_over_time() -> None:
    assert WorkQueue(spread=lambda: 1.0).failed("a") == pytest.approx(
        workqueue.BACKOFF_FIRST_S * (1 - workqueue.JITTER)
    )


async def test_a_success_is_a_new_beginning() -> None:
    queue = WorkQueue(spread=lambda: 0.0)
    queue.failed("a")
    queue.failed("a")
    queue.succeeded("a")

    assert queue.failed("a") == pytest.approx(workqueue.BACKOFF_FIRST_S)


async def test_what_came_during_a_failing_attempt_waits_with_it() -> None:
    async with working() as work:
        work.gate.clear()
        work.queue.put("a")
        await work.until_begun("a")
        work.queue.put("a")
        begin_s = work.queue.now_s()
        delay_s = work.queue.failed("a")
        work.gate.set()
        await work.until_begun("a", "a")

        assert work.queue.now_s() >= begin_s + delay_s - 0.01


async def test_a_change_brings_a_failed_key_back_at_once() -> None:
    async with working() as work:
        for _ in range(12):
            work.queue.failed("a")
        work.queue.put("a")
        await work.until_begun("a")


async def test_nothing_brings_a_key_back_before_the_time_it_was_told_to_wait_for() -> None:
    async with working() as work:
        begin_s = work.queue.now_s()
        work.queue.failed("a", not_before_s=begin_s + 0.7)
        work.queue.put("a")
        work.queue.wake("a", begin_s)
        await work.until_begun("a")

        assert work.queue.now_s() >= begin_s + 0.7


async def test_one_failing_key_holds_up_no_other() -> None:
    async with working(workers=1) as work:
        work.queue.failed("a", not_before_s=work.queue.now_s() + 3600)
        work.queue.put("a")
        work.queue.put("b")
        await work.until_begun("b")


async def test_what_is_begun_is_ended_when_the_queue_closes() -> None:
    queue = WorkQueue()
    work = Work(queue)
    work.gate.clear()
    worker = asyncio.create_task(queue.work(work.handle))
    queue.put("a")
    queue.put("b")
    await work.until_begun("a")

    queue.close()
    work.gate.set()
    async with asyncio.timeout(DEADLINE_S):
        await worker

    assert work.begun == ["a"]
    assert work.at_once["a"] == 0
