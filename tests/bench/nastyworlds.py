"""Sets of servers whose tools have nasty names, read off a few bytes."""

from dataclasses import replace
from functools import lru_cache

from hypothesis import strategies as st

from bench.catalogues import Known, definition, offered, server, skip
from bench.nasty import PREFIXES, Pick, picking, tool_names
from bench.worlds import BAD, World
from pointsman_contract import names
from pointsman_contract.report import ServerReason
from pointsman_router.leftout import LeftOut
from pointsman_router.offer import Finding, Offer, Tool

_LEFT_OUT = [tool for definition in BAD for tool in offered(definition).skipped]


def offering(*tools: str) -> Offer:
    """The offer of these tools, each judged once for all worlds."""
    judged = [_judged(name) for name in dict.fromkeys(tools)]
    usable = [tool for tool in judged if isinstance(tool, Tool)]
    left_out = [tool for tool in judged if isinstance(tool, LeftOut)]
    return Offer(tuple(sorted(usable, key=lambda tool: tool.name)), tuple(left_out), "2025-11-25")


@lru_cache(maxsize=10_000)
def _judged(name: str) -> Tool | LeftOut:
    offer = offered(definition(name))
    return offer.tools[0] if offer.tools else offer.skipped[0]


def _known(pick: Pick, prefix: str) -> Known:
    state, number = pick(10), pick(6)
    tools = tool_names(pick, prefix, number)
    allowed = [name for name in tools[::2] if names.is_exposable(name)] if state == 1 else ["*"]
    out = ServerReason.SUSPENDED if state == 2 else None
    trouble = skip(ServerReason.UNREACHABLE) if state in {3, 4} else None
    offer = offering(*tools)
    if state == 5:
        offer = replace(offer, skipped=(*offer.skipped, _LEFT_OUT[pick(len(_LEFT_OUT))]))
    finding = Finding(None if state == 4 else offer, trouble)
    return Known(server(f"team/{prefix}", prefix=prefix, allowed=allowed, out=out), finding)


def _world(data: bytes) -> World:
    pick = picking(data)
    prefixes = dict.fromkeys(PREFIXES[pick(len(PREFIXES))] for _ in range(1 + pick(4)))
    return [_known(pick, prefix) for prefix in prefixes]


WORLDS = st.binary(min_size=72, max_size=72).map(_world)
