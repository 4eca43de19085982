"""The page at `/` of the admin port: an overview as HTML, without a script."""

from pointsman_contract.overview import Overview, Totals
from pointsman_contract.report import State
from pointsman_router import pageparts
from pointsman_router.markup import Html, element, foreign, joined
from pointsman_router.pageparts import code, facts, link, moment, size
from pointsman_router.pagestyle import STYLE
from pointsman_router.panorama import FILTER_MAX_LENGTH, Wish

# A line that comes from the left and may go on to either side.
_SIGN = Html(
    '<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="3"'
    ' stroke-linecap="round" aria-hidden="true"><path d="M3 23h26"/>'
    '<path d="M9 23C17 23 16 9 29 9"/><circle cx="9" cy="23" r="3.4" fill="currentColor"'
    ' stroke="none"/></svg>'
)


def render(overview: Overview, wish: Wish) -> bytes:
    """Return the page of what is to be shown."""
    style = element("style", Html(STYLE))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", _title(wish)),
        style,
    )
    body = element(
        "body",
        element("a", "Skip to the servers", href="#servers", class_="skip"),
        _bar(overview),
        element(
            "main",
            _router(overview),
            _totals(overview.totals),
            _form(wish),
            _servers(overview, wish),
            _views(overview),
            _failures(overview),
            _footer(),
        ),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n".encode()


def _title(wish: Wish) -> str:
    return "Pointsman router" if wish.server is None else "A server - Pointsman router"


def _bar(overview: Overview) -> Html:
    if overview.unready:
        chip = element("span", "Not ready", class_="chip bad")
    else:
        chip = element("span", "Ready", class_="chip good")
    title = element("h1", element("a", "Pointsman router", href="/"))
    return element("header", _SIGN, title, chip, class_="bar")


def _router(overview: Overview) -> Html:
    identity = facts(
        ("Instance", code(overview.instance)),
        ("Running since", moment(overview.started_at)),
        ("Catalogue", code(overview.catalogue)),
    )
    notices = [
        (overview.unready, "Agents should not come yet", "bad"),
        (overview.fault, "The last good set of servers is held", "warn"),
    ]
    return joined(
        (
            identity,
            *(
                element("p", f"{what}: ", foreign(why), class_=f"notice {style}", role="status")
                for why, what, style in notices
                if why
            ),
        )
    )


def _totals(totals: Totals) -> Html:
    """Return the numbers; one of servers in a state leads to these."""
    cells = [
        _number(count, f"{state}", link(q=state), "lit" if state is State.SKIPPED else "")
        for state in State
        if (count := totals.states.get(state, 0)) or state is State.SERVING
    ]
    cells.append(_number(totals.tools, f"tools, {size(totals.schema_bytes)}", None, ""))
    if totals.skipped:
        cells.append(_number(totals.skipped, "tools left out", None, "lit"))
    if totals.flagged:
        cells.append(_number(totals.flagged, "tools flagged", None, "amber"))
    return element("ul", *(element("li", cell) for cell in cells), class_="totals")


def _number(count: int, what: str, leads_to: str | None, style: str) -> Html:
    inside = (element("strong", str(count), class_=style or None), element("span", what))
    return element("a", *inside, href=leads_to) if leads_to else joined(inside)


def _form(wish: Wish) -> Html:
    return element(
        "form",
        element("label", "Filter", for_="q"),
        element(
            "input",
            type="search",
            id="q",
            name="q",
            value=wish.filter or None,
            maxlength=FILTER_MAX_LENGTH,
            autocomplete="off",
            aria_describedby="hint",
        ),
        element("button", "Show"),
        element("a", "Show all", href="/") if wish.filter or wish.server is not None else None,
        element(
            "p",
            "Servers, tools by either name, titles, states and reasons; every word has to match.",
            class_="hint",
            id="hint",
        ),
        role="search",
        action="/",
        method="get",
    )


def _servers(overview: Overview, wish: Wish) -> Html:
    number = f"{overview.matching} of {overview.totals.servers}"
    heading = element("h2", "Servers", element("small", number), id="servers", tabindex="-1")
    return joined(
        (
            heading,
            *(pageparts.server(server) for server in overview.servers),
            None if overview.servers else _no_servers(overview, wish),
            _more(overview, wish),
        )
    )


def _no_servers(overview: Overview, wish: Wish) -> Html:
    if wish.server is not None:
        return element("p", "There is no server ", foreign(wish.server), ".", class_="empty")
    if wish.filter:
        said = "Nothing matches the filter."
    elif overview.echo:
        said = "No server is registered: until one is, agents see the one tool echo."
    else:
        said = "No server is registered."
    return element("p", said, class_="empty")


def _more(overview: Overview, wish: Wish) -> Html | None:
    if overview.next is None:
        return None
    behind = overview.next
    next_part = link(
        q=wish.filter,
        server=wish.server,
        tools="1" if wish.tools else None,
        after=behind.after,
        after_tools=None if behind.after_tools is None else str(behind.after_tools),
    )
    return element("a", "Next part", href=next_part, class_="more", rel="next")


def _views(overview: Overview) -> Html | None:
    if not overview.views:
        return None
    number = f"{len(overview.views)} of {overview.totals.views}"
    heading = element("h2", "Views", element("small", number))
    return joined((heading, *(pageparts.view(view) for view in overview.views)))


def _failures(overview: Overview) -> Html:
    heading = element("h2", "Last errors", element("small", "since this router started"))
    if not overview.failures:
        none = element("p", "None that concerns what is shown.", class_="empty")
        return joined((heading, none))
    rows = (element("li", pageparts.failure(failure)) for failure in overview.failures)
    return joined((heading, element("ul", *rows, class_="card rows failures")))


def _footer() -> Html:
    return element(
        "footer",
        "Everything above is of one moment, and of this router alone. The same in a terminal: ",
        element("code", "pointsman tools --all"),
        ". Nothing here changes anything.",
    )
