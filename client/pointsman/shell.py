"""What a shell hands to this program, and how it is called from there."""

import shutil
import sys
from pathlib import Path


class Unreadable(Exception):
    """What an argument points to cannot be read; the message says why."""


def text(argument: str) -> str:
    """Return what an argument stands for: itself, `@FILE`, or `-` for what is piped in.

    Raises Unreadable.
    """
    try:
        if argument == "-":
            return sys.stdin.read()
        if argument.startswith("@"):
            return Path(argument[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise Unreadable(f"{argument}: cannot be read: {exc}") from None
    return argument


def command() -> str:
    """Return how to call this program from a shell here."""
    script = Path(sys.executable).parent / "pointsman"
    found = shutil.which("pointsman")
    if found and script.exists() and Path(found).samefile(script):
        return "pointsman"
    if script.is_relative_to(Path.cwd()):
        script = script.relative_to(Path.cwd())
    return str(script) if script.exists() else f"{sys.executable} -m pointsman"
