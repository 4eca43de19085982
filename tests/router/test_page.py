"""The page as HTML: well-formed, inert, and with everything on it that it is to show."""

from html.parser import HTMLParser

import pytest
from msgspec import Raw

from pointsman_contract.overview import (
    Failure,
    LeftOut,
    Next,
    Overview,
    Server,
    ServerInfo,
    Tool,
    Totals,
    View,
)
from pointsman_contract.report import State
from pointsman_router import page, pagestyle
from pointsman_router.panorama import Wish

HOSTILE = '</bdi></title></style><script>x</script><img src=x onerror="y">\u202e'
VOID = {"br", "hr", "input", "link", "meta"}
# Of an SVG drawn by us.
DRAWN = {"svg", "path", "circle"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "a", "article"),
    *("bdi", "button", "code", "dd", "details", "div", "dl", "dt", "form", "h1", "h2", "h3", "h4"),
    *("input", "label", "li", "p", "pre", "small", "span", "strong", "summary", "time", "ul"),
    *DRAWN,
}


class Read(HTMLParser):
    """A page read as a browser reads it, and what is wrong with it."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.text = ""
        self.elements: set[str] = set()
        self.links: list[str] = []
        self.events: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(html.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.events += [name for name, _ in attrs if name.startswith("on") or name == "style"]
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def read(overview: Overview, wish: Wish | None = None) -> Read:
    return Read(page.render(overview, wish or Wish()))


def everything(text: str, state: State = State.SERVING) -> Overview:
    """An overview that holds a text wherever somebody else may put one."""
    tool = Tool(
        name=text,
        exposed_name=text,
        safe_name=text,
        digest="sha256:0",
        input_schema=Raw(b'{"type":"object","default":"\xe2\x80\xae</pre><b>"}'),
        title=text,
        description=f"{text}\n{text}",
        output_schema=Raw(b'{"a":1.50}'),
    )
    left_out = LeftOut(text, "DuplicateName", text, "sha256:1")
    server = Server(
        id=text,
        state=state,
        since="2026-01-01T00:00:00Z",
        generation=3,
        reason="Unreachable",
        message=text,
        prefix="github",
        protocol_version=text,
        server_info=ServerInfo(text, text),
        tool_count=1,
        schema_bytes=2048,
        is_detailed=True,
        tools=(tool,),
        skipped_tools=(left_out,),
        flagged_tools=(left_out,),
        unmatched_allowed_tools=(text,),
        untold=7,
    )
    return Overview(
        totals=Totals({state: 1}, tools=1, schema_bytes=2048, skipped=1, flagged=1, views=1),
        matching=1,
        instance="router-1",
        started_at="2026-01-01T00:00:00+00:00",
        catalogue="c" * 16,
        fault=text,
        unready=text,
        servers=(server,),
        views=(View(text, State.SKIPPED, "2026-01-01T00:00:00Z", text, 1, 5, (text,), (text,)),),
        failures=(Failure("2026-01-01T00:00:00Z", text, "call", "Timeout", text, times=3),),
        next=Next(text, 1),
    )


def test_no_text_of_others_becomes_anything_but_text() -> None:
    html = page.render(everything(HOSTILE), Wish(filter=HOSTILE[:-1], server=HOSTILE))
    made = Read(html)

    assert made.elements <= KNOWN
    assert made.events == []
    assert made.open == []
    assert "\u202e" not in html.decode()
    assert "<script>x</script>" in made.text


def test_every_link_stays_on_the_page() -> None:
    made = read(everything(HOSTILE))

    assert made.links
    assert all(link == "#servers" or link.startswith("/") for link in made.links)
    assert not any(link.startswith("//") for link in made.links)


def test_ids_are_there_once() -> None:
    made = read(everything("x"))

    assert sorted(made.ids) == sorted(set(made.ids))


def test_everything_that_is_known_is_on_the_page() -> None:
    text = read(everything("some words")).text

    for said in (
        *("Not ready", "Agents should not come yet: some words", "router-1", "c" * 16),
        *("The last good set of servers is held: some words", "2026-01-01 00:00:00 UTC"),
        *("some words", "Serving", "Unreachable", "github", "1 tool, 2.0 KiB", "sha256:0"),
        *('"default": "U+202E</pre><b>"', '"a": 1.50', "Left out", "Served, and flagged"),
        *("DuplicateName", "sha256:1", "Named, but not there", "and 7 more", "3 times"),
        *("/mcp/views/some words", "Named, but no server", "Patterns that match no tool"),
        *("while it was called", "Next part", "tools left out", "tools flagged"),
    ):
        assert said in text, said


@pytest.mark.parametrize("state", list(State))
def test_every_state_is_told_in_a_word(state: State) -> None:
    assert f">{state}</span>" in page.render(everything("x", state), Wish()).decode()


def test_a_server_that_is_not_detailed_says_how_much_it_leaves_out() -> None:
    server = Server("a", State.SERVING, "t", skipped={"TooLarge": 3}, flagged={"ConfusableName": 1})

    text = read(Overview(totals=Totals(), servers=(server,))).text

    assert "3 left out: TooLarge" in text
    assert "1 flagged: ConfusableName" in text


@pytest.mark.parametrize(
    ("overview", "wish", "said"),
    [
        (Overview(totals=Totals(), echo=True), Wish(), "agents see the one tool echo"),
        (Overview(totals=Totals()), Wish(), "No server is registered."),
        (Overview(totals=Totals()), Wish(filter="x"), "Nothing matches the filter."),
        (Overview(totals=Totals()), Wish(server="a/b"), "There is no server a/b."),
    ],
    ids=["echo", "none", "filtered", "unknown"],
)
def test_where_there_is_no_server_it_is_said_why(overview: Overview, wish: Wish, said: str) -> None:
    assert said in read(overview, wish).text


def test_the_filter_stays_in_its_box_and_can_be_taken_away() -> None:
    html = page.render(everything("x"), Wish(filter='a "b"')).decode()

    assert 'value="a &quot;b&quot;"' in html
    assert ">Show all</a>" in html


def test_what_spreads_too_far_is_shown_as_it_came() -> None:
    deep = b"[" * 60 + b"0," * 3000 + b"0" + b"]" * 60
    overview = everything("x")
    (server,) = overview.servers
    tool = Tool("x", "x", "x", "d", Raw(deep))
    html = page.render(
        Overview(
            totals=Totals(),
            servers=(Server("a", State.SERVING, "t", is_detailed=True, tools=(tool,)),),
        ),
        Wish(),
    )

    assert server.is_detailed
    assert deep in html


def test_the_policy_names_the_one_style_sheet_and_nothing_else() -> None:
    html = page.render(everything("x"), Wish()).decode()

    assert html.count("<style>") == 1
    assert f"<style>{pagestyle.STYLE}</style>" in html
    assert "url(" not in pagestyle.STYLE
    assert "@import" not in pagestyle.STYLE
    assert pagestyle.POLICY.startswith("default-src 'none'; style-src 'sha256-")
