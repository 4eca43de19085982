"""What a router reports, and how a later report follows from an earlier one and a change."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import report
from pointsman_contract.report import (
    Change,
    ExposedTool,
    Report,
    ServerInfo,
    ServerReason,
    ServerReport,
    SkippedTool,
    State,
    ToolReason,
    ViewReport,
)

GOLDEN = Path(__file__).parent / "golden"

REPORT = Report(
    instance="router-7d9c-x2x",
    started_at="2026-11-30T20:00:00Z",
    catalogue="78ce14aa8a7be6e9",
    fault="the directory is empty",
    servers=(
        ServerReport(
            id="dev/search",
            state=State.SKIPPED,
            reason=ServerReason.NO_TOOLS_ALLOWED,
            message="allowedTools is empty: name the tools that agents may call",
            since="2026-11-30T20:00:01Z",
        ),
        ServerReport(
            id="tools/github",
            uid="0a8b6f0e-5a3c-4c8e-9d8f-2b1d3c4e5f60",
            generation=3,
            state=State.SERVING,
            prefix="github",
            protocol_version="2025-11-25",
            server_info=ServerInfo(name="GitHub", version="1.2.3"),
            tool_count=1,
            tools=(
                ExposedTool(
                    name="create.issue",
                    exposed_name="github.create.issue",
                    safe_name="github__create_issue_8a1c2f3d",
                    digest="sha256:00",
                ),
            ),
            skipped_tools=(
                SkippedTool(
                    name="größe",
                    reason=ToolReason.INVALID_SCHEMA,
                    message="inputSchema must be an object",
                ),
            ),
            flagged_tools=(
                SkippedTool(
                    name="create.issue",
                    reason=ToolReason.DEFINITION_CHANGED,
                    message="its definition is not the approved one",
                    digest="sha256:00",
                ),
            ),
            unmatched_allowed_tools=("delete_repo",),
            schema_bytes=2048,
            since="2026-11-30T20:00:02Z",
        ),
    ),
    views=(
        ViewReport(
            id="tools/support",
            uid="5f60b1d3-4e2c-4c8e-9d8f-2b1d3c4e0a8b",
            generation=1,
            digest="5c1d1f0a9b8e7d6c",
            state=State.SERVING,
            revision="78ce14aa8a7be6e9",
            tool_count=1,
            schema_bytes=2048,
            unmatched_servers=("wiki",),
            unmatched_tools=("wiki.*",),
            since="2026-11-30T20:00:02Z",
        ),
    ),
)
CHANGE = Change(
    instance="router-7d9c-x2x",
    started_at="2026-11-30T20:00:00Z",
    catalogue="e3b0c44298fc1c14",
    changed=(
        ServerReport(
            id="dev/search",
            state=State.PENDING,
            reason=ServerReason.PENDING,
            message="not listed yet",
            since="2026-11-30T20:05:00Z",
        ),
    ),
    removed=("tools/github",),
    changed_views=(
        ViewReport(
            id="dev/all",
            state=State.SKIPPED,
            message="tools: must be a list",
            since="2026-11-30T20:05:00Z",
        ),
    ),
    removed_views=("tools/support",),
)


@pytest.mark.parametrize(
    ("document", "golden"),
    [
        pytest.param(REPORT, "report.json", id="whole"),
        pytest.param(CHANGE, "change.json", id="change"),
    ],
)
def test_a_report_is_the_golden_one_to_the_byte_and_is_read_back(
    document: Report | Change, golden: str
) -> None:
    assert report.dump(document) == (GOLDEN / golden).read_bytes()
    assert report.load((GOLDEN / golden).read_bytes()) == document


def test_members_of_a_later_version_are_ignored() -> None:
    text = (GOLDEN / "report.json").read_text()
    later = text.replace('"state"', '"mood":"fine","state"').replace("{", '{"new":[],', 1)

    assert report.load(later.encode()) == REPORT


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>", id="a page"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b'{"instance":"a","startedAt":"b","catalogue":"c"}', id="neither of both"),
        pytest.param(b'{"servers":[]}', id="a report of nobody"),
        pytest.param(b'{"changed":[],"removed":[]}', id="a change of nobody's"),
        pytest.param(
            (GOLDEN / "report.json").read_bytes().replace(b'"Serving"', b'"Dancing"'),
            id="a state that is none",
        ),
        pytest.param(
            (GOLDEN / "report.json").read_bytes().replace(b'"toolCount":1', b'"toolCount":-1'),
            id="a negative count",
        ),
        pytest.param((GOLDEN / "report.json").read_bytes()[:-1], id="one that was cut"),
    ],
)
def test_anything_else_is_no_report(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the promise is no narrower
        report.load(data)


@pytest.mark.parametrize("name", ["servers", "changed", "removed"])
def test_a_tool_called_like_a_member_makes_no_report_another(name: str) -> None:
    tool = ExposedTool(name=name, exposed_name=f"x.{name}", safe_name=f"x__{name}", digest="d")
    server = ServerReport(id="x", state=State.SERVING, tools=(tool,), tool_count=1, since="s")
    whole = Report(instance="a", started_at="b", catalogue="c", servers=(server,))
    change = Change(instance="a", started_at="b", catalogue="c", changed=(server,))

    assert report.load(report.dump(whole)) == whole
    assert report.load(report.dump(change)) == change


TEXTS = st.text(max_size=8)
SERVERS = st.builds(
    ServerReport,
    id=st.sampled_from(["a", "b", "c/d", "c/e", "z"]),
    generation=st.none() | st.integers(0, 3),
    state=st.sampled_from(State),
    message=st.none() | TEXTS,
    unmatched_allowed_tools=st.lists(TEXTS, max_size=2).map(tuple),
    schema_bytes=st.integers(0, 2),
    since=st.sampled_from(["1", "2"]),
)
REPORTS = st.builds(
    Report,
    instance=st.sampled_from(["i", "j"]),
    started_at=st.just("s"),
    catalogue=TEXTS,
    fault=st.none() | TEXTS,
    servers=st.lists(SERVERS, max_size=5, unique_by=lambda server: server.id).map(
        lambda servers: tuple(sorted(servers, key=lambda server: server.id))
    ),
)


@given(REPORTS, REPORTS)
def test_a_report_and_its_difference_make_the_next(old: Report, new: Report) -> None:
    change = report.load(report.dump(report.difference(old, new)))

    assert isinstance(change, Change)
    assert report.apply(old, change) == new


@given(REPORTS)
def test_nothing_has_changed_between_equal_reports(one: Report) -> None:
    change = report.difference(one, one)

    assert (change.changed, change.removed) == ((), ())


@given(REPORTS, REPORTS)
def test_a_change_holds_what_changed_and_no_more(old: Report, new: Report) -> None:
    change = report.difference(old, new)
    before = {server.id: server for server in old.servers}
    after = {server.id: server for server in new.servers}

    assert {server.id for server in change.changed} == {
        name for name, server in after.items() if before.get(name) != server
    }
    assert set(change.removed) == set(before) - set(after)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain words", "plain words", id="plain"),
        pytest.param("größe 日本 😀", "größe 日本 😀", id="beyond ASCII"),
        pytest.param("a\nb\tc\x00d", "a·b·c·d", id="control characters"),
        pytest.param("\x1b[31mred", "·[31mred", id="an escape sequence"),
        pytest.param("a\u202eb\u200bc\u2028d", "a·b·c·d", id="hidden characters"),
        pytest.param("a\ud800b", "a·b", id="half of a surrogate pair"),
        pytest.param("x" * 120, "x" * 120, id="as long as may be"),
        pytest.param("x" * 121, "x" * 119 + "…", id="longer"),
    ],
)
def test_a_foreign_text_is_shown_on_one_line_of_bounded_length(text: str, shown: str) -> None:
    assert report.printable(text) == shown


@given(st.text(st.characters()))
def test_whatever_is_shown_is_printable(text: str) -> None:
    shown = report.printable(text)

    assert shown.isprintable()
    assert len(shown) <= report.FOREIGN_TEXT_MAX_LENGTH


def test_the_states_and_reasons_are_these() -> None:
    assert [*State] == ["Serving", "Stale", "Pending", "Skipped", "Suspended"]
    assert " ".join(ServerReason) == (
        "InvalidMeta NeedsNewerRouter OAuthUnsupported CredentialUnsupported NoUrl InvalidUrl"
        " DestinationDenied PrefixConflict Suspended NoToolsAllowed NoToolsMatched Pending"
        " Unreachable Timeout TlsFailed UpstreamHttpError UpstreamAuthRequired UpstreamThrottled"
        " UpstreamRpcError ProtocolViolation UnsupportedProtocol NoTools ListTooLarge CursorLoop"
    )
    assert " ".join(ToolReason) == (
        "InvalidName DuplicateName NameCollision InvalidSchema InvalidHeaderAnnotation HiddenText"
        " DefinitionChanged TooLarge HiddenByOwner ConfusableName"
    )
