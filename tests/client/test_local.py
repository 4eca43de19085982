"""What `pointsman local` serves, tells and leaves behind."""

import asyncio
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from bench import agents, ports, processes
from bench.peers import Peer
from bench.processes import Program
from bench.registered import write
from bench.waiting import until, wait_until
from client.command import good, run, view
from client.descendants import descendants, running

# What a person sees of an edit: it has to be callable, or gone, by then.
LIVE_S = 1.0
SOON_S = 10.0


class Local:
    """One run over a folder."""

    def __init__(self, program: Program, folder: Path, port: int) -> None:
        self.program = program
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.last_output: str | None = None

    @property
    def output(self) -> str:
        """What it has printed, also when it has ended."""
        return self.program.output if self.last_output is None else self.last_output

    def put(self, name: str, text: str) -> None:
        write(self.folder / name, text)

    async def lists(self, *names: str, within_s: float = LIVE_S) -> None:
        """Return once exactly these tools are listed."""

        async def listed() -> bool:
            return set(await agents.tools(self.url)) == set(names)

        await until(listed, within_s, f"{names} are listed")

    async def says(self, text: str) -> None:
        await until(lambda: text in self.output, SOON_S, f"it says {text!r}")


@contextmanager
def local(folder: Path, port: int | None = None, *options: str, **settings: str) -> Iterator[Local]:
    port = port or ports.free_port()
    program = Program(
        "pointsman local",
        processes.python("pointsman", "local", str(folder), "--port", str(port), *options),
        environment={"TMPDIR": str(folder.parent), **settings},
    )
    with program:
        wait_until(lambda: "\ntry\n" in program.output or not program.is_running, 20.0)
        started = Local(program, folder, port)
        yield started
        program.stop()
        started.last_output = program.output


@pytest.fixture
def folder(tmp_path: Path, sdk1_server: Peer) -> Path:
    """A folder with one server, beside which temporary files lie."""
    place = tmp_path / "servers"
    place.mkdir()
    (place / "one.yaml").write_text(good("one", sdk1_server.url))
    return place


TOOLS = ("add", "echo", "fail", "slow")


def of(*servers: str) -> tuple[str, ...]:
    return tuple(f"{server}.{name}" for server in servers for name in TOOLS)


async def test_the_files_of_a_folder_are_served(folder: Path) -> None:
    with local(folder) as started:
        result = await agents.call(started.url, "one.add", {"a": 2, "b": 3})

    assert result.content[0].text == "5"


async def test_a_view_of_the_folder_is_served_and_follows_labels(
    folder: Path, sdk1_server: Peer
) -> None:
    (folder / "view.yaml").write_text(view("desk", "{selector: {matchLabels: {team: a}}}"))
    with local(folder) as started:
        desk = f"{started.url}/views/desk"
        await started.says("view desk: 0 tools")
        labelled = good("one", sdk1_server.url).replace("spec:\n", "  labels: {team: a}\nspec:\n")
        started.put("one.yaml", labelled)
        await started.says(f"view desk: 4 tools at {desk}")
        listed = set(await agents.tools(desk))
        (folder / "view.yaml").unlink()
        await started.says("view desk: gone")

    assert listed == set(of("one"))


async def test_where_people_see_all_of_it_is_told(folder: Path) -> None:
    with local(folder) as started:
        told = re.search(r"^people see all of it at (\S+)$", started.output, re.MULTILINE)
        assert told is not None
        shown = await asyncio.to_thread(run, "tools", "--all", told[1])

    assert "one  Serving" in shown.output
    assert "one.add  one__add" in shown.output


async def test_an_edit_an_addition_and_a_removal_are_live_within_a_second(
    folder: Path, sdk1_server: Peer
) -> None:
    url = sdk1_server.url
    with local(folder) as started:
        await started.lists(*of("one"))

        started.put("two.yaml", good("two", url))
        await started.lists(*of("one", "two"))

        started.put("one.yaml", good("one", url).replace('"*"', "add"))
        await started.lists("one.add", *of("two"))

        (folder / "two.yaml").unlink()
        await started.lists("one.add")


async def test_a_file_that_breaks_keeps_its_servers_and_is_named_with_its_line(
    folder: Path, sdk1_server: Peer
) -> None:
    file = folder / "one.yaml"
    with local(folder) as started:
        started.put("one.yaml", file.read_text() + "  url: x\n")
        await started.says(f"{file}:8: Unreadable: the key url is there twice")
        started.put("two.yaml", good("two", sdk1_server.url))
        await started.lists(*of("one", "two"))

        started.put("one.yaml", good("one", sdk1_server.url))
        await started.says(f"{file}: in order again")

    assert f"{file}: unreadable, so what it said before stays in force" in started.output


async def test_a_mistake_costs_its_own_server_alone(folder: Path, sdk1_server: Peer) -> None:
    typo = good("two", sdk1_server.url).replace("allowedTools", "allowedTool")
    (folder / "two.yaml").write_text(typo)
    with local(folder) as started:
        await started.lists(*of("one"))
        said = started.output

        started.put("two.yaml", good("two", sdk1_server.url))
        await started.lists(*of("one", "two"))
        await started.says(f"{folder}/two.yaml: in order again")

    assert f"{folder}/two.yaml:7: two: InvalidSpec: spec.allowedTool is no field" in said


async def test_an_upstream_that_is_not_there_is_told_with_its_reason(folder: Path) -> None:
    with ports.refusing_port() as port:
        (folder / "two.yaml").write_text(good("two", f"http://127.0.0.1:{port}/mcp"))
        with local(folder) as started:
            await started.lists(*of("one"))
            said = started.output

    (row,) = [line for line in said.splitlines() if line.startswith("two ")]
    assert row.split()[1] == "Skipped"
    assert "Unreachable: " in row


async def test_what_changes_is_told_as_it_happens(folder: Path, sdk1_server: Peer) -> None:
    with local(folder) as started:
        started.put("two.yaml", good("two", sdk1_server.url))
        await started.says("two: 4 tools (new: two.add, two.echo, two.fail, two.slow)")
        (folder / "two.yaml").unlink()
        await started.says("two: gone")

    assert f"{folder}/two.yaml: added" in started.output
    assert f"{folder}/two.yaml: removed" in started.output


async def test_the_command_to_try_works_as_it_is_printed(folder: Path, sdk1_server: Peer) -> None:
    (folder / "one.yaml").write_text(good("one", sdk1_server.url).replace('"*"', "add"))
    with local(folder) as started:
        command = started.output.partition("\ntry\n")[2].splitlines()[0]
        shell = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
        printed, _ = await shell.communicate()

    assert shell.returncode == 0
    assert printed != b""


async def test_a_folder_without_servers_echoes(tmp_path: Path) -> None:
    place = tmp_path / "servers"
    place.mkdir()
    with local(place) as started:
        result = await agents.call(started.url, "echo", {"text": "hello"})

    assert result.content[0].text == "hello"
    assert f"no servers yet: {place} holds no McpServer that is accepted" in started.output


async def test_the_other_form_of_names_is_listed_where_it_is_wanted(folder: Path) -> None:
    with local(folder, None, "--names", "safe") as started:
        await started.lists(*(name.replace(".", "__") for name in of("one")))

    assert "one__add" in started.output


async def test_other_settings_of_the_router_reach_it(folder: Path) -> None:
    with local(folder, POINTSMAN_ROUTER_PAGE_SIZE="1") as started:
        async with aiohttp.ClientSession() as session:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            accept = {"Accept": "application/json, text/event-stream"}
            async with session.post(started.url, json=body, headers=accept) as response:
                page = await response.json()

    assert len(page["result"]["tools"]) == 1


def test_a_setting_that_is_wrong_is_told_by_the_router_itself(folder: Path) -> None:
    with local(folder, POINTSMAN_ROUTER_PAGE_SIZE="many") as started:
        status = started.program.wait()

    assert status == 1
    assert "the router did not start" in started.output
    assert "POINTSMAN_ROUTER_PAGE_SIZE" in started.output


def test_a_taken_port_is_told_and_the_next_free_one_taken(folder: Path) -> None:
    port = _port_before_a_free_one()
    with socket.create_server(("127.0.0.1", port)), local(folder, port) as started:
        said = started.output

    assert f"port {port} is taken: using {port + 1}" in said
    assert f"agents find every tool at http://127.0.0.1:{port + 1}/mcp" in said


def test_a_host_that_is_not_here_is_told(folder: Path) -> None:
    with local(folder, None, "--host", "192.0.2.1") as started:
        status = started.program.wait()

    assert status == 1
    assert "192.0.2.1 is no address of this machine" in started.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_and_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    with local(folder) as started:
        children = descendants(started.program.pid)
        started.program.send(number)
        status = started.program.wait()

        assert status == 0
        assert children != []
        assert [pid for pid in children if running(pid)] == []
        assert [path.name for path in folder.parent.iterdir()] == ["servers"]
        assert started.output.endswith("stopped\n")


async def test_even_a_killed_command_leaves_no_router(folder: Path) -> None:
    with local(folder) as started:
        children = descendants(started.program.pid)
        os.kill(started.program.pid, signal.SIGKILL)

        await until(lambda: not any(running(pid) for pid in children), SOON_S)

    assert children != []


async def test_a_router_that_dies_ends_the_command_with_its_last_words(folder: Path) -> None:
    with local(folder) as started:
        (router,) = descendants(started.program.pid)
        os.kill(router, signal.SIGKILL)
        status = await started.program.ends()

    assert status == 1
    assert "the router ended with status -9" in started.output


def test_output_that_no_terminal_shows_is_plain(folder: Path) -> None:
    with local(folder) as started:
        said = started.output

    assert "\x1b" not in said


def _port_before_a_free_one() -> int:
    while True:
        port = ports.free_port()
        if not ports.listens(port + 1):
            return port
