"""What is known of routers while they answer, lag, hang and come back."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bench import ports
from bench.reporting_router import ReportingRouter, reporting, serving, serving_view
from bench.waiting import until
from pointsman_contract.report import ExposedTool, ServerReport, State, ViewReport
from pointsman_operator import fleet
from pointsman_operator.fleet import ByName, Fleet, Patience, Whereabouts
from pointsman_operator.statement import Statement

GITHUB = serving("tools/github", "u-1", "search")
SLACK = serving("tools/slack", "u-2", "post")
QUICK = Patience(
    fresh_s=0.8, wait_s=1, answer_s=0.5, young_s=0.6, settled_s=0.5, retry_max_s=0.2, resolve_s=0.1
)


class Followed:
    """A fleet at work, and what it said had changed."""

    def __init__(self, whereabouts: Whereabouts, patience: Patience) -> None:
        self.changes: list[frozenset[str] | None] = []
        self.view_changes: list[frozenset[str]] = []
        self.fleet = Fleet(
            whereabouts,
            self._changed,
            logging.getLogger("test"),
            patience,
            views_changed=self._views_changed,
        )

    def _changed(self, servers: Iterable[str] | None) -> None:
        self.changes.append(None if servers is None else frozenset(servers))

    def _views_changed(self, views: Iterable[str]) -> None:
        self.view_changes.append(frozenset(views))

    def says(self, server: str = "tools/github") -> Sequence[Statement[ServerReport]]:
        return self.fleet.statements(server)

    def tools(self, server: str) -> dict[str, Sequence[ExposedTool]]:
        return {one.router: one.entry.tools for one in self.says(server) if one.entry}

    @property
    def answering(self) -> dict[str, bool]:
        return {one.router: one.answers for one in self.says()}

    async def until_heard(self, number: int = 1) -> None:
        await until(lambda: sum(one.answers for one in self.says()) == number)


@asynccontextmanager
async def following(
    *routers: ReportingRouter, patience: Patience = QUICK, where: Whereabouts | None = None
) -> AsyncIterator[Followed]:
    followed = Followed(where or tuple(router.url for router in routers), patience)
    running = asyncio.create_task(followed.fleet.run())
    try:
        yield followed
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_without_routers_nothing_is_awaited_from_them() -> None:
    followed = Followed((), QUICK)
    await followed.fleet.run()

    assert followed.fleet.is_settled
    assert followed.fleet.is_fixed
    assert followed.says() == []


async def test_what_a_router_reports_is_known() -> None:
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()

        assert followed.says() == [Statement(router.name, answers=True, entry=GITHUB)]
        assert followed.says("tools/other") == [Statement(router.name, answers=True)]
        assert followed.fleet.is_settled


async def test_what_a_router_reports_of_views_is_known_and_concerns_no_server() -> None:
    view = serving_view("tools/github", "u-9", "d")
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()
        followed.changes.clear()
        await router.reports_views(view)
        await until(lambda: followed.view_changes)
        known = followed.fleet.view_statements("tools/github")
        await router.reports_views()
        await until(lambda: len(followed.view_changes) == 2)

        assert known == [Statement(router.name, answers=True, entry=view)]
        assert followed.view_changes == [{"tools/github"}, {"tools/github"}]
        assert followed.changes == []
        assert followed.says() == [Statement(router.name, answers=True, entry=GITHUB)]
        unknown: Statement[ViewReport] = Statement(router.name, answers=True)
        assert followed.fleet.view_statements("tools/github") == [unknown]


async def test_a_change_concerns_the_servers_that_changed_and_no_others() -> None:
    async with reporting("r", GITHUB, SLACK) as router, following(router) as followed:
        await followed.until_heard()
        followed.changes.clear()
        await router.also_reports(serving("tools/github", "u-1", "search", "fetch"))
        await until(lambda: followed.changes)

        assert followed.changes == [frozenset(["tools/github"])]
        assert router.polls[-1]["since"]
        entry = followed.says()[0].entry
        assert entry is not None
        assert entry.tool_count == 2


async def test_a_server_that_a_router_no_longer_knows_is_forgotten() -> None:
    async with reporting("r", GITHUB, SLACK) as router, following(router) as followed:
        await followed.until_heard()
        followed.changes.clear()
        await router.reports(SLACK)
        await until(lambda: followed.changes)

        assert followed.changes == [frozenset(["tools/github"])]
        assert followed.says()[0].entry is None


async def test_what_several_routers_say_alike_is_kept_once() -> None:
    other = serving("tools/slack", "u-2", "post", "edit")
    async with (
        reporting("a", GITHUB, SLACK) as one,
        reporting("b", GITHUB, other) as two,
        following(one, two) as followed,
    ):
        await followed.until_heard(2)
        alike, apart = followed.tools("tools/github"), followed.tools("tools/slack")
        await two.also_reports(SLACK)
        await until(lambda: followed.tools("tools/slack")[two.name] == SLACK.tools)
        later = followed.tools("tools/slack")

    assert alike[one.name] is alike[two.name]
    assert apart == {one.name: SLACK.tools, two.name: other.tools}
    assert later[one.name] is later[two.name]


async def test_why_a_router_holds_older_servers_is_known_and_concerns_them_all() -> None:
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()
        followed.changes.clear()
        await router.is_at_fault("the directory is empty")
        await until(lambda: followed.changes)

        assert followed.says()[0].fault == "the directory is empty"
        assert followed.changes == [None]


async def test_a_router_without_news_is_believed_as_long_as_it_answers() -> None:
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()
        await until(lambda: len(router.polls) >= 3)

        assert followed.says()[0].answers


async def test_a_silent_router_is_no_longer_believed_and_holds_up_no_other() -> None:
    async with reporting("a", GITHUB) as silent, reporting("b", GITHUB) as other:
        patience = replace(QUICK, fresh_s=2.5, answer_s=5.0)
        async with following(silent, other, patience=patience) as followed:
            await followed.until_heard(2)
            silent.hangs = True
            await silent.also_reports(SLACK)
            await until(lambda: len(silent.polls) >= 2)
            followed.changes.clear()
            await other.also_reports(SLACK)
            await until(lambda: frozenset(["tools/slack"]) in followed.changes, deadline_s=1.0)
            followed.changes.clear()
            await until(lambda: followed.answering == {silent.name: False, other.name: True})

            await until(lambda: None in followed.changes, deadline_s=1.0)


@pytest.mark.parametrize("status", [500, 404, 301])
async def test_a_router_that_answers_nonsense_is_asked_again(status: int) -> None:
    async with reporting("r", GITHUB) as router:
        router.status = status
        async with following(router) as followed:
            await until(lambda: len(router.polls) >= 3)

            assert not followed.says()[0].answers
            router.status = 200
            await followed.until_heard()


async def test_a_router_that_comes_back_is_heard_again() -> None:
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()
        await router.stop()
        await until(lambda: not followed.says()[0].answers)
        await router.is_replaced("r2", [SLACK])
        await router.start()
        await followed.until_heard()

        assert followed.says("tools/slack")[0] == Statement(
            router.name, answers=True, young=True, entry=SLACK
        )


async def test_a_new_instance_is_young_for_a_while() -> None:
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()
        pending = serving("tools/github", "u-1", state=State.PENDING)
        await router.is_replaced("r2", [pending])
        await until(lambda: followed.says()[0].entry == pending)
        followed.changes.clear()

        assert followed.says()[0].young
        await until(lambda: None in followed.changes)
        assert not followed.says()[0].young


async def test_a_router_that_was_there_before_us_is_not_young() -> None:
    async with reporting("r", GITHUB) as router, following(router) as followed:
        await followed.until_heard()

        assert not followed.says()[0].young


async def test_a_router_that_never_answers_is_waited_for_only_so_long() -> None:
    async with reporting("a", GITHUB) as silent, reporting("b", GITHUB) as other:
        silent.hangs = True
        async with following(silent, other) as followed:
            await followed.until_heard()

            assert not followed.fleet.is_settled
            await until(lambda: followed.fleet.is_settled)
            assert None in followed.changes


async def test_routers_are_found_by_name() -> None:
    async with reporting("r", GITHUB) as router:
        where = ByName("localhost", router.port)
        async with following(where=where) as followed:
            await followed.until_heard()

            assert followed.answering[f"{ports.LOOPBACK}:{router.port}"]


async def test_a_name_that_does_not_resolve_takes_no_router_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with reporting("r", GITHUB) as router:
        loop = asyncio.get_running_loop()
        known = [(None, None, None, "", (ports.LOOPBACK, router.port))]
        answers: list[object] = [known]

        async def getaddrinfo(*_: object, **__: object) -> object:
            if isinstance(answers[0], Exception):
                raise answers[0]
            return answers[0]

        monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)
        async with following(where=ByName("routers.example", router.port)) as followed:
            await followed.until_heard()
            answers[0] = OSError("no such name")
            polls = len(router.polls)
            await until(lambda: len(router.polls) > polls + 1)

            assert followed.says()[0].answers
            answers[0] = []
            await until(lambda: followed.says() == [])


async def test_a_report_of_any_size_is_read_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "REPORT_MAX_BYTES", 1000)
    large = [serving(f"tools/s{number}", "u", "a") for number in range(20)]
    async with reporting("r", *large) as router, following(router) as followed:
        await until(lambda: len(router.polls) >= 2)

        assert not followed.says()[0].answers
