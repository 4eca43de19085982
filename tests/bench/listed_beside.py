"""Prompts, resources and templates, made of as little as a test wants to say."""

import json
from collections.abc import Iterable, Mapping

from pointsman_router import entries, prompts, resources
from pointsman_router.entries import Entries
from pointsman_router.entrycheck import KNOWN_BY, Kind
from pointsman_router.leftout import LeftOut

SERVER = "tools/github"
TIMEOUT_S = 60.0


def described(kind: Kind, known_by: str, /, **members: object) -> bytes:
    """What an upstream lists for one entry."""
    return json.dumps({"name": "n", KNOWN_BY[kind]: known_by, **members}).encode()


def offered(kind: Kind, *listed: str | bytes) -> Entries:
    """What a list comes to, of names or of whole descriptions."""
    return entries.read(
        kind, [one if isinstance(one, bytes) else described(kind, one) for one in listed]
    )


def prompts_of(
    server: str, *listed: str | bytes, prefix: str = "github", max_length: int = 64
) -> prompts.Holding:
    """A server's prompts."""
    return prompts.hold(server, prefix, TIMEOUT_S, offered(Kind.PROMPT, *listed), max_length)


def resources_of(
    server: str,
    *uris: str | bytes,
    templates: Iterable[str | bytes] = (),
    named: Iterable[str] = (),
) -> resources.Holding:
    """A server's resources and templates."""
    return resources.hold(
        server,
        TIMEOUT_S,
        offered(Kind.RESOURCE, *uris),
        offered(Kind.TEMPLATE, *templates),
        named,
    )


def told(left_out: Mapping[str, Iterable[LeftOut]]) -> dict[str, list[tuple[str, str]]]:
    """Of each server, what is left out and with which reason."""
    return {
        server: [(each.name, str(each.reason)) for each in each_out]
        for server, each_out in left_out.items()
    }
