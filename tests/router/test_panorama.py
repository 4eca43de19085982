"""What a person is shown of a snapshot, and how much of it at once."""

from collections.abc import Iterator

import pytest
from msgspec import Raw

from bench.catalogues import Known, built, definition, found, server, skip
from pointsman_contract import overview
from pointsman_contract.overview import Failure, Next, Overview
from pointsman_contract.report import Report, ServerReason, SkippedTool, State, ViewReport
from pointsman_router import panorama, reporting
from pointsman_router.offer import Finding
from pointsman_router.panorama import Moment, Wish
from pointsman_router.reporting import Self

MYSELF = Self("router-1", "2026-01-01T00:00:00+00:00")


def moment(
    *known: Known, views: tuple[ViewReport, ...] = (), failures: tuple[Failure, ...] = ()
) -> Moment:
    made = built(*known)
    report = reporting.build(made, None, myself=MYSELF, now="2026-01-01T00:00:10Z")
    return Moment(made, report.model_copy(update={"views": views}), failures)


def serving(id_: str, *tools: str | bytes) -> Known:
    return Known(server(id_), found(*tools))


def seen(
    at: Moment,
    filter_: str = "",
    *,
    server: str | None = None,
    tools: bool = False,
    after: Next | None = None,
) -> Overview:
    return panorama.build(at, Wish(filter=filter_, server=server, tools=tools, after=after))


def ids(shown: Overview) -> list[str]:
    return [each.id for each in shown.servers]


def tools(shown: Overview) -> list[str]:
    return [tool.exposed_name for each in shown.servers for tool in each.tools]


def parts(at: Moment, *, server: str | None = None, tools: bool = False) -> Iterator[Overview]:
    """Every part, as somebody sees them who goes on and on."""
    part = seen(at, server=server, tools=tools)
    yield part
    while part.next is not None:
        part = seen(at, server=server, tools=tools, after=part.next)
        yield part


SEARCH = definition(
    "search",
    title="Find things",
    description="Looks.\nEverywhere.",
    inputSchema={"type": "object", "properties": {"n": {"default": 1.50}}},
    outputSchema={"type": "object"},
)
SMALL = moment(
    serving("tools/github", SEARCH, "star", "merge", "merge"),
    Known(server("data/postgres", allowed=["query", "explain"]), found("query")),
    Known(server("data/ledger", out=ServerReason.SUSPENDED)),
    Known(server("tools/wiki"), Finding(None, skip(ServerReason.UNREACHABLE))),
    failures=(Failure("t2", "tools/wiki", "listing", "Unreachable", "gone"),),
    views=(ViewReport(id="tools/triage", state=State.SERVING, tool_count=1, since="t1"),),
)


def test_everything_is_of_the_report_in_its_order_with_totals() -> None:
    shown = seen(SMALL)

    assert ids(shown) == ["data/ledger", "data/postgres", "tools/github", "tools/wiki"]
    assert [each.state for each in shown.servers] == ["Suspended", "Serving", "Serving", "Skipped"]
    assert dict(shown.totals.states) == {"Serving": 2, "Skipped": 1, "Suspended": 1}
    assert (shown.totals.tools, shown.totals.skipped, shown.matching) == (3, 1, 4)
    assert (shown.instance, shown.catalogue) == ("router-1", SMALL.catalogue.revision)
    assert [view.id for view in shown.views] == ["tools/triage"]


def test_a_tool_is_told_as_agents_are_told_it() -> None:
    shown = seen(SMALL, "github.search")

    (tool,) = shown.servers[0].tools
    assert (tool.exposed_name, tool.safe_name) == ("github.search", "github__search")
    assert (tool.title, tool.description) == ("Find things", "Looks.\nEverywhere.")
    assert b'"default": 1.5' in bytes(tool.input_schema)
    assert isinstance(tool.output_schema, Raw)
    assert bytes(tool.output_schema) == b'{"type": "object"}'
    assert tool.digest.startswith("sha256:")


def test_a_title_may_stand_among_the_annotations() -> None:
    at = moment(serving("a", definition("x", annotations={"title": "Noted"})))

    assert seen(at).servers[0].tools[0].title == "Noted"
    assert tools(seen(at, "noted")) == ["a.x"]


def test_what_is_left_out_and_what_is_not_there_is_told_with_its_reason() -> None:
    shown = seen(SMALL)

    github = shown.servers[2]
    assert [(each.name, each.reason) for each in github.skipped_tools] == [
        ("merge", "DuplicateName")
    ]
    assert dict(github.skipped) == {"DuplicateName": 1}
    assert shown.servers[1].unmatched_allowed_tools == ("explain",)


def test_what_is_flagged_is_told_beside_the_tools() -> None:
    at = moment(serving("a", "x"))
    assert at.report is not None
    flagged = SkippedTool(name="x", reason="ConfusableName", message="looks like y", digest="d")
    entry = at.report.servers[0].model_copy(update={"flagged_tools": (flagged,)})
    report = at.report.model_copy(update={"servers": (entry,)})

    shown = seen(Moment(at.catalogue, report))

    (told,) = shown.servers[0].flagged_tools
    assert (told.name, told.reason, told.digest) == ("x", "ConfusableName", "d")
    assert (shown.totals.flagged, dict(shown.servers[0].flagged)) == (1, {"ConfusableName": 1})
    assert tools(seen(Moment(at.catalogue, report), "confusable")) == []


@pytest.mark.parametrize(
    ("filter_", "servers", "named"),
    [
        ("github", ["tools/github"], ["github.search", "github.star"]),
        ("GitHub__Star", ["tools/github"], ["github.star"]),
        ("github.star", ["tools/github"], ["github.star"]),
        ("find THINGS", ["tools/github"], ["github.search"]),
        ("tools/github things", ["tools/github"], ["github.search"]),
        ("duplicatename", ["tools/github"], []),
        ("suspended", ["data/ledger"], []),
        ("Unreachable", ["tools/wiki"], []),
        ("explain", ["data/postgres"], []),
        ("data", ["data/ledger", "data/postgres"], ["postgres.query"]),
        ("github postgres", [], []),
        ("nowhere", [], []),
    ],
)
def test_a_filter_leaves_what_every_word_is_met_in(
    filter_: str, servers: list[str], named: list[str]
) -> None:
    shown = seen(SMALL, filter_)

    assert ids(shown) == servers
    assert tools(shown) == named
    assert shown.matching == len(servers)
    assert shown.totals == seen(SMALL).totals


def test_a_filter_is_for_failures_and_views_too() -> None:
    assert [each.server for each in seen(SMALL, "wiki").failures] == ["tools/wiki"]
    assert seen(SMALL, "github").failures == ()
    assert [each.id for each in seen(SMALL, "triage").views] == ["tools/triage"]
    assert seen(SMALL, "github").views == ()


def test_one_server_is_shown_alone_with_its_failures() -> None:
    shown = seen(SMALL, server="tools/wiki")

    assert ids(shown) == ["tools/wiki"]
    assert [each.server for each in shown.failures] == ["tools/wiki"]
    assert shown.views == ()


def test_of_a_server_that_is_gone_only_its_failures_are_left() -> None:
    gone = Moment(SMALL.catalogue, SMALL.report, (Failure("t", "old", "call", "Timeout", "late"),))

    shown = seen(gone, server="old")

    assert (ids(shown), shown.matching) == ([], 0)
    assert [each.server for each in shown.failures] == ["old"]


def test_before_the_first_report_it_is_said_why() -> None:
    at = Moment(built(), None, unready="the directory has not been read yet")

    shown = panorama.build(at, Wish())

    assert shown.unready == "the directory has not been read yet"
    assert (shown.instance, shown.servers, shown.totals.servers) == (None, (), 0)


MANY = moment(*(serving(f"s{number:03}", "a", "b") for number in range(250)))


def test_of_many_tools_only_the_numbers_are_shown() -> None:
    shown = seen(MANY)

    assert len(shown.servers) == panorama.SERVERS_MAX
    assert tools(shown) == []
    assert not any(each.is_detailed for each in shown.servers)
    assert shown.servers[0].tool_count == 2


def test_the_parts_show_every_server_once() -> None:
    shown = [id_ for part in parts(MANY) for id_ in ids(part)]

    assert shown == [f"s{number:03}" for number in range(250)]


def test_the_parts_show_every_tool_once_where_tools_are_wished() -> None:
    found_in = list(parts(MANY, tools=True))

    assert len(found_in) == 3
    assert [name for part in found_in for name in tools(part)] == [
        f"s{number:03}.{tool}" for number in range(250) for tool in ("a", "b")
    ]


def test_a_filter_that_leaves_few_tools_shows_them() -> None:
    assert tools(seen(MANY, "s12")) == [
        f"s12{number}.{tool}" for number in range(10) for tool in ("a", "b")
    ]


def test_a_server_of_many_tools_is_shown_in_parts_with_what_it_leaves_out_once() -> None:
    names = [f"t{number:04}" for number in range(panorama.TOOLS_MAX * 2 + 5)]
    at = moment(serving("a", *names, "twice", "twice"), serving("b", "x"))

    shown = list(parts(at, tools=True))

    assert [name for part in shown for name in tools(part)] == [
        *(f"a.{name}" for name in names),
        "b.x",
    ]
    assert shown[0].next == Next("a", panorama.TOOLS_MAX)
    assert sum(len(each.skipped_tools) for part in shown for each in part.servers) == 1


def test_a_part_that_begins_behind_the_last_tool_goes_on_with_the_next_server() -> None:
    at = moment(serving("a", "x"), serving("b", "y"))

    assert tools(seen(at, tools=True, after=Next("a", 10**400))) == ["b.y"]


def test_large_definitions_make_smaller_parts() -> None:
    large = {"type": "object", "description": "x" * 60_000}
    at = moment(
        serving("a", *(definition(f"t{number:02}", inputSchema=large) for number in range(30)))
    )

    shown = list(parts(at, server="a"))

    assert [len(tools(part)) for part in shown] == [9, 9, 9, 3]
    assert all(len(overview.dump(part)) < 2 * panorama.DEFINITIONS_MAX_BYTES for part in shown)


def test_what_is_left_out_in_great_number_is_told_in_part_and_counted() -> None:
    at = moment(serving("a", *(name for n in range(300) for name in (f"t{n:03}", f"t{n:03}"))))

    (shown,) = seen(at, server="a").servers

    assert len(shown.skipped_tools) == panorama.LEFT_OUT_MAX
    assert shown.untold == 100
    assert dict(shown.skipped) == {"DuplicateName": 300}


def test_escapes_are_read_in_texts_and_left_in_schemas() -> None:
    raw = (
        b'{"name":"x","title":"\\\\u00e9 \\u00e9","description":"\\ud83d\\ude00",'
        b'"inputSchema":{"type":"object","default":{"a":1.50,"b":"\\ud83d\\ude00\\\\ud800"}}}'
    )
    at = moment(serving("a", raw))

    shown = overview.load(overview.dump(seen(at)))

    (tool,) = shown.servers[0].tools
    assert (tool.title, tool.description) == ("\\u00e9 é", "😀")
    assert b'{"a":1.50,"b":"\\ud83d\\ude00\\\\ud800"}' in bytes(tool.input_schema)


def test_an_overview_is_read_as_it_was_written() -> None:
    shown = seen(SMALL)

    assert overview.load(overview.dump(shown)) == shown


@pytest.mark.parametrize("data", [b"", b"[]", b'{"servers":[]}', b"<html>", b'{"totals":5}'])
def test_what_is_no_overview_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        overview.load(data)


def test_a_report_without_views_is_shown() -> None:
    report = Report(instance="i", started_at="t", catalogue="c")

    assert panorama.build(Moment(built(), report), Wish()).views == ()
