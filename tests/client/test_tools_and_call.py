"""What `pointsman tools` and `pointsman call` show of a real router, and of what is none."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from bench import answers, behaviours, ports, stack
from bench.legacy_server import LegacyServer, tool
from bench.peers import Peer
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from bench.registered import register
from bench.waiting import until, wait_until
from client.command import run
from pointsman import agent


@pytest.fixture
def directory(tmp_path: Path, sdk_server: Peer) -> Path:
    register(tmp_path, "fixture", sdk_server.url)
    return tmp_path


@pytest.fixture
def url(directory: Path) -> Iterator[str]:
    # Pages so small that every list has several.
    with stack.router(directory, PAGE_SIZE="2") as (_, address, _):
        wait_until(lambda: "fixture.add" in run("tools", address).output)
        yield address


@pytest.fixture
def empty_directory(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def empty_url(empty_directory: Path) -> Iterator[str]:
    with stack.router(empty_directory) as (_, address, _):
        yield address


@pytest.fixture
def self_signed(tmp_path: Path) -> ssl.SSLContext:
    """What a server speaks TLS with whose certificate nobody has signed."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    subprocess.run(
        ["openssl", *made.split(), "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def asked(*arguments: str) -> Result:
    """A call of the command line beside the event loop of the test."""
    return await asyncio.to_thread(run, *arguments)


def test_every_page_of_tools_is_listed_with_its_server(url: str) -> None:
    result = run("tools", url)

    assert result.exit_code == 0
    head, *rows = result.output.splitlines()
    assert head.split() == ["TOOL", "SERVER", "DESCRIPTION"]
    assert {tuple(row.split()[:2]) for row in rows} >= {
        ("fixture.add", "fixture"),
        ("fixture.echo", "fixture"),
        ("fixture.slow", "fixture"),
    }


def test_the_other_form_of_names_is_listed_where_it_is_wanted(url: str) -> None:
    safe = run("tools", url, "--names", "safe").output
    dotted = run("tools", url, "--names", "dotted").output

    assert "fixture__add" in safe
    assert "fixture.add" in dotted


def test_a_form_of_names_is_asked_for_beside_what_the_address_asks_already(url: str) -> None:
    shown = run("tools", f"{url}?names=safe&discover=1", "--names", "dotted").output

    assert "search_tools" in shown
    assert agent.address(f"{url}?names=safe&discover=1", "dotted").endswith(
        "/mcp?discover=1&names=dotted"
    )


def test_the_list_as_json_is_what_agents_get(url: str) -> None:
    result = run("tools", "--json", url)

    listed = {item["name"]: item for item in json.loads(result.output)["tools"]}
    assert listed["fixture.add"]["inputSchema"]["properties"].keys() == {"a", "b"}
    assert listed["fixture.add"]["_meta"]["pointsman.dev/server"] == "fixture"


def test_the_address_is_taken_from_the_environment(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POINTSMAN_URL", url)

    assert "fixture.add" in run("tools").output
    assert run("call", "fixture.add", '{"a": 2, "b": 3}').output == "5\n"


def test_an_address_without_a_path_is_the_routers(url: str) -> None:
    assert "fixture.add" in run("tools", url.removesuffix("/mcp")).output


def test_a_result_is_shown_as_its_text(url: str) -> None:
    result = run("call", "fixture.add", '{"a": 2, "b": 3}', "--url", url)

    assert (result.exit_code, result.output) == (0, "5\n")


def test_what_is_no_text_is_told_in_a_line(url: str) -> None:
    result = run("call", "fixture.rich", "--url", url)

    assert result.exit_code == 0
    assert "[image, " in result.output
    assert "[resource " in result.output


@pytest.mark.parametrize("how", ["-", "@arguments.json"], ids=["standard input", "a file"])
def test_arguments_are_read_from_elsewhere(
    url: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arguments.json").write_text('{"a": 20, "b": 3}\n')

    result = run("call", "fixture.add", how, "--url", url, stdin='{"a": 20, "b": 3}\n')

    assert result.output == "23\n"


def test_a_tool_that_fails_gives_an_exit_status_of_1(url: str) -> None:
    plain = run("call", "fixture.fail", "--url", url)
    as_json = run("call", "fixture.fail", "--url", url, "--json")

    assert plain.exit_code == as_json.exit_code == 1
    assert plain.stdout == ""
    assert plain.stderr != ""
    assert json.loads(as_json.stdout)["isError"] is True


def test_a_misspelled_name_is_answered_with_those_that_are_near(url: str) -> None:
    result = run("call", "fixture.ad", "--url", url)

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: Unknown tool: fixture.ad. Did you mean fixture.add? (-32602)\n"
    )


def test_a_tool_of_any_name_can_be_called(url: str) -> None:
    result = run("call", "fixture.files/read.all v2", "--url", url)

    assert result.exit_code == 0


async def test_arguments_and_results_keep_their_spelling(
    empty_directory: Path, empty_url: str
) -> None:
    arguments = '{"n":1.0e5, "m":12345678901234567890, "s":"\\u00e9é\\ud83d"}'
    structured = '{"n": 1.0e5, "m": [12345678901234567890, "\\u00e9"]}'

    async def answer(request: Received, wire: Wire) -> None:
        result = f'{{"content":[],"structuredContent":{structured}}}'
        body = f'{{"jsonrpc":"2.0","id":{json.dumps(request.rpc_id)},"result":{result}}}'
        await wire.send(answers.http(200, body.encode(), "application/json"))

    upstream = LegacyServer([tool("a")], on={"tools/call": answer})
    async with RawUpstream(upstream) as server:
        register(empty_directory, "raw", server.url())
        await until(lambda: _lists(empty_url, "raw.a"), what="the tool is listed")
        result = await asked("call", "raw.a", arguments, "--url", empty_url, "--json")
        received = server.requests("tools/call")[0].body

    assert f'"arguments":{arguments}'.encode() in received
    assert f'"structuredContent":{structured}' in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param('{"a": ', "the arguments are no JSON: Expecting value", id="cut off"),
        pytest.param('{"a": NaN}', "the arguments are no JSON", id="not a number"),
        pytest.param("[1]", "the arguments must be a JSON object", id="a list"),
        pytest.param("@nowhere.json", "@nowhere.json: cannot be read", id="no such file"),
        pytest.param('{"a": "' + "\udcff" + '"}', "the arguments are no JSON", id="half a pair"),
        pytest.param("\udcff", "the arguments are no JSON", id="bytes that are not UTF-8"),
    ],
)
def test_what_are_no_arguments_is_a_usage_error(arguments: str, said: str) -> None:
    result = run("call", "a.b", arguments)

    assert result.exit_code == 2
    assert said in result.stderr


def test_a_name_that_cannot_be_sent_is_a_usage_error() -> None:
    result = run("call", "a.\udcff")

    assert result.exit_code == 2
    assert "the name is not UTF-8" in result.stderr


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://127.0.0.1/mcp", "http://", "http://127.0.0.1:99999/mcp"]
)
def test_what_is_no_address_is_a_usage_error(url: str) -> None:
    result = run("tools", url)

    assert result.exit_code == 2
    assert "http" in result.stderr


def test_where_nothing_listens_the_address_and_a_way_out_are_named() -> None:
    with ports.refusing_port() as port:
        result = run("tools", f"http://127.0.0.1:{port}/mcp")

    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: http://127.0.0.1:{port}/mcp: nothing answers (connection refused); is a router"
        " running? `pointsman local DIRECTORY` starts one\n"
    )


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        pytest.param(
            behaviours.responds(200, b"<h1>Welcome</h1>"),
            "HTTP 200, text/html, but no MCP answer",
            id="a web page",
        ),
        pytest.param(
            behaviours.responds(404, b"gone", "text/plain"),
            "HTTP 404, text/plain, but no MCP answer",
            id="another server",
        ),
        pytest.param(
            behaviours.responds(307, headers={"Location": "http://127.0.0.1:1/"}),
            "HTTP 307, text/html, but no MCP answer",
            id="a redirect",
        ),
        pytest.param(behaviours.closes(), "no HTTP server", id="silence"),
        pytest.param(behaviours.sends_and_closes(b"hello\r\n"), "no HTTP server", id="a greeting"),
        pytest.param(
            behaviours.errs(-32022, "This protocol version is not served.", status=400),
            "This protocol version is not served. (-32022)",
            id="an older server",
        ),
        pytest.param(
            behaviours.results_in({"tools": [], "nextCursor": "again"}),
            "a list that does not end",
            id="a cursor without end",
        ),
        pytest.param(behaviours.results_in({}), "a list without tools", id="no tools"),
        pytest.param(
            behaviours.results_in({"tools": [{"title": "x"}]}),
            "a list without tools",
            id="a tool without a name",
        ),
        pytest.param(
            behaviours.errs(-32601, "\x1b[31mno\x07"), "·[31mno· (-32601)", id="a foreign text"
        ),
    ],
)
async def test_what_is_no_router_is_told_in_a_sentence(behaviour: Behaviour, said: str) -> None:
    async with RawUpstream(behaviour) as server:
        result = await asked("tools", server.url())

    assert result.exit_code == 1
    assert said in result.stderr


async def test_https_toward_what_speaks_no_tls_is_told() -> None:
    def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, ports.LOOPBACK, 0) as server:
        result = await asked("tools", _https(server))

    assert result.exit_code == 1
    assert "it does not speak TLS: is it http:// instead?" in result.stderr


async def test_a_certificate_that_is_not_trusted_is_told(
    self_signed: ssl.SSLContext,
) -> None:
    def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, ports.LOOPBACK, 0, ssl=self_signed) as server:
        result = await asked("tools", _https(server))

    assert result.exit_code == 1
    assert "its certificate is not trusted here" in result.stderr


async def test_a_result_that_is_none_is_told_in_a_sentence() -> None:
    async with RawUpstream(behaviours.responds(200, b'{"result":5}', "application/json")) as server:
        result = await asked("call", "a.b", "--url", server.url())

    assert result.exit_code == 1
    assert "HTTP 200, application/json, but no MCP answer" in result.stderr


async def test_an_answer_in_a_stream_is_read_like_any_other() -> None:
    notification = b'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\r\n\r\n'
    result_in_stream = behaviours.streams(
        {"content": [{"type": "text", "text": "one\u2028two"}]},
        newline="\r\n",
        before=b": hello\r\n\r\n" + notification,
        data_lines=2,
        piece=7,
    )
    async with RawUpstream(result_in_stream) as server:
        result = await asked("call", "a.b", "--url", server.url())

    assert (result.exit_code, result.output) == (0, "one\u2028two\n")


async def test_a_tool_that_asks_back_is_told_so() -> None:
    async with RawUpstream(
        behaviours.results_in({"resultType": "input_required", "inputRequests": {}})
    ) as server:
        result = await asked("call", "a.b", "--url", server.url())

    assert result.exit_code == 1
    assert "asks for input" in result.stderr


async def test_a_suspended_server_names_its_tools_no_more(directory: Path, url: str) -> None:
    register(directory, "fixture", "http://127.0.0.1:1/mcp", suspend=True)
    await until(lambda: _lists(url, "fixture.add", present=False), what="the tool is gone")

    result = await asked("call", "fixture.add", "--url", url)

    assert result.exit_code == 1
    assert result.stderr == "Error: Unknown tool: fixture.add: suspended (-32602)\n"


async def _lists(url: str, name: str, *, present: bool = True) -> bool:
    return (name in (await asked("tools", url)).output) is present


def _https(server: asyncio.Server) -> str:
    return f"https://{ports.LOOPBACK}:{server.sockets[0].getsockname()[1]}/mcp"
