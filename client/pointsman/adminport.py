"""A router's admin port, asked for all that it shows."""

from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec import structs

from pointsman import agent, envelope
from pointsman.agent import CONNECT_TIMEOUT_S
from pointsman_contract import overview
from pointsman_contract.overview import Overview, Server
from pointsman_contract.report import printable

# A part is written within a tenth of a second, also by a router that has much to do.
ANSWER_TIMEOUT_S = 30.0
# A catalogue that changes during each of so many readings does not stand still long enough.
TRIES = 5


class Moving(Exception):
    """What the router shows changed while it was read, again and again."""


def address(url: str) -> str:
    """Return where the admin port is that `url` names, with or without a path.

    Raises InvalidAddress.
    """
    parts = urlsplit(agent.address(url))
    return f"{parts.scheme}://{parts.netloc}/"


async def shown(url: str, filter_: str) -> Overview:
    """Return everything that the router at `url` shows of what the filter leaves.

    It is read in parts, during which neither the catalogue nor a count changed.

    Raises NotReached, NoAnswer, Moving.
    """
    timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        for _ in range(TRIES):
            if found := await _read(session, url, filter_):
                return found
    raise Moving


async def _read(session: aiohttp.ClientSession, url: str, filter_: str) -> Overview | None:
    """Return the parts as one; None where something changed between them."""
    whole = await _part(session, url, {"q": filter_, "tools": "1"})
    newest = whole
    while (behind := newest.next) is not None:
        asked = {"q": filter_, "tools": "1", "after": behind.after}
        if behind.after_tools is not None:
            asked["after_tools"] = str(behind.after_tools)
        newest = await _part(session, url, asked)
        if _standing(newest) != _standing(whole):
            return None
        if newest.next == behind:
            raise envelope.NoAnswer("an overview that does not end")
        whole = structs.replace(whole, servers=_joined(whole.servers, newest.servers))
    return structs.replace(whole, next=None)


def _standing(part: Overview) -> tuple[object, ...]:
    return part.instance, part.catalogue, part.totals, part.fault, part.unready


def _joined(first: tuple[Server, ...], then: tuple[Server, ...]) -> tuple[Server, ...]:
    if first and then and first[-1].id == then[0].id:
        split = structs.replace(first[-1], tools=(*first[-1].tools, *then[0].tools))
        return (*first[:-1], split, *then[1:])
    return (*first, *then)


async def _part(session: aiohttp.ClientSession, url: str, asked: dict[str, str]) -> Overview:
    with agent.told():
        async with session.get(
            url, params=asked, headers={"Accept": "application/json"}, allow_redirects=False
        ) as response:
            body = await agent.whole(response)
    try:
        return overview.load(body)
    except msgspec.MsgspecError:
        said = printable(body.decode(errors="replace").strip().partition("\n")[0])
        what = said if response.content_type == "text/plain" and said else response.content_type
        raise envelope.NoAnswer(
            f"HTTP {response.status}, {what}, but no overview: is this a router's admin port?"
        ) from None
