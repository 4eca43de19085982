"""What `pointsman approve` prints, of a real router and of a resource that is piped in."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from bench import behaviours, ports, stack
from bench.peers import Peer
from bench.raw_upstream import RawUpstream
from bench.registered import register
from bench.waiting import wait_until
from client.command import good, run
from pointsman import folder, publication
from pointsman.judgement import judge
from pointsman_contract import digest

FIXTURE = "tools/fixture"


@pytest.fixture(scope="module")
def router(
    tmp_path_factory: pytest.TempPathFactory, sdk1_server: Peer
) -> Iterator[tuple[str, str]]:
    """A router that serves one server: the addresses of its agents and of its admin port."""
    directory = tmp_path_factory.mktemp("servers")
    register(directory, "fixture", sdk1_server.url, namespace="tools", name="fixture")
    with stack.router(directory) as (_, url, admin):
        wait_until(lambda: "fixture.add" in run("tools", url).output)
        yield url, admin


@pytest.fixture
def admin(router: tuple[str, str]) -> str:
    return router[1]


@pytest.fixture
def digests(router: tuple[str, str]) -> dict[str, str]:
    """Of every tool, by its own name, made from the definitions that agents read."""
    listed = json.loads(run("tools", "--json", f"{router[0]}/servers/{FIXTURE}").output)["tools"]
    return {tool["name"]: digest.definition(json.dumps(tool).encode()) for tool in listed}


def approved(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    printed: dict[str, Any] = json.loads(result.stdout)["spec"]["definitions"]
    return printed


def resource(**members: Any) -> str:
    return json.dumps(
        {
            "apiVersion": "pointsman.dev/v1alpha1",
            "kind": "McpServer",
            "metadata": {"name": "fixture", "namespace": "tools"},
            "spec": {"url": "http://h/"},
            **members,
        }
    )


def test_what_a_router_serves_is_approved_as_agents_read_it(
    admin: str, digests: dict[str, str]
) -> None:
    result = run("approve", FIXTURE, "--status", admin)

    assert approved(result) == {"approved": digests}
    assert f"{FIXTURE}: {len(digests)} definitions to approve" in result.stderr
    assert "kubectl patch mcpserver fixture --namespace tools --type merge" in result.stderr


def test_the_address_of_the_router_is_taken_from_the_environment(
    admin: str, digests: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POINTSMAN_ADMIN_URL", admin)

    assert approved(run("approve", FIXTURE, "add")) == {"approved": {"add": digests["add"]}}


def test_named_tools_and_a_policy_are_all_that_a_patch_holds(
    admin: str, digests: dict[str, str]
) -> None:
    result = run("approve", FIXTURE, "add", "--policy", "Enforce", "--status", f"{admin}/status")

    assert approved(result) == {"approved": {"add": digests["add"]}, "policy": "Enforce"}


def test_the_resource_says_what_was_approved_and_the_router_what_is_there(
    admin: str, digests: dict[str, str]
) -> None:
    old = f"sha256:{'0' * 64}"
    piped = resource(
        spec={
            "url": "http://h/",
            "definitions": {"policy": "Warn", "approved": {"add": old, "gone": old}},
        },
        status={"toolsTruncated": True},
    )

    result = run("approve", "-", "add", "--prune", "--status", f"{admin}/", stdin=piped)

    assert approved(result) == {"approved": {"add": digests["add"], "gone": None}}
    new = digests["add"].removeprefix("sha256:")[:12]
    assert result.stderr.splitlines()[:3] == [
        f"{FIXTURE}: 1 definition to approve",
        f"  add: 000000000000 -> {new}",
        "  gone: not offered (not allowed, or gone), taken out",
    ]


def test_a_resource_with_its_status_is_enough(digests: dict[str, str]) -> None:
    piped = resource(status={"tools": [{"name": "add", "digest": digests["add"]}]})

    result = run("approve", "-", stdin=piped)

    assert approved(result) == {"approved": {"add": digests["add"]}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([FIXTURE, "ad"], "did you mean add?", id="a tool misspelled"),
        pytest.param(["tools/fixtur"], "did you mean tools/fixture?", id="a server misspelled"),
        pytest.param([FIXTURE, "--prune"], "pipe in the resource", id="pruned without knowing"),
    ],
)
def test_what_cannot_be_approved_prints_no_patch(
    admin: str, arguments: list[str], said: str
) -> None:
    result = run("approve", *arguments, "--status", admin)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert said in result.stderr


def test_a_status_that_was_cut_short_leads_to_a_routers_report() -> None:
    piped = resource(status={"tools": [], "toolsTruncated": True})

    result = run("approve", "-", stdin=piped)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "ask a router, with --status URL of its admin port" in result.stderr


def test_where_no_router_listens_the_address_and_a_way_out_are_named() -> None:
    with ports.refusing_port() as port:
        result = run("approve", FIXTURE, "--status", f"http://127.0.0.1:{port}")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        f"Error: http://127.0.0.1:{port}: nothing answers (connection refused); name a router's"
        " admin port, which `pointsman local` prints, or bring a pod's here with `kubectl -n"
        " NAMESPACE port-forward deployment/pointsman-router 9090`\n"
    )


def test_the_port_of_the_agents_is_told_from_that_of_the_report(router: tuple[str, str]) -> None:
    result = run("approve", FIXTURE, "--status", router[0].removesuffix("/mcp"))

    assert result.exit_code == 1
    assert (
        "HTTP 404, application/json, but no report: is this a router's admin port?" in result.stderr
    )


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"<h1>Welcome</h1>", id="a web page"),
        pytest.param(b"{}", id="another document"),
        pytest.param(b'{"servers": 5}', id="servers that are none"),
        pytest.param(b'{"changed": []}', id="a change of a report"),
    ],
)
async def test_what_is_no_report_is_told_in_a_sentence(answer: bytes) -> None:
    async with RawUpstream(behaviours.responds(200, answer)) as server:
        url = server.url().removesuffix("/mcp")
        result = await asyncio.to_thread(run, "approve", FIXTURE, "--status", url)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "but no report: is this a router's admin port?" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="no server"),
        pytest.param([FIXTURE, "--policy", "Off"], id="a policy that approves nothing"),
        pytest.param([FIXTURE, "--status", "nonsense"], id="no address"),
        pytest.param([FIXTURE, "--status", "http://127.0.0.1:99999"], id="no port"),
    ],
)
def test_a_call_that_makes_no_sense_is_a_usage_error(arguments: list[str]) -> None:
    result = run("approve", *arguments)

    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_patch_written_into_a_file_is_published(
    admin: str, digests: dict[str, str], tmp_path: Path
) -> None:
    patch = json.loads(run("approve", FIXTURE, "--policy", "Enforce", "--status", admin).stdout)
    body = yaml.safe_load(good("fixture"))
    body["spec"] |= patch["spec"]
    file = tmp_path / "server.yaml"
    file.write_text(yaml.safe_dump(body))

    (server,) = judge([folder.read(file)]).accepted
    published, _ = publication.generation([server]).files

    assert json.loads(published.content)["definitions"] == {
        "policy": "Enforce",
        "approved": digests,
    }
