"""The command line called in this process, and files for it to read."""

from pathlib import Path

from click.testing import CliRunner, Result

from pointsman.__main__ import main

GOOD = """\
apiVersion: pointsman.dev/v1alpha1
kind: McpServer
metadata:
  name: {name}
spec:
  url: {url}
  allowedTools: ["*"]
"""


def good(name: str, url: str = "http://127.0.0.1:9101/mcp") -> str:
    return GOOD.format(name=name, url=url)


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    """What a call of `pointsman` prints, and its exit status; an unforeseen error is raised."""
    return CliRunner().invoke(
        main, [str(part) for part in arguments], input=stdin, catch_exceptions=False
    )


def view(name: str, servers: str = "{names: [one]}", tools: str = '["*"]') -> str:
    """The text of a sound McpView, its fields as YAML."""
    return (
        f"apiVersion: pointsman.dev/v1alpha1\nkind: McpView\nmetadata:\n  name: {name}\n"
        f"spec:\n  servers: {servers}\n  tools: {tools}\n"
    )
