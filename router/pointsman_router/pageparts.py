"""One server, tool, view or failure as a part of the page."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlencode

import msgspec

from pointsman_contract.overview import Failure, LeftOut, Server, Tool, View
from pointsman_contract.report import State
from pointsman_router.markup import Html, element, foreign, joined

# What stands beside two names; the rest is told with the whole.
_FIRST_LINE_MAX_LENGTH = 140
# What is longer is seen in the list that agents get.
_DESCRIPTION_MAX_LENGTH = 16 * 1024
# Indentation of what is nested deeply takes many times the room of what it shows.
_SPREAD_MAX = 8
_KIB = 1024

_STYLES = {
    State.SERVING: "chip good",
    State.STALE: "chip warn",
    State.PENDING: "chip",
    State.SKIPPED: "chip bad",
    State.SUSPENDED: "chip",
}
_DOING = {"listing": "it was listed", "call": "it was called"}
_Fact = tuple[str, Html | None]


def server(shown: Server) -> Html:
    """Return a server, with its tools where these are told."""
    much = _much(shown.tool_count, shown.schema_bytes)
    info = shown.server_info
    return element(
        "article",
        element(
            "div",
            element("h3", element("a", foreign(shown.id), href=link(server=shown.id))),
            element("span", shown.state, class_=_STYLES[shown.state]),
            element("span", much, class_="much"),
            class_="head",
        ),
        _why(shown.reason, shown.message),
        facts(
            ("Prefix", code(shown.prefix)),
            ("Protocol", code(shown.protocol_version)),
            ("Calls itself", foreign(f"{info.name} {info.version}") if info else None),
            ("Generation", None if shown.generation is None else code(str(shown.generation))),
            ("Since", moment(shown.since)),
        ),
        _details(shown) if shown.is_detailed else _counts(shown),
        class_="card",
    )


def view(shown: View) -> Html:
    """Return a view."""
    much = _much(shown.tool_count, shown.schema_bytes)
    return element(
        "article",
        element(
            "div",
            element("h3", foreign(shown.id)),
            element("span", shown.state, class_=_STYLES[shown.state]),
            element("span", much, class_="much"),
            class_="head",
        ),
        _why(None, shown.message),
        facts(("Served at", code(f"/mcp/views/{shown.id}")), ("Since", moment(shown.since))),
        _list("Named, but no server", _names(shown.unmatched_servers), "names"),
        _list("Patterns that match no tool", _names(shown.unmatched_tools), "names"),
        class_="card",
    )


def failure(shown: Failure) -> Html:
    """Return what failed, in a row."""
    times = f"{shown.times} times" if shown.times > 1 else None
    return joined(
        (
            moment(shown.at),
            element(
                "div",
                element("a", foreign(shown.server), href=link(server=shown.server)),
                element("strong", foreign(shown.reason)),
                element("span", f"while {_DOING[shown.doing]}", class_="sub"),
                element("span", times, class_="sub") if times else None,
                element("p", foreign(shown.message)),
            ),
        )
    )


def facts(*known: _Fact) -> Html:
    """Return what is known, each under its name."""
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", value))
            for name, value in known
            if value is not None
        ),
        class_="facts",
    )


def code(text: str | None) -> Html | None:
    """Return a text as programs spell it."""
    return None if text is None else element("code", foreign(text))


def moment(text: str | None) -> Html | None:
    """Return a time (RFC 3339) as a person reads it."""
    if text is None:
        return None
    shown = text.replace("T", " ").removesuffix("Z").removesuffix("+00:00")
    return element("time", shown, " UTC", datetime=text)


def size(number: int) -> str:
    """Return a number of bytes in words."""
    return f"{number / _KIB:.1f} KiB" if number >= _KIB else _plural(number, "byte")


def link(**query: str | None) -> str:
    """Return the address of a part of the page."""
    return f"/?{urlencode([(name, value) for name, value in query.items() if value])}"


def _why(reason: str | None, message: str | None) -> Html | None:
    if not (reason or message):
        return None
    return element(
        "p",
        element("strong", foreign(reason)) if reason else None,
        ": " if reason and message else None,
        foreign(message) if message else None,
        class_="why",
    )


def _counts(shown: Server) -> Html | None:
    """Return how much is left out or flagged, where the tools are not told one by one."""
    kinds = (("left out", shown.skipped, "bad"), ("flagged", shown.flagged, "warn"))
    chips = [
        element("span", f"{count} {what}: ", foreign(reason), class_=f"chip {style}")
        for what, reasons, style in kinds
        for reason, count in reasons.items()
    ]
    return element("p", *chips, class_="counts") if chips else None


def _details(shown: Server) -> Html:
    untold = f"and {shown.untold} more: narrow the filter"
    return joined(
        (
            _list(
                "Tools, by dotted and by safe name", (_tool(tool) for tool in shown.tools), "tools"
            ),
            _list("Left out", _left_out(shown.skipped_tools, "bad"), "rows"),
            _list("Served, and flagged", _left_out(shown.flagged_tools, "warn"), "rows"),
            _list(
                "Named, but not there: in allowedTools or tools, and not listed by the upstream",
                _names(shown.unmatched_allowed_tools),
                "names",
            ),
            element("p", untold, class_="empty") if shown.untold else None,
        )
    )


def _list(title: str, items: Iterable[Html], style: str) -> Html | None:
    listed = [element("li", item) for item in items]
    if not listed:
        return None
    return joined((element("h4", title), element("ul", *listed, class_=style)))


def _names(names: Iterable[str]) -> Iterator[Html]:
    return (element("code", foreign(name)) for name in names)


def _left_out(tools: Iterable[LeftOut], style: str) -> Iterator[Html]:
    for tool in tools:
        yield joined(
            (
                element("code", foreign(tool.name or "without a name")),
                element("span", foreign(tool.reason), class_=f"chip {style}"),
                element(
                    "p",
                    foreign(tool.message),
                    joined((" ", code(tool.digest))) if tool.digest else None,
                ),
            )
        )


def _tool(tool: Tool) -> Html:
    line = tool.description.strip().partition("\n")[0].strip()
    if len(line) > _FIRST_LINE_MAX_LENGTH:
        line = f"{line[: _FIRST_LINE_MAX_LENGTH - 1]}…"
    description = tool.description.strip()[:_DESCRIPTION_MAX_LENGTH]
    return element(
        "details",
        element(
            "summary",
            element("code", foreign(tool.exposed_name), class_="name"),
            element("code", foreign(tool.safe_name), class_="safe"),
            element("span", foreign(line or tool.title or ""), class_="says"),
        ),
        element(
            "div",
            element("h4", foreign(tool.title)) if tool.title else None,
            element("p", foreign(description), class_="text") if description != line else None,
            facts(("Its own name", code(tool.name)), ("Digest", code(tool.digest))),
            element("h4", "Input schema"),
            element("pre", _schema(bytes(tool.input_schema)), tabindex="0"),
            *(
                (
                    element("h4", "Output schema"),
                    element("pre", _schema(bytes(tool.output_schema)), tabindex="0"),
                )
                if isinstance(tool.output_schema, msgspec.Raw)
                else ()
            ),
            class_="within",
        ),
    )


def _schema(raw: bytes) -> Html:
    """Return a schema over many lines, its values spelled as they came."""
    spread = msgspec.json.format(raw)
    return foreign((spread if len(spread) <= _SPREAD_MAX * len(raw) else raw).decode())


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _much(tools: int, schema_bytes: int) -> str:
    return f"{_plural(tools, 'tool')}, {size(schema_bytes)}" if tools else "no tools"
