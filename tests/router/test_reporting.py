"""What the router says of itself, and what it does not say twice."""

import json
from typing import Any

import pytest

from bench import catalogues
from bench.catalogues import Known, built, found, server
from bench.directories import document
from pointsman_contract import meta, report, view
from pointsman_contract.report import Change, Report, ServerInfo, ServerReason, State
from pointsman_router import catalogue, offer, registry, reporting
from pointsman_router.catalogue import Catalogue
from pointsman_router.offer import Finding, Listing
from pointsman_router.reading import Entry, Reading
from pointsman_router.registry import NamedView, Skip
from pointsman_router.reporting import History, Self

MYSELF = Self("router-1", "2026-01-01T00:00:00Z")
EARLY, LATE = "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"


def offering(*tools: str) -> Finding:
    listed = (
        json.dumps({"name": tool, "inputSchema": {"type": "object"}}).encode() for tool in tools
    )
    info = ServerInfo(name="upstream", version="1.0")
    return Finding(offer.read(Listing(tuple(listed), "2025-11-25", info)), None)


def snapshot(
    findings: dict[str, Finding] | None = None, fault: str | None = None, **servers: dict[str, Any]
) -> Catalogue:
    entries = {}
    for name, members in servers.items():
        found = meta.load(document(**members), folder=name)
        entries[name] = Entry(found.id, found, members.get("fault"))
    made = registry.build(Reading(entries, fault, loaded=True))
    return catalogue.build(made, findings or {}, max_length=64, now_s=0.0)


def build(made: Catalogue, previous: Report | None = None, now: str = EARLY) -> Report:
    return reporting.build(made, previous, myself=MYSELF, now=now)


def test_a_served_server_is_reported_with_everything_the_operator_writes() -> None:
    made = build(
        snapshot(
            {"tools/github": offering("search", "star")},
            github={
                "namespace": "tools",
                "uid": "u-1",
                "generation": 3,
                "allowedTools": ["search", "missing"],
            },
        )
    )

    (server,) = made.servers
    assert (made.instance, made.started_at) == ("router-1", "2026-01-01T00:00:00Z")
    assert (server.id, server.uid, server.generation) == ("tools/github", "u-1", 3)
    assert (server.state, server.reason, server.prefix) == (State.SERVING, None, "github")
    assert (server.protocol_version, server.server_info) == (
        "2025-11-25",
        ServerInfo(name="upstream", version="1.0"),
    )
    assert [tool.exposed_name for tool in server.tools] == ["github.search"]
    assert server.tool_count == 1
    assert server.unmatched_allowed_tools == ("missing",)
    assert server.schema_bytes > 0
    assert server.since == EARLY


def test_what_is_left_out_and_what_is_flagged_is_reported_with_what_would_be_approved() -> None:
    read = {"name": "read", "inputSchema": {"type": "object"}, "title": "a\u202eb"}
    finding = Finding(
        offer.read(
            Listing(
                (
                    *(
                        json.dumps({"name": tool, "inputSchema": {"type": "object"}}).encode()
                        for tool in ("list", "Iist", "delete")
                    ),
                    json.dumps(read).encode(),
                ),
                "2025-11-25",
            )
        ),
        None,
    )
    members = {"tools": [{"name": "delete", "hide": True}], "definitions": {"policy": "Enforce"}}
    warned = members | {"definitions": {"policy": "Warn"}}

    enforced, told = build(snapshot({"a": finding, "b": finding}, a=members, b=warned)).servers

    approved = {tool.name: tool.digest for tool in told.tools}
    assert (enforced.state, enforced.reason, enforced.tool_count) == ("Skipped", "NoTools", 0)
    assert {(tool.name, tool.reason, tool.digest) for tool in enforced.skipped_tools} == {
        ("list", "DefinitionChanged", approved["list"]),
        ("Iist", "DefinitionChanged", approved["Iist"]),
        ("delete", "HiddenByOwner", None),
        ("read", "HiddenText", None),
    }
    assert enforced.flagged_tools == ()
    assert (told.state, told.reason) == ("Serving", None)
    assert {(tool.name, tool.reason, tool.digest) for tool in told.flagged_tools} == {
        ("list", "DefinitionChanged", approved["list"]),
        ("Iist", "DefinitionChanged", approved["Iist"]),
        ("list", "ConfusableName", None),
        ("Iist", "ConfusableName", None),
    }
    assert report.load(report.dump(build(snapshot({"a": finding}, a=warned)))) == build(
        snapshot({"a": finding}, a=warned)
    )


@pytest.mark.parametrize("name", ["a\u3000b", "a\u00a0b", "\ue000", "x" * 128])
def test_what_waits_for_approval_is_named_as_it_is_approved(name: str) -> None:
    enforcing = {"definitions": {"policy": "Enforce"}}

    made = build(snapshot({"a": offering(name)}, a=enforcing))

    assert report.load(report.dump(made)) == made
    assert [(tool.name, tool.reason) for tool in made.servers[0].skipped_tools] == [
        (name, "DefinitionChanged")
    ]


def test_every_server_is_reported_in_order_with_its_state_and_reason() -> None:
    made = build(
        snapshot(
            {
                "b": offering("x"),
                "c": Finding(None, Skip(ServerReason.UNREACHABLE, "refused")),
            },
            e={"url": ""},
            a={},
            d={"suspend": True},
            c={},
            b={},
        )
    )

    assert [(server.id, server.state, server.reason) for server in made.servers] == [
        ("a", State.PENDING, "Pending"),
        ("b", State.SERVING, None),
        ("c", State.SKIPPED, "Unreachable"),
        ("d", State.SUSPENDED, "Suspended"),
        ("e", State.SKIPPED, "NoUrl"),
    ]


def test_the_fault_of_the_set_is_told() -> None:
    made = build(snapshot(fault="the directory is empty", a={}))

    assert made.fault == "the directory is empty"


def test_a_held_file_is_told_although_the_server_is_served() -> None:
    made = build(snapshot({"a": offering("x")}, a={"fault": "meta.json: is not JSON"}))

    assert made.servers[0].state is State.SERVING
    assert made.servers[0].reason == "InvalidMeta"
    assert made.servers[0].message
    assert "is not JSON" in made.servers[0].message


def test_the_report_survives_the_wire() -> None:
    made = build(snapshot({"a": offering("x")}, a={}, b={"url": ""}))

    assert report.load(report.dump(made)) == made


def test_equal_snapshots_make_the_very_same_report() -> None:
    first = build(snapshot({"a": offering("x")}, a={}))

    assert build(snapshot({"a": offering("x")}, a={}), first, LATE) is first


@pytest.mark.parametrize(
    ("findings", "members"),
    [
        ({"a": offering("x", "y")}, {}),
        ({"a": offering()}, {}),
        ({"a": Finding(None, Skip(ServerReason.TIMEOUT, "late"))}, {}),
        ({"a": offering("x")}, {"generation": 2}),
        ({"a": offering("x")}, {"suspend": True}),
    ],
    ids=["another-tool", "no-tools", "fails", "another-generation", "suspended"],
)
def test_since_moves_when_the_entry_changes_and_only_its_own(
    findings: dict[str, Finding], members: dict[str, Any]
) -> None:
    other = {"b": offering("z")}
    first = build(snapshot({"a": offering("x"), **other}, a={"generation": 1}, b={}))
    second = build(
        snapshot({**findings, **other}, a={"generation": 1, **members}, b={}), first, LATE
    )

    assert [server.since for server in second.servers] == [LATE, EARLY]
    assert second.servers[1] is first.servers[1]


def test_a_server_that_comes_back_begins_anew() -> None:
    first = build(snapshot({"a": offering("x")}, a={}))
    gone = build(snapshot(), first, EARLY)
    back = build(snapshot({"a": offering("x")}, a={}), gone, LATE)

    assert back.servers[0].since == LATE


GITHUB = Known(server("tools/github"), found("search", "delete"))


def test_a_view_is_reported_with_what_it_holds_and_what_it_names_in_vain() -> None:
    named = catalogues.view(servers=["github", "gone"], tools=["github.s*", "x.*"])
    assert named.meta
    known = named.meta.model_copy(update={"uid": "u-1", "generation": 3})
    snapshot = built(GITHUB, views=[NamedView(named.id, known)])
    made = build(snapshot)

    (found_view,) = made.views
    assert (found_view.id, found_view.uid, found_view.generation) == ("tools/support", "u-1", 3)
    assert (found_view.state, found_view.message) == (State.SERVING, None)
    assert found_view.digest == view.digest(known)
    assert found_view.revision == snapshot.views["tools/support"].revision
    assert found_view.tool_count == 1
    assert 0 < found_view.schema_bytes < made.servers[0].schema_bytes
    assert found_view.unmatched_servers == ("gone",)
    assert found_view.unmatched_tools == ("x.*",)
    assert found_view.since == EARLY
    assert report.load(report.dump(made)) == made


def test_a_view_that_cannot_be_used_is_skipped_and_one_that_is_held_serves_and_says_why() -> None:
    made = build(
        built(
            GITHUB,
            views=[
                NamedView("tools/never", None, "view.json: is not JSON"),
                catalogues.view("tools/newer", out="requires: this router does not know moods"),
                catalogues.view("tools/held", fault="view.json: is not JSON; the last good"),
            ],
        )
    )

    assert [(each.id, each.state, each.message, each.tool_count) for each in made.views] == [
        ("tools/held", State.SERVING, "view.json: is not JSON; the last good", 2),
        ("tools/never", State.SKIPPED, "view.json: is not JSON", 0),
        ("tools/newer", State.SKIPPED, "requires: this router does not know moods", 0),
    ]
    assert [each.digest is None for each in made.views] == [False, True, True]


def test_only_the_view_that_changed_is_told_anew() -> None:
    history = History()
    first = build(built(GITHUB, views=[catalogues.view(), catalogues.view("tools/other")]))
    history.add(first)
    assert history.newest
    tag = history.newest.tag
    edited = [catalogues.view(tools=["github.s*"]), catalogues.view("tools/new")]
    second = build(built(GITHUB, views=edited), first, LATE)
    history.add(second)
    change = history.since(tag)

    assert isinstance(change, Change)
    assert [each.id for each in change.changed_views] == ["tools/new", "tools/support"]
    assert change.removed_views == ("tools/other",)
    assert change.changed == ()
    assert report.apply(first, change) == second
    assert [each.since for each in second.views] == [LATE, LATE]
    assert build(built(GITHUB, views=edited), second, "later still") is second


def test_a_view_that_did_not_change_stays_the_very_same_entry() -> None:
    named = [catalogues.view(servers=["other"]), catalogues.view("tools/new")]
    first = build(built(GITHUB, views=named))
    second = build(built(Known(GITHUB.server, found("x")), views=named), first, LATE)

    assert second.views[1] is first.views[1]
    assert [(each.id, each.since) for each in second.views] == [
        ("tools/new", LATE),
        ("tools/support", EARLY),
    ]


def test_nothing_is_told_before_the_first_report() -> None:
    history = History()

    assert history.newest is None
    with pytest.raises(LookupError):
        history.since(None)


def test_an_asker_is_told_what_it_lacks_and_ends_with_the_whole() -> None:
    history = History()
    reports = [build(snapshot({"a": offering("x")}, a={}, b={}))]
    reports.append(build(snapshot({"a": offering("x", "y")}, a={}, b={}), reports[0], LATE))
    reports.append(build(snapshot({"a": offering("x", "y")}, a={}), reports[1], LATE))
    tags = []
    for made in reports:
        history.add(made)
        assert history.newest
        tags.append(history.newest.tag)

    for tag, had in zip(tags, reports, strict=True):
        change = history.since(tag)
        assert isinstance(change, Change)
        assert report.apply(had, change) == reports[-1]
    assert len(set(tags)) == 3


def test_only_what_changed_is_told() -> None:
    history = History()
    first = build(snapshot({"a": offering("x")}, a={}, b={}, c={}))
    history.add(first)
    assert history.newest
    tag = history.newest.tag
    history.add(build(snapshot({"a": offering("x", "y")}, a={}, b={}), first, LATE))
    change = history.since(tag)

    assert isinstance(change, Change)
    assert [server.id for server in change.changed] == ["a"]
    assert change.removed == ("c",)


@pytest.mark.parametrize("tag", [None, "", "router-0.1", "router-1.0"])
def test_an_unknown_tag_gets_the_whole(tag: str | None) -> None:
    history = History()
    made = build(snapshot(a={}))
    history.add(made)

    assert history.since(tag) is made


def test_a_tag_too_old_gets_the_whole() -> None:
    history = History(remembered=2)
    tags = []
    for number in range(3):
        history.add(build(snapshot(a={"generation": number})))
        assert history.newest
        tags.append(history.newest.tag)

    assert isinstance(history.since(tags[0]), Report)
    assert isinstance(history.since(tags[1]), Change)
