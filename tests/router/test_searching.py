"""When an index is made, how long it is kept, and who waits for it."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

import pytest

from bench.catalogues import Known, built, built_of, definition, found, server
from bench.waiting import until
from pointsman_router import searching
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.endpoints import Endpoint
from pointsman_router.listing import Form, Line
from pointsman_router.metatools import Found, Search
from pointsman_router.search import Index
from pointsman_router.searching import Searching

GITHUB, LONE = server("tools/github"), server("tools/lone")
FIRST = built(Known(GITHUB, found("search", "read")), Known(LONE, found("find")))
DOTTED, SAFE = Endpoint(Form.DOTTED, discover=True), Endpoint(Form.SAFE, discover=True)
ONE = Endpoint(Form.BARE, "tools/github", discover=True)


class Indexes:
    """What was made and closed of them."""

    def __init__(self) -> None:
        self.made: list[tuple[Form, int]] = []
        self.open = 0
        self.threads: set[str] = set()


@pytest.fixture
def indexes(monkeypatch: pytest.MonkeyPatch) -> Indexes:
    seen = Indexes()

    class Recorded(Index):
        def __init__(self, lines: Sequence[Line], form: Form) -> None:
            seen.made.append((form, len(lines)))
            seen.open += 1
            seen.threads.add(threading.current_thread().name)
            super().__init__(lines, form)

        def close(self) -> None:
            seen.open -= 1
            super().close()

    monkeypatch.setattr(searching, "Index", Recorded)
    return seen


class Stage:
    """A cell with the newest snapshot, and what searches in it."""

    def __init__(self, tools_max: int, indexes_max: int) -> None:
        self.catalogues = Current(FIRST)
        self.searching = Searching(
            self.catalogues.get, tools_max=tools_max, indexes_max=indexes_max
        )
        self.catalogues.on_change(self.searching.changed)

    async def find(
        self, query: str, view: Endpoint = DOTTED, of: Catalogue | None = None
    ) -> list[str]:
        found_now = await self.found(query, view, of)
        return [line.names[view.form] for line in found_now.tools]

    async def found(
        self, query: str, view: Endpoint = DOTTED, of: Catalogue | None = None
    ) -> Found:
        return await self.searching.find(of or self.catalogues.get(), view, Search(query))


@pytest.fixture
async def stage(indexes: Indexes) -> AsyncIterator[Stage]:
    with staged() as made:
        yield made
    await until(lambda: indexes.open == 0, what="every index is closed")


@contextmanager
def staged(tools_max: int = 100, indexes_max: int = 10) -> Iterator[Stage]:
    made = Stage(tools_max, indexes_max)
    try:
        yield made
    finally:
        made.searching.close()


def changed(*tools: str | bytes, previous: Catalogue = FIRST) -> Catalogue:
    """The catalogue after a change of one server's offer."""
    return built(Known(GITHUB, found(*tools)), Known(LONE, found("find")), previous=previous)


async def test_what_an_endpoint_lists_is_what_is_searched_there(stage: Stage) -> None:
    words = "search read find github lone"

    assert sorted(await stage.find(words)) == ["github.read", "github.search", "lone.find"]
    assert sorted(await stage.find(words, SAFE)) == ["github__read", "github__search", "lone__find"]
    assert sorted(await stage.find(words, ONE)) == ["read", "search"]
    assert await stage.find(words, Endpoint(Form.BARE, "tools/gone", discover=True)) == []


async def test_an_answer_names_the_snapshot_that_it_is_of(stage: Stage) -> None:
    before = await stage.found("search")
    stage.catalogues.put(changed("other"))
    after = await stage.found("search")

    assert (before.revision, before.total) == (FIRST.revision, 1)
    assert (after.revision, after.total) == (stage.catalogues.get().revision, 0)


async def test_nothing_is_made_before_somebody_searches(stage: Stage, indexes: Indexes) -> None:
    stage.catalogues.put(changed("other"))

    assert indexes.made == []
    assert not any(thread.name.startswith("search") for thread in threading.enumerate())


async def test_an_index_is_made_once_for_all_who_ask_beside_the_event_loop(
    stage: Stage, indexes: Indexes
) -> None:
    await asyncio.gather(*(stage.find("search") for _ in range(50)))

    assert indexes.made == [(Form.DOTTED, 3)]
    assert indexes.threads == {"search_0"}


async def test_an_index_is_made_anew_after_a_change_of_its_tools(
    stage: Stage, indexes: Indexes
) -> None:
    assert await stage.find("write") == []
    stage.catalogues.put(changed("search", "write"))

    assert await stage.find("write") == ["github.write"]
    assert (indexes.made, indexes.open) == ([(Form.DOTTED, 3)] * 2, 1)


async def test_a_change_of_other_tools_costs_an_endpoint_nothing(
    stage: Stage, indexes: Indexes
) -> None:
    await stage.find("search", ONE)
    stage.catalogues.put(
        built(Known(GITHUB, found("search", "read")), Known(LONE, found("new")), previous=FIRST)
    )

    assert await stage.find("search", ONE) == ["search"]
    assert indexes.made == [(Form.BARE, 2)]


async def test_a_snapshot_that_lists_the_same_costs_nothing(stage: Stage, indexes: Indexes) -> None:
    await stage.find("search")
    stage.catalogues.put(changed("search", "read"))

    assert await stage.find("search") == ["github.search"]
    assert indexes.made == [(Form.DOTTED, 3)]


async def test_what_no_longer_holds_is_dropped_although_nobody_asks(
    stage: Stage, indexes: Indexes
) -> None:
    await stage.find("search")
    await stage.find("search", ONE)
    stage.catalogues.put(built(Known(GITHUB, found("search", "read")), previous=FIRST))

    await until(lambda: indexes.open == 1)
    await stage.find("search", ONE)
    assert indexes.made == [(Form.DOTTED, 3), (Form.BARE, 2)]


async def test_a_search_that_began_before_a_change_ends_in_its_own_snapshot(stage: Stage) -> None:
    stage.catalogues.put(changed("other"))

    assert await stage.find("search", of=FIRST) == ["github.search"]
    assert await stage.find("other") == ["github.other"]


async def test_what_was_asked_longest_ago_makes_room(indexes: Indexes) -> None:
    with staged(tools_max=5) as stage:
        for view in (DOTTED, ONE, DOTTED, SAFE, DOTTED, ONE):
            await stage.find("search", view)

        forms = [form for form, _ in indexes.made]
        assert forms == [Form.DOTTED, Form.BARE, Form.SAFE, Form.DOTTED, Form.BARE]
        assert indexes.open == 2


async def test_there_are_never_more_indexes_than_a_few_however_little_they_hold(
    indexes: Indexes,
) -> None:
    many = built(*(Known(server(f"tools/s{n}"), found(f"tool{n}")) for n in range(20)))
    with staged(indexes_max=3) as stage:
        stage.catalogues.put(many)
        for n in range(20):
            endpoint = Endpoint(Form.BARE, f"tools/s{n}", discover=True)
            assert await stage.find(f"tool{n}", endpoint) == [f"tool{n}"]
            assert indexes.open <= 3
        await stage.find("tool19", endpoint)

        assert len(indexes.made) == 20


async def test_where_nothing_is_listed_no_index_is_made(indexes: Indexes) -> None:
    with staged(indexes_max=1) as stage:
        await stage.find("search")
        for endpoint in (Endpoint(Form.BARE, "tools/gone"), Endpoint(Form.DOTTED, view="a/b")):
            assert (await stage.found("search", endpoint)).total == 0

        assert indexes.made == [(Form.DOTTED, 3)]
        stage.catalogues.put(built(previous=FIRST))
        assert await stage.find("search") == []
        await until(lambda: indexes.open == 0)


async def test_the_endpoint_that_is_asked_is_kept_however_much_it_lists(indexes: Indexes) -> None:
    with staged(tools_max=1) as stage:
        for _ in range(3):
            assert await stage.find("search") == ["github.search"]

        assert indexes.made == [(Form.DOTTED, 3)]


async def test_a_search_that_is_given_up_costs_the_next_one_nothing(stage: Stage) -> None:
    searches = [asyncio.create_task(stage.find("search")) for _ in range(3)]
    await asyncio.sleep(0)
    searches[1].cancel()

    assert await searches[0] == await searches[2] == ["github.search"]
    assert await stage.find("read") == ["github.read"]


async def test_the_event_loop_does_not_wait_for_a_large_index() -> None:
    text = "Lists what is there and what was, in order of its age. " * 8
    large = built_of(
        server(), found(*(definition(f"tool{n}", description=f"{text}{n}") for n in range(3000)))
    )
    with staged() as stage:
        finding = asyncio.create_task(stage.find("tool1234 order", of=large))
        turns, began_s = 0, time.perf_counter()
        while not finding.done():
            await asyncio.sleep(0)
            turns += 1
        took_s = time.perf_counter() - began_s

    assert (await finding)[0] == "github.tool1234"
    # Where the loop had to wait for the whole of it, there would be two or three.
    assert turns > 20, f"{turns} turns in {took_s:.3f} s"
