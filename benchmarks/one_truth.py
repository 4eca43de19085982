"""Whether list, calls and report of a router are one thing, over upstreams of all sorts.

Two hundred servers with every defect that the field reports know (`doubles.py`). Once the router
has settled, every tool that one of them offers is looked for by each form of its name: in the list,
in the report, and by a call of which the upstream itself says whether it came. What is missing has
to have a reason that names it.

| figure          | of what                                                                     |
|-----------------|-----------------------------------------------------------------------------|
| `tools`         | tools that are offered and allowed                                          |
| `disagreements` | forms of a name of which list, report and call do not say the same, sound   |
|                 | tools that are not shown, and names that must not work and do               |
| `unexplained`   | tools that are missing without a reason that names them or their server     |
| `unsound`       | tools that are shown although their upstream says that they must not be     |
"""

import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import doubles
import mcp_load
import uvloop
from figures import Figures, tell

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench import directories, stack  # noqa: E402 - found by the line above
from bench.ports import LOOPBACK  # noqa: E402
from bench.processes import Program  # noqa: E402
from bench.waiting import wait_until  # noqa: E402
from pointsman_contract import names  # noqa: E402
from pointsman_contract.report import printable  # noqa: E402

SERVERS = 200
_START_S = 30.0
# Nothing may be told for so long before it counts as settled: longer than an empty list is doubted
# for, and than most first tries at what hangs.
_SETTLED_S = 6.0
_SETTLE_S = 75.0
_AT_ONCE = 16
_REFRESH = "5"
_UNKNOWN = -32602
_HEADERS = mcp_load.headers("tools/call", "legacy")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """One way to name a tool: where it is listed and called, and how it is spelled there."""

    name: str
    url: str
    spelled: str


@dataclass
class Verdict:
    """What was found; each finding is one line."""

    tools: int = 0
    disagreements: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    unsound: list[str] = field(default_factory=list)

    def figures(self) -> Figures:
        """The number of each."""
        for what in ("disagreements", "unexplained", "unsound"):
            for line in getattr(self, what):
                print(f"{what}: {line}", file=sys.stderr)
        return {
            "tools": self.tools,
            "disagreements": len(self.disagreements),
            "unexplained": len(self.unexplained),
            "unsound": len(self.unsound),
        }


class Router:
    """The router, as an agent and an operator see it."""

    def __init__(self, session: aiohttp.ClientSession, url: str, admin: str) -> None:
        self.url = url
        self._session = session
        self._admin = admin
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._tokens = count()

    async def listed(self, url: str) -> dict[str, tuple[str, str]]:
        """The names of the list there, and whose tool each says that it is."""
        found: dict[str, tuple[str, str]] = {}
        params: Json = {}
        while True:
            result = (await self._ask(url, "tools/list", params)).get("result", {})
            for tool in result.get("tools", []):
                meta = tool["_meta"]
                if tool["name"] in found:
                    raise RuntimeError(f"{tool['name']} is listed twice at {url}")
                found[tool["name"]] = (meta["pointsman.dev/server"], meta["pointsman.dev/tool"])
            if "nextCursor" not in result:
                return found
            params = {"cursor": result["nextCursor"]}

    async def call(self, url: str, name: str) -> tuple[str, Json]:
        """Call a tool with a token of its own; the token, and the answer."""
        token = str(next(self._tokens))
        params = {"name": name, "arguments": {"token": token}}
        return token, await self._ask(url, "tools/call", params)

    async def settled(self) -> dict[str, Json]:
        """Wait until the report says the same for a while; return its servers by id."""
        end_s = time.monotonic() + _SETTLE_S
        tag, since_s = "", time.monotonic()
        while True:
            async with self._session.get(f"{self._admin}/status") as answer:
                report = await answer.json()
            now_s = time.monotonic()
            if (newest := answer.headers["ETag"]) != tag:
                tag, since_s = newest, now_s
            pending = [one["id"] for one in report["servers"] if one["state"] == "Pending"]
            if (not pending and now_s - since_s >= _SETTLED_S) or now_s > end_s:
                return {one["id"]: one for one in report["servers"]}
            await asyncio.sleep(0.5)

    async def _ask(self, url: str, method: str, params: Json) -> Json:
        body = mcp_load.message(method, params, "legacy")
        async with self._gate, self._session.post(url, data=body, headers=_HEADERS) as answer:
            found: Json = json.loads(await answer.read())
        return found


def measure() -> Figures:
    """Run everything and return the figures."""
    with tempfile.TemporaryDirectory() as folder, _upstreams() as found:
        directory = Path(folder)
        for number in range(SERVERS):
            _lay(directory, number, found["urls"])
        with stack.router(directory, REFRESH_SECONDS=_REFRESH) as (_, url, admin):
            return uvloop.run(_compare(url, admin, found["port"])).figures()


def _lay(directory: Path, number: int, urls: Mapping[str, str]) -> None:
    name, double = doubles.name_of(number), doubles.double_of(number)
    raw = double.raw_meta.encode() or directories.document(**{"url": urls[name], **double.meta})
    directories.lay(directory, name, raw)


async def _compare(url: str, admin: str, port: int) -> Verdict:
    verdict = Verdict()
    limit = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(timeout=limit, trust_env=False) as session:
        router = Router(session, url, admin)
        report = await router.settled()
        lists = {form: await router.listed(f"{url}?names={form}") for form in ("dotted", "safe")}
        asked: dict[str, tuple[str, str, Form, bool]] = {}

        async def look_at(number: int) -> None:
            name, double = doubles.name_of(number), doubles.double_of(number)
            bare = await router.listed(f"{url}/servers/{name}")
            told, every = report[name], {**lists, "bare": bare}
            _look(verdict, number, told, every)
            _nothing_else(verdict, name, double, every)
            for tool, form in _forms(name, double, told, url):
                token, _ = await router.call(form.url, form.spelled)
                asked[token] = (name, tool, form, form.spelled in every[form.name])
            for form in _forbidden(name, double, told, url):
                token, answer = await router.call(form.url, form.spelled)
                asked[token] = (name, "", form, False)
                if answer.get("error", {}).get("code") != _UNKNOWN:
                    verdict.disagreements.append(f"{name}: {form} is answered with {answer}")

        await asyncio.gather(*map(look_at, range(SERVERS)))
        reached = await asyncio.to_thread(_reached, port)
    for token, (name, tool, form, is_listed) in asked.items():
        came = reached.get(token)
        if came != ([f"/{name}", tool] if is_listed else None):
            verdict.disagreements.append(f"{name}: {form}, listed: {is_listed}, reached {came}")
    return verdict


def _forms(name: str, double: doubles.Double, told: Json, url: str) -> Iterator[tuple[str, Form]]:
    """Every form of the name of every tool that is offered and allowed."""
    for tool in double.allowed:
        called = names.of(told.get("prefix") or name.replace("-", "_"), tool)
        yield tool, Form("dotted", url, called.listed)
        yield tool, Form("safe", url, called.safe)
        yield tool, Form("bare", f"{url}/servers/{name}", tool)


def _forbidden(name: str, double: doubles.Double, told: Json, url: str) -> Iterator[Form]:
    """Names that must not work: not allowed, suspended, or in another case."""
    prefix = told.get("prefix") or name.replace("-", "_")
    hidden = set(double.offered) - set(double.allowed)
    other_case = {tool.upper() for tool in double.allowed} - set(double.allowed)
    for tool in hidden | other_case:
        called = names.of(prefix, tool)
        yield Form("dotted", url, called.dotted)
        yield Form("safe", url, called.safe)
        yield Form("bare", f"{url}/servers/{name}", tool)
    for tool in double.allowed[:1]:
        yield Form("bare", url, tool)


def _look(
    verdict: Verdict, number: int, told: Json, lists: Mapping[str, Mapping[str, Any]]
) -> None:
    """Compare list and report of one server, and look for the reasons of what is missing."""
    name, double = doubles.name_of(number), doubles.double_of(number)
    reported = {one["name"]: one for one in told["tools"]}
    skipped = {one["name"]: one for one in told["skippedTools"]}
    for tool in double.allowed:
        verdict.tools += 1
        called = names.of(told.get("prefix") or name.replace("-", "_"), tool)
        shown = {
            "dotted": lists["dotted"].get(called.listed),
            "safe": lists["safe"].get(called.safe),
            "bare": lists["bare"].get(tool),
        }
        is_shown = {form: whose == (name, tool) for form, whose in shown.items()}
        entry, why = reported.get(tool), skipped.get(printable(tool))
        if any(is_shown[form] for form in ("dotted", "safe")) != (entry is not None):
            verdict.disagreements.append(f"{name}: {tool!r} listed {is_shown}, reported {entry}")
        if entry and (entry["exposedName"], entry["safeName"]) != (called.listed, called.safe):
            verdict.disagreements.append(f"{name}: {tool!r} is reported as {entry}")
        if not all(is_shown.values()) and not why and not (told.get("reason") and not entry):
            verdict.unexplained.append(f"{name}: {tool!r} listed {is_shown}, {told.get('reason')}")
        is_sound = double.serves and tool not in double.unsound
        if is_sound and not why and not all(is_shown.values()):
            verdict.disagreements.append(f"{name}: {tool!r} is sound, {told.get('message')}")
        if tool in double.unsound and any(is_shown.values()):
            verdict.unsound.append(f"{name}: {tool!r}")
    if told["toolCount"] != len(told["tools"]):
        verdict.disagreements.append(f"{name}: toolCount {told['toolCount']}")


def _nothing_else(
    verdict: Verdict, name: str, double: doubles.Double, lists: Mapping[str, Mapping[str, Any]]
) -> None:
    """No list may show of a server what it does not offer, or what is not allowed."""
    for form, shown in lists.items():
        for spelled, (server, tool) in shown.items():
            if server == name and tool not in double.allowed:
                verdict.disagreements.append(f"{name}: {spelled!r} in the {form} list")


def _reached(port: int) -> Mapping[str, Sequence[str]]:
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/tokens", timeout=20) as answer:
        found: Mapping[str, Sequence[str]] = json.load(answer)
    return found


@contextmanager
def _upstreams() -> Iterator[Json]:
    script = Path(__file__).with_name("doubles.py")
    with Program("doubles", [sys.executable, str(script), str(SERVERS)]) as program:
        wait_until(lambda: program.output.endswith("}\n"), _START_S, "the doubles listen")
        yield json.loads(program.output)


if __name__ == "__main__":
    tell(__doc__ or "", measure)
