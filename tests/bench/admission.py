"""Whether the API server would keep a resource, asked without keeping it."""

import re
from dataclasses import dataclass

from bench.cluster_api import MCP_SERVER, MCP_VIEW, Body, mcp_server, mcp_view
from bench.controlplane import CommandFailed, ControlPlane

_KINDS = {"McpServer": MCP_SERVER, "McpView": MCP_VIEW}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the API server says of one body."""

    admitted: bool
    message: str = ""


def ask(control_plane: ControlPlane, body: Body, *, strict: bool = True) -> Verdict:
    """The API server's verdict on creating `body`; any answer but a verdict is an error."""
    validation = "Strict" if strict else "Ignore"
    collection = _KINDS[body["kind"]].path("default")
    path = f"{collection}?dryRun=All&fieldValidation={validation}"
    try:
        control_plane.request("POST", path, body)
    except CommandFailed as failed:
        if not re.search(r": (400|422) ", str(failed)):
            raise
        return Verdict(False, str(failed))
    return Verdict(True)


def body(name: str = "subject", **spec: object) -> Body:
    """A resource that is good but for what is given."""
    return mcp_server(name, "default", **{"url": "http://good.example/mcp", **spec})


def view(name: str = "subject", **spec: object) -> Body:
    """A view that is good but for what is given."""
    return mcp_view(name, "default", **{"servers": {"names": ["github"]}, **spec})
