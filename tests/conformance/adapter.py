"""A client as the suite's client leg starts it: the official one, with the router in between.

python adapter.py URL: the suite's server is the router's only upstream, so that what it judges is
what the router sends. The status is 0 where everything was asked.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import mcp_types as t
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import stack
from bench.directories import lay
from bench.waiting import wait_until
from conformance.agent import has_asked

_ASKED_S = 15.0
_OF_TYPE: Mapping[str, object] = {
    "string": "x",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}

Steps = Callable[[Client, Any], Awaitable[None]]


async def main(url: str, scenario: str, version: str, context: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder), "suite", url=url, expose=["Tools", "Resources", "Prompts"])
        with stack.router(Path(folder)) as (_, base, admin):
            wait_until(lambda: has_asked(admin), _ASKED_S, "the suite's server was listed")
            address = f"{base}/servers/suite"
            mode = "auto" if version == "2026-07-28" else "legacy"
            async with Client(address, mode=mode, elicitation_callback=accepted) as client:
                await _STEPS.get(scenario, every_tool)(client, context)


async def accepted(context: object, params: t.ElicitRequestParams) -> t.ElicitResult:
    properties = getattr(params, "requested_schema", {}).get("properties", {})
    return t.ElicitResult(action="accept", content=filled(properties))


def filled(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: schema.get("default", _OF_TYPE.get(schema.get("type", "string")))
        for name, schema in properties.items()
    }


async def only_lists(client: Client, _: Any) -> None:
    await client.list_tools()


async def every_tool(client: Client, _: Any) -> None:
    for tool in (await client.list_tools()).tools:
        await tried(client, tool.name, filled(tool.input_schema.get("properties", {})))


async def everything(client: Client, _: Any) -> None:
    await every_tool(client, None)
    for resource in (await client.list_resources()).resources:
        await client.read_resource(resource.uri)
    for prompt in (await client.list_prompts()).prompts:
        await client.get_prompt(prompt.name)


async def given(client: Client, context: Any) -> None:
    await client.list_tools()
    for call in context["toolCalls"]:
        await tried(client, call["name"], call["arguments"])


async def echoed(client: Client, _: Any) -> None:
    found = {tool.name: tool for tool in (await client.list_tools()).tools}
    schema = found["json_schema_2020_12_tool"].input_schema
    await tried(client, "json_schema_echo", {"schema": schema})


async def tried(client: Client, name: str, arguments: dict[str, Any]) -> None:
    """Call; what the suite's servers answer is not always right, and not judged here."""
    try:
        await client.call_tool(name, arguments)
    except (MCPError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)


_LISTS_ONLY = ("initialize", "json-schema-ref-no-deref", "request-metadata")
_STEPS: Mapping[str, Steps] = {
    **dict.fromkeys(_LISTS_ONLY, only_lists),
    "http-standard-headers": everything,
    "http-custom-headers": given,
    "json-schema-2020-12-preservation": echoed,
}


if __name__ == "__main__":
    asyncio.run(
        main(
            sys.argv[-1],
            os.environ["MCP_CONFORMANCE_SCENARIO"],
            os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25"),
            json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "null"),
        )
    )
