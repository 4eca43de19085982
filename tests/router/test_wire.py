"""Which rooms of the router can reach the network at all."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pointsman_router

ROOMS = Path(pointsman_router.__file__).parent
WIRES = {"aiohttp", "ftplib", "http", "httptools", "httpx", "requests", "socket", "ssl", "urllib"}
# They listen; `http` has words for statuses, and `urllib.parse` takes addresses apart.
LISTENS = {"aiohttp.abc", "aiohttp.http_parser", "aiohttp.streams", "aiohttp.web"}
HARMLESS = {"http.HTTPStatus", "urllib.parse"}
DIALS = {
    *("ClientSession", "TCPConnector", "create_connection", "create_datagram_endpoint"),
    *("create_unix_connection", "open_connection", "open_unix_connection", "sock_connect"),
    *("start_tls", "urlopen"),
}


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(tree: ast.Module) -> set[str]:
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def wires(tree: ast.Module) -> set[str]:
    return {
        name
        for name in imported(tree)
        if name.partition(".")[0] in WIRES and not name.startswith(tuple(LISTENS | HARMLESS))
    }


def test_only_the_rooms_of_the_upstream_can_reach_one() -> None:
    trees = {path.relative_to(ROOMS): ast.parse(path.read_text()) for path in ROOMS.rglob("*.py")}
    reaching = {path.parts[0] for path, tree in trees.items() if wires(tree) or named(tree) & DIALS}

    assert reaching == {"upstream"}
