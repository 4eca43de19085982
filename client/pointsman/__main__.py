"""The command `pointsman`, put together."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import click

from pointsman import (
    adminport,
    agent,
    approvable,
    approval,
    approving,
    calling,
    envelope,
    folder,
    listing,
    local,
    notices,
    shell,
    survey,
)
from pointsman.agent import Agent
from pointsman.child import NotStarted
from pointsman.judgement import File, judge
from pointsman.ports import NoFreePort
from pointsman.screen import Screen, printable
from pointsman_contract.meta import Policy

T = TypeVar("T")

DEFAULT_URL = f"http://127.0.0.1:8080{agent.MCP_PATH}"
URL_VARIABLE = "POINTSMAN_URL"
DEFAULT_ADMIN_URL = "http://127.0.0.1:9090"
ADMIN_URL_VARIABLE = "POINTSMAN_ADMIN_URL"

_ADMIN_HINT = (
    "name a router's admin port, which `pointsman local` prints, or bring a pod's here with"
    " `kubectl -n NAMESPACE port-forward deployment/pointsman-router 9090`"
)

_NAMES = click.option(
    "--names",
    type=click.Choice(["dotted", "safe"]),
    help="Which form of the tools' names is listed.  [default: the router's own]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("pointsman"))
def main() -> None:
    """One address for the allowed tools of every MCP server."""


@main.command("local", short_help="Serve the McpServer and McpView files of a folder.")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where agents are served; POINTSMAN_ROUTER_ALLOWED_HOSTS says by which names.",
)
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="Where agents are served; for a port that is taken, the next free one.",
)
@_NAMES
@click.option("--log", is_flag=True, help="Show the router's log too.")
def serve(directory: Path, host: str, port: int, names: str | None, log: bool) -> None:
    """Serve the McpServer and McpView files of DIRECTORY, and follow them as they change.

    Files are read as `kubectl apply -f DIRECTORY` reads them: .yaml, .yml and .json, not those in
    folders below. Every variable POINTSMAN_ROUTER_… that no option stands for reaches the router.
    """
    options = local.Options(
        folder=directory,
        host=host,
        port=port,
        names=names,
        default_url=os.environ.get(URL_VARIABLE, DEFAULT_URL),
        command=shell.command(),
        version=version("pointsman"),
        shows_log=log,
    )
    try:
        asyncio.run(local.run(options, os.environ, Screen(sys.stdout)))
    except (NotStarted, NoFreePort) as exc:
        raise _failed(str(exc)) from None


@main.command("tools", short_help="List the tools that agents see.")
@click.argument("url", required=False)
@_NAMES
@click.option(
    "--all",
    "shows_all",
    is_flag=True,
    help="Show what the router's own page shows: URL is that of its admin port.",
)
@click.option("--filter", "filter_", metavar="TEXT", help="With --all: only what matches this.")
@click.option("--schema", is_flag=True, help="With --all: each tool's whole input schema.")
@_JSON
def list_tools(
    url: str | None,
    names: str | None,
    shows_all: bool,
    filter_: str | None,
    schema: bool,
    as_json: bool,
) -> None:
    """List the tools that agents see at URL.

    URL is taken from POINTSMAN_URL where it is not given, else http://127.0.0.1:8080/mcp.

    With --all: every server, its state and why, its tools by both names, what is left out and why,
    views, and the last errors. URL is then that of the admin port, taken from POINTSMAN_ADMIN_URL
    where it is not given, else http://127.0.0.1:9090.
    """
    if shows_all:
        if names:
            raise click.UsageError("--names: with --all both forms are shown")
        _show_all(url, filter_ or "", schema, as_json)
        return
    if filter_ is not None or schema:
        raise click.UsageError("--filter and --schema need --all")
    address = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    tools = _ask(address, names, lambda asking: asking.tools())
    screen = Screen(sys.stdout)
    if as_json:
        screen.verbatim(listing.as_json(tools))
    else:
        screen.table(listing.COLUMNS, listing.rows(tools))


@main.command("call", short_help="Call a tool.")
@click.argument("name")
@click.argument("arguments", default="{}")
@click.option(
    "--url",
    envvar=URL_VARIABLE,
    default=DEFAULT_URL,
    show_default=True,
    show_envvar=True,
    help="Where the router is.",
)
@_JSON
def call_tool(name: str, arguments: str, url: str, as_json: bool) -> None:
    """Call the tool NAME with ARGUMENTS, a JSON object.

    ARGUMENTS may also be @FILE, or - for what is piped in. The exit status is 1 where the tool
    reports an error.
    """
    try:
        called, sent = calling.name(name), calling.arguments(shell.text(arguments))
    except (calling.Unsendable, shell.Unreadable) as exc:
        raise click.UsageError(str(exc)) from None
    result = _ask(url, None, lambda asking: calling.call(asking, called, sent))
    outcome = calling.outcome(result)
    if as_json:
        Screen(sys.stdout).verbatim(f"{result.decode()}\n")
    else:
        Screen(sys.stderr if outcome.has_failed else sys.stdout).text(outcome.text)
    if outcome.has_failed:
        sys.exit(1)


@main.command("check", short_help="Say what the operator would say of some files.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FILE…"
)
@_JSON
def check(files: tuple[Path, ...], as_json: bool) -> None:
    """Say of each McpServer and McpView in FILE… what the operator would say.

    A folder stands for its files.

    The exit status is 1 where anything has to be changed, or nothing was found to be judged.
    """
    judgement = judge(file for path in files for file in _files(path))
    screen = Screen(sys.stdout)
    if as_json:
        records = [notices.record(verdict) for verdict in judgement.verdicts]
        screen.verbatim(json.dumps(records, indent=2, ensure_ascii=False) + "\n")
    else:
        for verdict in judgement.verdicts:
            for notice in notices.verdict(verdict):
                screen.line(notice.text, "" if notice.is_good else "red")
    if not judgement.verdicts:
        raise _failed(f"no resource is in {', '.join(str(path) for path in files)}")
    if any(verdict.is_wrong for verdict in judgement.verdicts):
        sys.exit(1)


@main.command("approve", short_help="Approve the definitions of a server's tools.")
@click.argument("server")
@click.argument("tools", nargs=-1, metavar="[TOOL…]")
@click.option("--status", "url", metavar="URL", help="Where a router's admin port is.")
@click.option(
    "--policy", type=click.Choice(["Enforce", "Warn"]), help="Change the policy of the server too."
)
@click.option("--prune", is_flag=True, help="With -: take out what is not offered.")
def approve(
    server: str, tools: tuple[str, ...], url: str | None, policy: str | None, prune: bool
) -> None:
    """Print the patch that approves the definitions of the tools of SERVER as they are now.

    SERVER is NAMESPACE/NAME, as a router's report knows it, or - for a resource that is piped in:
    `kubectl get mcpserver NAME --namespace NAMESPACE --output json`. Without a TOOL, which goes by
    the upstream's own name, it is every one that is served or waits for approval.

    URL is taken from POINTSMAN_ADMIN_URL where it is not given, else http://127.0.0.1:9090; for -
    the resource's status tells what is there, unless URL is given.

    \b
    pointsman approve tools/github |
      kubectl patch mcpserver github --namespace tools --type merge --patch-file /dev/stdin
    """
    asked = url or os.environ.get(ADMIN_URL_VARIABLE) or DEFAULT_ADMIN_URL
    found_by = approving.of_resource(url) if server == "-" else approving.of_router(server, asked)
    try:
        found = asyncio.run(found_by)
        wished = Policy(policy) if policy else None
        decided = approval.decide(found, tools, policy=wished, prunes=prune)
    except agent.InvalidAddress as exc:
        raise click.UsageError(str(exc)) from None
    except agent.NotReached as exc:
        raise _failed(f"{asked}: {exc}; {_ADMIN_HINT}") from None
    except envelope.NoAnswer as exc:
        raise _failed(f"{asked}: {exc}") from None
    except (approvable.NothingTold, approval.NotApproved) as exc:
        raise _failed(str(exc)) from None
    for line in approval.told(decided):
        Screen(sys.stderr).line(line)
    click.echo(decided.patch, nl=False)


def _show_all(url: str | None, filter_: str, schema: bool, as_json: bool) -> None:
    named = url or os.environ.get(ADMIN_URL_VARIABLE) or DEFAULT_ADMIN_URL
    try:
        seen = asyncio.run(adminport.shown(adminport.address(named), filter_))
    except agent.InvalidAddress as exc:
        raise click.UsageError(str(exc)) from None
    except agent.NotReached as exc:
        raise _failed(f"{named}: {exc}; {_ADMIN_HINT}") from None
    except envelope.NoAnswer as exc:
        raise _failed(f"{named}: {exc}") from None
    except adminport.Moving:
        raise _failed(f"{named}: what it shows changes faster than it can be read") from None
    screen = Screen(sys.stdout)
    if as_json:
        screen.verbatim(survey.as_json(seen))
        return
    for line in survey.lines(seen, schemas=schema):
        screen.line(line.text, line.style)


def _files(path: Path) -> Iterable[File]:
    if not path.is_dir():
        return [folder.read(path)]
    look = folder.Folder(path).look()
    if look.fault:
        raise _failed(look.fault)
    return look.files


def _ask(url: str, names: str | None, ask: Callable[[Agent], Coroutine[object, object, T]]) -> T:
    async def asking(address: str) -> T:
        async with Agent(address, version("pointsman")) as one:
            return await ask(one)

    try:
        return asyncio.run(asking(agent.address(url, names)))
    except agent.InvalidAddress as exc:
        raise click.UsageError(str(exc)) from None
    except agent.NotReached as exc:
        hint = "is a router running? `pointsman local DIRECTORY` starts one"
        raise _failed(f"{url}: {exc}; {hint}") from None
    except envelope.NoAnswer as exc:
        raise _failed(f"{url}: {exc}") from None
    except envelope.Refused as exc:
        raise _failed(f"{exc.message} ({exc.code})") from None


def _failed(message: str) -> click.ClickException:
    return click.ClickException(printable(message))


if __name__ == "__main__":
    main()
