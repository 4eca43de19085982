"""A view whose tools are found rather than listed: what is found there is what it shows."""

import json

import pytest

from bench import mcpport
from bench.mcpport import Answer, McpPort
from bench.mcpstage import names, rpc, text
from bench.viewing import CATALOGUE
from pointsman_router import endpoints
from pointsman_router.endpoints import Endpoint
from pointsman_router.listing import Form

AT = "/mcp/views/tools/found"
VIEW = Endpoint(Form.DOTTED, view="tools/found")


async def called(port: McpPort, name: str, path: str = AT, /, **arguments: object) -> Answer:
    params = {"name": name, "arguments": arguments}
    return await port.post(rpc("tools/call", json.dumps(params)), path)


@pytest.mark.parametrize("form", [Form.DOTTED, Form.SAFE])
async def test_only_the_views_own_tools_are_found_and_by_their_names_there(form: Form) -> None:
    async with mcpport.serving(CATALOGUE) as port:
        path = f"{AT}?names={form}"
        listed = await port.post(rpc("tools/list"), path)
        found = await called(port, "search_tools", path, query="github jira search read", limit=20)

    assert names(listed) == ["search_tools", "call_tool"]
    told = json.loads(text(found))
    revision = endpoints.revision(CATALOGUE, VIEW)
    assert listed.document["result"]["_meta"] == {"pointsman.dev/catalogue": revision}
    assert told["catalogue"] == revision
    shown = [line.names[form] for line in endpoints.shown(CATALOGUE, VIEW)]
    assert sorted(tool["name"] for tool in told["tools"]) == sorted(shown) != []


async def test_what_another_view_shows_is_unknown_through_call_tool_too() -> None:
    everywhere = {line.names[Form.DOTTED] for line in CATALOGUE.lines[Form.DOTTED]}
    here = {line.names[Form.DOTTED] for line in endpoints.shown(CATALOGUE, VIEW)}
    async with mcpport.serving(CATALOGUE) as port:
        elsewhere = [
            await called(port, "call_tool", name=name) for name in sorted(everywhere - here)
        ]

    assert elsewhere
    assert {answer.verdict for answer in elsewhere} == {(200, -32602)}
