"""Upstreams with every defect that the field reports know, many of each, in one process.

python doubles.py NUMBER prints as one JSON object the address of each and the port, and serves on.
Each says which tools it offers and which of these are sound: what else a router must leave out, or
may. GET /tokens answers which call, by the token in its arguments, reached which server and tool.
"""

import asyncio
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from upstreams import deaf_port

from bench import answers, behaviours, ports
from bench.behaviours import errs, in_turn, responds, results_in, sends, streams
from bench.legacy_server import LegacyServer, tool
from bench.modern_server import ModernServer
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire

Json = dict[str, Any]
_MIB = 1024 * 1024
_STORM_EVERY_S = 0.01
_LATE_S = 5.0
_CHANGED = answers.event(answers.notification("notifications/tools/list_changed"))


@dataclass(frozen=True, slots=True)
class Double:
    """One kind of upstream, and what a router over it has to come to."""

    name: str
    offered: tuple[str, ...] = ()
    """Every name that it lists in the end."""
    unsound: frozenset[str] = frozenset()
    """What of it must not be shown, or cannot be told apart; all else is sound."""
    serves: bool = True
    """Whether its sound tools have to be shown."""
    meta: Json = field(default_factory=dict)
    """What its meta.json says beside the address."""
    raw_meta: str = ""
    """The whole file, where that is none."""
    behave: Callable[[], Behaviour] | None = None
    """How it behaves; None: it does not listen, or not at all."""
    is_deaf: bool = False

    @property
    def allowed(self) -> tuple[str, ...]:
        """The offered tools that its owner allows."""
        allowed = self.meta.get("allowedTools", ["*"])
        if self.meta.get("suspend"):
            return ()
        return tuple(name for name in self.offered if allowed == ["*"] or name in allowed)


def double_of(number: int) -> Double:
    """The kind of the server of that number."""
    return DOUBLES[number % len(DOUBLES)]


def name_of(number: int) -> str:
    """What the server of that number is called."""
    return f"{double_of(number).name}-{number // len(DOUBLES)}"


def _of(
    name: str,
    *tools: Json | str,
    unsound: Sequence[str] = (),
    meta: Json | None = None,
    **more: Any,
) -> Double:
    """An upstream of the legacy era with these tools; `more` are the server's own."""
    listed = [tool(each) if isinstance(each, str) else each for each in tools]
    return Double(
        name,
        tuple(dict.fromkeys(str(each["name"]) for each in listed)),
        frozenset(unsound),
        meta=meta or {},
        behave=lambda: LegacyServer(listed, **more),
    )


def _broken(name: str, behave: Callable[[], Behaviour] | None, **more: Any) -> Double:
    """An upstream of which nothing can be shown."""
    return Double(name, ("tool",), serves=False, behave=behave, **more)


def _on(method: str, make: Callable[[], Behaviour]) -> Callable[[], Behaviour]:
    return lambda: LegacyServer([tool("tool")], on={method: make()})


def _pages(*pages: Json) -> Callable[[], Behaviour]:
    """These pages by their cursors: the first has none, the others are called by their number."""

    async def page(request: Received, wire: Wire) -> None:
        cursor = (request.message.get("params") or {}).get("cursor")
        await results_in(pages[int(cursor or 0)])(request, wire)

    return _on("tools/list", lambda: page)


def _page(number: int, cursor: int | None) -> Json:
    page: Json = {"tools": [tool(f"tool_{number}")]}
    return page | ({} if cursor is None else {"nextCursor": str(cursor)})


def _lists(*lists: Sequence[str]) -> Callable[[], Behaviour]:
    """These lists in turn, the last one for ever."""
    return _on(
        "tools/list",
        lambda: in_turn(*(results_in({"tools": [tool(n) for n in each]}) for each in lists)),
    )


class _Shuffled(LegacyServer):
    async def __call__(self, request: Received, wire: Wire) -> None:
        random.shuffle(self.tools)
        await super().__call__(request, wire)


def _stormy() -> Behaviour:
    async def storm(request: Received, wire: Wire) -> None:
        await wire.send(answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK))
        while True:
            await wire.send(answers.chunk(_CHANGED))
            await asyncio.sleep(_STORM_EVERY_S)

    said = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "stormy", "version": "1"},
    }
    server = LegacyServer([tool("tool")], on={"GET": storm, "initialize": _with_session(said)})
    server.live_sessions.add("s")
    return server


def _with_session(value: Json) -> Behaviour:
    async def behave(request: Received, wire: Wire) -> None:
        body = answers.result(request.rpc_id, value)
        await wire.send(answers.http(200, body, headers={"Mcp-Session-Id": "s"}))

    return behave


def _late() -> Behaviour:
    server, began_s = LegacyServer([tool("tool")]), asyncio.get_running_loop().time()

    async def behave(request: Received, wire: Wire) -> None:
        is_there = asyncio.get_running_loop().time() - began_s > _LATE_S
        await (server if is_there else behaviours.closes())(request, wire)

    return behave


def _redirects(status: int, where: str) -> Callable[[], Behaviour]:
    return lambda: responds(status, headers={"Location": where})


def _schema(**members: object) -> Json:
    return {"type": "object", **members}


_TWINS = tuple("t" * 70 + end for end in "ab")
_LONG = "t" * 129
_HUGE = [tool(f"tool_{number}", "d" * 60_000) for number in range(170)]
_HEADER = {"x-mcp-header": "Bad Header"}

DOUBLES = (
    # Names.
    _of("one-name", "search"),
    _of("one-name-too", "search"),
    _broken("twin-prefix", lambda: LegacyServer([tool("tool")]), meta={"prefix": "twin"}),
    _of("web", "scraper_get", "scraper.get", "scraper__get"),
    _of("web-scraper", "get", "_get"),
    _of(
        "odd-names",
        "a.b",
        "New Tool",
        "😀",
        "123_tool",
        _LONG,
        "ctrl\x07",
        "größe",
        unsound=["ctrl\x07"],
    ),
    _of("hidden-name", "plain", "a\u200bb", "\u202etool", unsound=["a\u200bb", "\u202etool"]),
    _of("twice", "tool", "twice", "twice", unsound=["twice"]),
    _of("equal-64", *_TWINS),
    _of("look-alike", "a.b", "a_b_2e7336dc", "Add", "add", unsound=[]),
    _of("nameless", "tool", tool(""), unsound=[""]),
    # Lists.
    _of("paged", *(f"tool_{number:03}" for number in range(101)), page_size=50),
    _broken("cursor-repeats", _pages(_page(0, 1), _page(1, 1))),
    _broken("cursor-cycles", _pages(_page(0, 1), _page(1, 2), _page(2, 3), _page(3, 1))),
    _broken(
        "error-on-page-two",
        _on("tools/list", lambda: in_turn(results_in(_page(0, 1)), errs(-32603, "broken"))),
    ),
    Double("empty-then-full", ("tool",), behave=_lists([], ["tool"])),
    Double("full-empty-full", ("tool",), behave=_lists(["tool"], [], ["tool"])),
    _broken("always-empty", _lists([])),
    Double("storm", ("tool",), behave=_stormy),
    Double("shuffled", tuple("edcba"), behave=lambda: _Shuffled([tool(name) for name in "abcde"])),
    _of(
        "bad-schema",
        *(f"good_{number:02}" for number in range(99)),
        tool("bad", inputSchema={"type": "int"}),
        unsound=["bad"],
    ),
    _of(
        "schemas",
        tool("no_properties", inputSchema={"type": "object"}),
        tool("no_type", inputSchema={}),
        tool("no_schema", inputSchema=None),
        tool("bad_type", inputSchema=_schema(properties={"a": {"type": "int"}})),
        tool("dangling", inputSchema=_schema(properties={"a": {"$ref": "#/$defs/x"}})),
        tool("network", inputSchema=_schema(properties={"a": {"$ref": "http://x.example/s"}})),
        tool(
            "defs",
            inputSchema=_schema(
                **{"$defs": {"x": True}, "properties": {"a": {"$ref": "#/$defs/x"}}}
            ),
        ),
        tool("big_number", inputSchema=_schema(properties={"a": {"const": 9007199254740993}})),
        tool("array_out", outputSchema={"type": "array"}),
        unsound=["no_type", "no_schema", "bad_type", "dangling"],
    ),
    _of(
        "members",
        tool("title", title=5),
        tool("meta", _meta=5),
        tool("hint", annotations={"readOnlyHint": "yes"}),
        tool("null", title=None),
        tool("unknown", somethingNew={"a": 1}),
        unsound=["title", "meta", "hint"],
    ),
    _of(
        "headers",
        tool("bad", inputSchema=_schema(properties={"a": {"type": "string", **_HEADER}})),
        tool("good"),
        unsound=["bad"],
    ),
    _of(
        "hidden-text",
        tool("tags", "nice\U000e0049\U000e0067"),
        tool("override", "nice \u202e evil"),
        tool("inside", inputSchema=_schema(properties={"a": {"description": "x\u200by"}})),
        tool("emoji", "👩\u200d💻 at work"),
        unsound=["tags", "override", "inside"],
    ),
    _of("too-large", tool("large", "d" * 70_000), "small", unsound=["large"]),
    _broken("ten-mib", lambda: LegacyServer(_HUGE, page_size=30)),
    _broken("no-tools", _on("tools/list", lambda: results_in({"others": []}))),
    _broken("tools-null", _on("tools/list", lambda: results_in({"tools": None}))),
    Double("modern", ("tool", "a.b"), behave=lambda: ModernServer([tool("tool"), tool("a.b")])),
    # Lifecycle.
    _broken("refuses", None),
    _broken("black-hole", None, is_deaf=True),
    _broken("hangs", behaviours.hangs),
    _broken("hangs-on-initialize", _on("initialize", behaviours.hangs)),
    _broken("hangs-on-list", _on("tools/list", behaviours.hangs)),
    Double(
        "hangs-on-call",
        ("tool",),
        meta={"timeoutSeconds": 1},
        behave=_on("tools/call", behaviours.hangs),
    ),
    Double("late", ("tool",), behave=_late),
    _broken("session-404", _on("tools/list", behaviours.loses_session_by_404)),
    _broken("session-400", _on("tools/list", behaviours.loses_session_by_400)),
    Double(
        "gone-when-called",
        ("tool",),
        behave=_on("tools/call", lambda: errs(-32602, "Unknown tool: tool")),
    ),
    _of("sessionless", "tool", sessions=False),
    _broken("http-sse-only", lambda: responds(405, headers={"Allow": "GET"})),
    # Answers.
    _of("event-streams", "tool", event_streams=True),
    Double(
        "comments",
        ("tool",),
        behave=_on(
            "tools/list",
            lambda: streams(
                {"tools": [tool("tool")]}, before=b": hi\n\n", newline="\r\n", data_lines=3, piece=7
            ),
        ),
    ),
    _broken("html-502", lambda: responds(502, b"<h1>Bad Gateway</h1>")),
    _broken("no-json-rpc", lambda: responds(200, b'{"hello": "world"}', "application/json")),
    _broken("accepted", lambda: responds(202, content_type="")),
    _broken(
        "cut-stream", _on("tools/list", lambda: sends(answers.http_in_chunks(200, [b": x\n\n"])))
    ),
    _broken("unauthorized", lambda: responds(401, headers={"WWW-Authenticate": "Bearer"})),
    _broken("forbidden", lambda: responds(403)),
    _broken("throttled", lambda: responds(429, headers={"Retry-After": "1"})),
    _broken("redirects", _redirects(307, "/mcp/")),
    _broken("redirects-elsewhere", _redirects(302, "http://127.0.0.1:1/")),
    _broken("misdirected", lambda: responds(421)),
    _broken(
        "gzip",
        _on(
            "tools/list",
            lambda: sends(answers.http(200, b"\x1f\x8b", headers={"Content-Encoding": "gzip"})),
        ),
    ),
    _broken(
        "not-a-number",
        _on(
            "tools/list",
            lambda: sends(answers.http(200, b'{"jsonrpc":"2.0","id":1,"result":{"tools":[NaN]}}')),
        ),
    ),
    # What their owners wrote.
    _of("some-allowed", "mine", "theirs", "Mine", meta={"allowedTools": ["mine"]}),
    _of("other-case", "Tool", meta={"allowedTools": ["tool", "gone"]}),
    _of("none-allowed", "tool", meta={"allowedTools": []}),
    _of("suspended", "tool", meta={"suspend": True, "allowedTools": ["tool"]}),
    _broken("no-url", None, raw_meta='{"allowedTools": ["*"], "url": ""}'),
    _broken("bad-url", None, raw_meta='{"allowedTools": ["*"], "url": "ftp://x.example/"}'),
    _broken("bad-file", None, raw_meta="{"),
    _broken(
        "needs-more",
        None,
        raw_meta='{"allowedTools": ["*"], "url": "http://x.example/", "requires": ["x"]}',
    ),
)


def _recording(path: str, behave: Behaviour, tokens: dict[str, list[str]]) -> Behaviour:
    async def recorded(request: Received, wire: Wire) -> None:
        if request.rpc_method == "tools/call":
            params = request.message.get("params") or {}
            token = (params.get("arguments") or {}).get("token")
            tokens[str(token)] = [path, str(params.get("name"))]
        await behave(request, wire)

    return recorded


async def serve(number: int) -> None:
    """Serve until the process ends."""
    tokens: dict[str, list[str]] = {}

    async def tell(request: Received, wire: Wire) -> None:
        await wire.send(answers.http(200, json.dumps(tokens).encode()))

    paths: dict[str, Behaviour] = {"/tokens": tell}
    for each in range(number):
        path, double = f"/{name_of(each)}", double_of(each)
        if double.behave is not None:
            paths[path] = _recording(path, double.behave(), tokens)
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(RawUpstream(paths))
        refusing = stack.enter_context(ports.refusing_port())
        urls: Mapping[str, str] = {
            name_of(each): _url(double_of(each), name_of(each), upstream, refusing, stack)
            for each in range(number)
        }
        print(json.dumps({"port": upstream.port, "urls": urls}), flush=True)
        await asyncio.Event().wait()


def _url(
    double: Double, name: str, upstream: RawUpstream, refusing: int, stack: AsyncExitStack
) -> str:
    if double.is_deaf:
        return f"http://{ports.LOOPBACK}:{deaf_port(stack)}/mcp"
    if double.behave is None:
        return f"http://{ports.LOOPBACK}:{refusing}/mcp"
    return upstream.url(f"/{name}")


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
