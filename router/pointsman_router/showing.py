"""What somebody asks the page for, and the answer in the form that was asked for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pointsman_contract import overview
from pointsman_contract.overview import Next
from pointsman_router import page, panorama
from pointsman_router.pagestyle import POLICY
from pointsman_router.panorama import FILTER_MAX_LENGTH, Moment, Wish

_HTML = "text/html"
_JSON = "application/json"
_PARAMETERS = ("q", "server", "tools", "after", "after_tools")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer in parts."""

    status: int
    media_type: str
    body: bytes

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, which let a browser do nothing but show it."""
        return {**_HEADERS, "Content-Type": f"{self.media_type}; charset=utf-8"}


def wish(query: Iterable[tuple[str, str]]) -> Wish:
    """Return what a query asks for; raises ValueError, which names the parameter."""
    pairs = [(name, value) for name, value in query if name in _PARAMETERS]
    given = dict(pairs)
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise ValueError(f"{name} must be there once")
        if len(given[name]) > FILTER_MAX_LENGTH:
            raise ValueError(f"{name} must hold at most {FILTER_MAX_LENGTH} characters")
    if given.get("tools", "") not in ("", "1"):
        raise ValueError("tools must be 1 or absent")
    if "after_tools" in given and "after" not in given:
        raise ValueError("after_tools must stand beside after")
    return Wish(
        filter=given.get("q", "").strip(),
        server=given.get("server") or None,
        tools=given.get("tools") == "1",
        after=Next(given["after"], _count(given.get("after_tools"))) if "after" in given else None,
    )


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError("after_tools must be a number")
    return int(text)


def wants_json(accept: str) -> bool:
    """Say whether an Accept header names JSON and no page."""
    named = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return _JSON in named and _HTML not in named


def answer(moment: Moment, asked: Wish, *, as_json: bool) -> Answer:
    """Return what is shown at this moment of what was asked for."""
    seen = panorama.build(moment, asked)
    status = 404 if asked.server is not None and not seen.matching else 200
    if as_json:
        return Answer(status, _JSON, overview.dump(seen))
    return Answer(status, _HTML, page.render(seen, asked))
