"""Many calls share one timer, and each ends in its own time."""

import asyncio

import pytest

from pointsman_router.upstream.deadlines import Deadlines

SHORT_S, LONG_S = 0.05, 30.0


async def test_a_task_that_waits_too_long_is_told_so_and_not_before() -> None:
    deadlines, loop = Deadlines(), asyncio.get_running_loop()
    begun_s = loop.time()
    with pytest.raises(TimeoutError), deadlines.within(SHORT_S):
        await asyncio.Event().wait()

    assert loop.time() - begun_s >= SHORT_S


@pytest.mark.parametrize(
    "limits_s", [(SHORT_S, LONG_S), (LONG_S, SHORT_S)], ids=["the first", "the last"]
)
async def test_only_the_one_that_is_due_ends(limits_s: tuple[float, float]) -> None:
    deadlines, ended = Deadlines(), asyncio.Event()

    async def wait(limit_s: float) -> float:
        try:
            with deadlines.within(limit_s):
                await ended.wait()
        except TimeoutError:
            ended.set()
            return 0.0
        return limit_s

    left = await asyncio.gather(*map(wait, limits_s))
    deadlines.close()

    assert sorted(left) == [0.0, LONG_S]


async def test_what_ends_in_time_is_left_alone() -> None:
    deadlines = Deadlines()
    with deadlines.within(SHORT_S):
        pass
    with pytest.raises(TimeoutError), deadlines.within(2 * SHORT_S):
        await asyncio.Event().wait()

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_task_that_others_cancel_is_cancelled_and_not_late() -> None:
    deadlines = Deadlines()

    async def wait() -> None:
        with deadlines.within(LONG_S):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    deadlines.close()

    assert task.cancelled()
