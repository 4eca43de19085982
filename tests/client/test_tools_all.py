"""What `pointsman tools --all` shows of a real router, and of what is none."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from msgspec import structs

from bench import agents, answers, behaviours, ports, showcase, stack
from bench.adminport import listening
from bench.catalogues import Known, built, found, server
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.waiting import until
from client.command import run
from pointsman import adminport
from pointsman_contract import names, overview
from pointsman_contract.overview import Next, Overview, Server, Totals
from pointsman_contract.report import State
from pointsman_router import panorama, reporting
from pointsman_router.reporting import Self


@dataclass(frozen=True, slots=True)
class Running:
    mcp: str
    admin: str


@pytest.fixture
async def router(tmp_path: Path) -> AsyncIterator[Running]:
    """A router over servers in every state."""
    with ExitStack() as programs:
        async with showcase.standing(tmp_path):
            _, mcp, admin = await asyncio.to_thread(programs.enter_context, stack.router(tmp_path))
            await until(lambda: _said(admin, "github.search_issues"), what="github is listed")
            yield Running(mcp, admin)
            await asyncio.to_thread(programs.close)


async def asked(*arguments: str) -> Result:
    return await asyncio.to_thread(run, "tools", "--all", *arguments)


async def _said(admin: str, text: str) -> bool:
    return text in (await asked(admin)).output


async def test_everything_of_a_real_router_is_shown(router: Running) -> None:
    await agents.call(router.mcp, "github.get_issue", {"number": 1, "repository": "x"})
    shown = await asked(router.admin)

    assert shown.exit_code == 0
    for said in (
        "ops/ledger  Suspended",
        "ops/warehouse  Skipped\n  Unreachable: ",
        "dev/wiki  Skipped\n  UpstreamAuthRequired: ",
        "dev/github  Serving",
        (
            "github.get_issue  github__get_issue\n    Return one issue with its comments.\n"
            "    (repository: string, number: integer)"
        ),
        "merge  DuplicateName: ",
        "named in allowedTools or tools, but not there\n    explain_plan",
        "ops/warehouse  Unreachable while it was listed",
        (
            "dev/github  Unreachable while it was called\n"
            "    the upstream closed the connection without an answer"
        ),
    ):
        assert said in shown.output, said
    assert showcase.OVERRIDE not in shown.output


async def test_what_a_filter_leaves_is_shown_with_whole_schemas(router: Running) -> None:
    shown = await asked(router.admin, "--filter", "github get_issue", "--schema")

    assert "github.get_issue" in shown.output
    assert "search_issues" not in shown.output
    assert '"number": {' in shown.output


async def test_the_json_is_the_routers_document(
    router: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POINTSMAN_ADMIN_URL", router.admin)
    shown = json.loads((await asked("--json", "--filter", "postgres")).output)

    (server,) = shown["servers"]
    assert server["id"] == "ops/postgres"
    assert [tool["safeName"] for tool in server["tools"]] == [
        "postgres__list_tables",
        "postgres__query",
    ]


async def test_all_parts_are_shown_as_one() -> None:
    tools = [f"t{number:04}" for number in range(panorama.TOOLS_MAX + 20)]
    made = built(
        Known(server("a"), found(*tools)),
        *(Known(server(f"s{number:03}"), found("x")) for number in range(230)),
    )
    async with listening(reporting.build(made, None, myself=Self("i", "t"), now="now")) as port:
        port.catalogues.put(made)
        shown = await adminport.shown(adminport.address(port.url), "")

    assert [each.id for each in shown.servers] == ["a", *(f"s{n:03}" for n in range(230))]
    assert [tool.name for tool in shown.servers[0].tools] == tools
    assert shown.next is None


async def test_a_long_name_ends_no_reading() -> None:
    longest = "é" * (names.OWN_MAX_LENGTH - 4)
    tools = [f"{number:04}{longest}" for number in range(panorama.TOOLS_MAX * 2 + 20)]
    made = built(Known(server("a"), found(*tools)))
    async with listening(reporting.build(made, None, myself=Self("i", "t"), now="now")) as port:
        port.catalogues.put(made)
        shown = await adminport.shown(adminport.address(port.url), "")

    assert [tool.name for tool in shown.servers[0].tools] == tools


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"catalogue": "new"}, id="its catalogue"),
        pytest.param({"totals": Totals(states={State.SERVING: 1})}, id="a server's state"),
        pytest.param({"fault": "the directory is gone"}, id="whether it reads its directory"),
    ],
)
async def test_what_changes_while_it_is_read_is_read_again(change: dict[str, Any]) -> None:
    asked_for: list[str] = []
    old = Overview(totals=Totals(), catalogue="old")
    new = structs.replace(old, **change)

    async def answer(request: Received, wire: Wire) -> None:
        asked_for.append(request.target)
        has_changed = len(asked_for) > 1
        part = structs.replace(
            new if has_changed else old,
            servers=(Server("b" if "after" in request.target else "a", State.PENDING, "t"),),
            next=None if "after" in request.target else Next("a"),
        )
        await wire.send(answers.http(200, overview.dump(part)))

    async with RawUpstream(answer) as stand_in:
        shown = await adminport.shown(stand_in.url("/"), "")

    assert [each.id for each in shown.servers] == ["a", "b"]
    assert structs.replace(shown, servers=()) == new
    assert len(asked_for) == 4


async def test_what_never_stands_still_is_told() -> None:
    number = iter(range(1000))

    async def answer(request: Received, wire: Wire) -> None:
        part = Overview(totals=Totals(), catalogue=str(next(number)), next=Next("a"))
        await wire.send(answers.http(200, overview.dump(part)))

    async with RawUpstream(answer) as stand_in:
        shown = await asked(stand_in.url("/"))

    assert shown.exit_code == 1
    assert "what it shows changes faster than it can be read" in shown.stderr


def test_where_nothing_listens_it_is_said_how_to_reach_a_router() -> None:
    with ports.refusing_port() as port:
        shown = run("tools", "--all", f"http://127.0.0.1:{port}")

    assert shown.exit_code == 1
    assert f"http://127.0.0.1:{port}: nothing answers (connection refused)" in shown.stderr
    assert "kubectl -n NAMESPACE port-forward deployment/pointsman-router 9090" in shown.stderr


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        pytest.param(
            behaviours.responds(200, b"<h1>Welcome</h1>"),
            "HTTP 200, text/html, but no overview",
            id="a web page",
        ),
        pytest.param(
            behaviours.responds(404, b"404: Not Found", "text/plain"),
            "HTTP 404, 404: Not Found, but no overview",
            id="an older router",
        ),
        pytest.param(
            behaviours.responds(421, b"the admin port answers \x1b[1mhere\n", "text/plain"),
            "HTTP 421, the admin port answers ·[1mhere, but no overview",
            id="a refusal",
        ),
        pytest.param(behaviours.closes(), "no HTTP server", id="silence"),
        pytest.param(
            behaviours.responds(200, b'{"totals":{},"next":{"after":"a"}}', "application/json"),
            "an overview that does not end",
            id="no end",
        ),
    ],
)
async def test_what_is_no_admin_port_is_told_in_a_sentence(behaviour: Behaviour, said: str) -> None:
    async with RawUpstream(behaviour) as stand_in:
        shown = await asked(stand_in.url("/"))

    assert shown.exit_code == 1
    assert said in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--all", "nonsense"), "must look like"),
        (("--all", "--names", "safe"), "both forms are shown"),
        (("--filter", "x"), "need --all"),
        (("--schema",), "need --all"),
    ],
    ids=["no address", "names", "filter", "schema"],
)
def test_what_does_not_go_together_is_a_usage_error(arguments: tuple[str, ...], said: str) -> None:
    shown = run("tools", *arguments)

    assert shown.exit_code == 2
    assert said in shown.stderr
