"""What each revision's agents are told of a result: the table, row by row."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import spelled
from bench.spelled import Whole
from pointsman_contract import rawjson
from pointsman_router import translation
from pointsman_router.eras import LEGACY, Revision
from pointsman_router.upstream.asking import Notice

INFO = b'{"name":"pointsman","version":"1"}'
OLD, JUNE, NOVEMBER, MODERN = (
    Revision.V2025_03_26,
    Revision.V2025_06_18,
    Revision.V2025_11_25,
    Revision.MODERN,
)
LINK = b'{"type":"resource_link","uri":"file:///a","name":"a","icons":[],"annotations":{"p":1.0}}'


def told(raw: bytes, revision: Revision, *, is_plain: bool = True) -> bytes:
    return translation.result(
        raw, revision, is_plain=is_plain, server_info=INFO, declared=b'{"roots":{}}'
    )


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            b'{"content":[],"resultType":"complete","ttlMs":5,"cacheScope":"public"}',
            dict.fromkeys(LEGACY, b'{"content":[]}'),
            id="what every legacy revision lacks",
        ),
        pytest.param(
            b'{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{},"a.example/x":1.0}}',
            dict.fromkeys(LEGACY, b'{"content":[],"_meta":{"a.example/x":1.0}}'),
            id="the protocol's own keys",
        ),
        pytest.param(
            b'{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}',
            dict.fromkeys(LEGACY, b'{"content":[]}'),
            id="nothing is left of _meta",
        ),
        pytest.param(
            b'{"content":[],"structuredContent":{"n":1.0}}',
            {
                OLD: b'{"content":[]}',
                JUNE: b'{"content":[],"structuredContent":{"n":1.0}}',
                NOVEMBER: b'{"content":[],"structuredContent":{"n":1.0}}',
            },
            id="structure",
        ),
        pytest.param(
            b'{"content":[],"structuredContent":[1.0]}',
            dict.fromkeys(LEGACY, b'{"content":[]}'),
            id="structure that is no object",
        ),
        pytest.param(
            b'{"content":[' + LINK + b',{"type":"text","text":"icons"}]}',
            {
                OLD: b'{"content":[{"type":"text","text":"file:///a","annotations":{"p":1.0}},'
                b'{"type":"text","text":"icons"}]}',
                JUNE: b'{"content":[{"type":"resource_link","uri":"file:///a","name":"a",'
                b'"annotations":{"p":1.0}},{"type":"text","text":"icons"}]}',
                NOVEMBER: b'{"content":[' + LINK + b',{"type":"text","text":"icons"}]}',
            },
            id="a link",
        ),
        pytest.param(
            rb'{"content":[{"type":"resource\u005flink","uri":"file:///a"}]}',
            {OLD: b'{"content":[{"type":"text","text":"file:///a"}]}'},
            id="a link that escapes hide",
        ),
        pytest.param(
            rb'{"content":[],"result\u0054ype":"complete"}',
            dict.fromkeys(LEGACY, b'{"content":[]}'),
            id="a member that escapes hide",
        ),
        pytest.param(
            b'{"content":5,"structuredContent":{}}',
            {OLD: b'{"content":5}'},
            id="content that is none",
        ),
    ],
)
@pytest.mark.parametrize("size", ["short", "long"])
def test_what_a_revision_cannot_know_is_removed_and_all_else_stays(
    raw: bytes, expected: dict[Revision, bytes], size: str
) -> None:
    padding = b',"x":"' + b"y" * 10_000 + b'"' if size == "long" else b""
    for revision, left in expected.items():
        assert told(raw[:-1] + padding + b"}", revision) == left[:-1] + padding + b"}"


@pytest.mark.parametrize("revision", sorted(LEGACY))
def test_structure_of_a_schema_that_is_not_shown_is_not_shown(revision: Revision) -> None:
    raw = b'{"content":[],"structuredContent":{"n":1}}'

    assert told(raw, revision, is_plain=False) == b'{"content":[]}'
    assert b"structuredContent" in told(raw, MODERN, is_plain=False)


@pytest.mark.parametrize("kind", ["input_required", "of_tomorrow"])
def test_a_result_that_only_newer_agents_understand_is_not_passed_off_as_one(kind: str) -> None:
    wish = b'{"a":{"method":"roots/list"}}'
    raw = b'{"resultType":"%b","inputRequests":%b,"requestState":"s"}' % (kind.encode(), wish)

    for revision in LEGACY:
        with pytest.raises(translation.CannotBeTold):
            told(raw, revision)
    modern = rawjson.members(told(raw, MODERN))
    assert modern.items() >= rawjson.members(raw).items()


@pytest.mark.parametrize(
    "raw", [b"{}", b'{"content":[]}', b'{ "content" : [ ] }', b'{"content":[],"_meta":null}']
)
def test_a_modern_result_is_whole_whatever_its_upstream_left_out(raw: bytes) -> None:
    members = json.loads(told(raw, MODERN))

    assert members["resultType"] == "complete"
    assert members["_meta"] == {"io.modelcontextprotocol/serverInfo": json.loads(INFO)}


def test_nobody_but_the_router_says_who_the_server_is() -> None:
    raw = (
        b'{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"up"},"pointsman.dev/x":1,'
        b'"v":1.0},"content":[]}'
    )
    meta = rawjson.members(rawjson.members(told(raw, MODERN))["_meta"])

    assert meta == {"io.modelcontextprotocol/serverInfo": INFO, "v": b"1.0"}


JUDGED = {
    "_meta": ["null", "{}", '{"a.example/x":1.0}', '{"io.modelcontextprotocol/x":1,"v":2}', "5"],
    "content": ["[]", "5", '[{"type":"resource_link","uri":"file:///a","name":"a","icons":[]}]'],
    "structuredContent": ["{}", "[1.0]", '{"resultType":1}'],
    "resultType": ['"complete"', "null", '"input_required"'],
    "ttlMs": ["5"],
    "cacheScope": ['"public"'],
    "isError": ["true"],
}


@st.composite
def results(draw: st.DrawFn) -> bytes:
    """Results with and without the members that some revision judges, short and long."""
    names = draw(st.lists(st.sampled_from(sorted(JUDGED)), unique=True, max_size=3))
    members = [(name, draw(st.sampled_from(JUDGED[name]))) for name in names]
    members += draw(st.lists(st.sampled_from([("x", '"_meta"'), ("x", "1"), ("y", "{}")])))
    if draw(st.booleans()):
        members.append(("z", f'"{"y" * 5000}"'))
    written = []
    for name, value in draw(st.permutations(members)):
        escaped = f"\\u{ord(name[0]):04x}{name[1:]}" if draw(st.integers(0, 15)) == 0 else name
        written.append(f'"{escaped}"{draw(st.sampled_from(["", " "]))}:{value}')
    return f"{{{', '.join(written)}}}".encode()


@pytest.mark.parametrize("revision", [*sorted(LEGACY), MODERN])
@given(results(), st.booleans())
def test_what_is_told_without_cutting_is_what_cutting_would_tell(
    revision: Revision, raw: bytes, is_plain: bool
) -> None:
    try:
        uncut: object = told(raw, revision, is_plain=is_plain)
    except ValueError as refused:
        uncut = type(refused), str(refused)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation, "_needs_nothing", lambda raw, revision: False)
        try:
            cut: object = told(raw, revision, is_plain=is_plain)
        except ValueError as refused:
            cut = type(refused), str(refused)

    if revision is MODERN and isinstance(uncut, bytes) and isinstance(cut, bytes):
        # What every result needs stands in front of the others, or behind them.
        assert sorted(rawjson.pairs(uncut)) == sorted(rawjson.pairs(cut))
    else:
        assert uncut == cut


@pytest.mark.parametrize(
    ("raw", "revision", "uncut"),
    [
        pytest.param(b'{"x":1%b}', NOVEMBER, True, id="no name that counts"),
        pytest.param(b'{"content":[]%b}', NOVEMBER, True, id="content where all kinds are known"),
        pytest.param(b'{"content":[]%b}', JUNE, True, id="no content of a kind that is not known"),
        pytest.param(b'{"content":["resource_link"]%b}', JUNE, False, id="content of such a kind"),
        pytest.param(b'{"content":["ttlMs"]%b}', NOVEMBER, True, id="a word further inside"),
        pytest.param(b'{"ttlMs":1%b}', NOVEMBER, False, id="a name that counts"),
        pytest.param(b'{"ttlMs":1%b}', MODERN, True, id="a name that counts for others"),
        pytest.param(rb'{"\u005fmeta":{}%b}', MODERN, False, id="a name that counts, escaped"),
        pytest.param(rb'{"x":"\ud800"%b}', MODERN, False, id="half a surrogate pair"),
    ],
)
def test_a_long_result_is_cut_only_for_the_names_that_count(
    raw: bytes, revision: Revision, uncut: bool
) -> None:
    whole = raw % (b',"z":"%b"' % (b"y" * 5000))

    assert translation._needs_nothing(whole, revision) is uncut


def test_what_was_read_keeps_a_member_that_nothing_depends_on_as_often_as_it_came() -> None:
    raw = b'{"contents":[],"y":1,"y":2,"ttlMs":-1}'

    told = translation.cacheable(raw)

    assert told == b'{"contents":[],"y":1,"y":2,"ttlMs":0,"cacheScope":"private"}'


def test_a_prompt_shows_no_link_in_any_spelling_to_agents_without_links() -> None:
    block = rb'{"type":"resource\u005flink","uri":"file:///a","name":"a"}'
    raw = b'{"messages":[{"role":"user","content":%b}],"y":1,"y":2}' % block

    told = translation.prompt(raw, Revision.V2025_03_26)

    assert b"link" not in told
    assert told.endswith(b'"y":1,"y":2}')


@given(spelled.objects(with_half_pairs=True))
def test_a_result_stays_byte_for_byte_where_nothing_is_removed(whole: Whole) -> None:
    raw = rawjson.assemble({"content": whole.data.strip(), "isError": b"true"})

    assert told(raw, NOVEMBER) == raw
    assert rawjson.members(told(raw, MODERN))["content"] == whole.data.strip()


@pytest.mark.parametrize("raw", [b"[]", b"5", b'"{}"', b'{"_meta":{},"_meta":{}}', b'{"_meta":5}'])
@pytest.mark.parametrize("revision", [NOVEMBER, MODERN])
def test_a_result_that_is_none_is_malformed(raw: bytes, revision: Revision) -> None:
    with pytest.raises(rawjson.Malformed):
        told(raw, revision)


# --- what comes before a result


@pytest.mark.parametrize("token", [b"7", b'"7"', rb'"\u00fc"', b"0"])
def test_progress_carries_the_agents_token_as_it_spelled_it(token: bytes) -> None:
    said = Notice("notifications/progress", {"progress": b"1.0", "total": b"1e400"})

    assert translation.notice(said, MODERN, token) == (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
        + token
        + b',"progress":1.0,"total":1e400}}'
    )


def test_progress_of_a_call_that_asked_for_none_is_not_told() -> None:
    assert translation.notice(Notice("notifications/progress", {}), MODERN, None) is None


@pytest.mark.parametrize("revision", [OLD, MODERN])
def test_a_log_message_loses_only_what_is_not_for_the_agent(revision: Revision) -> None:
    meta = b'{"io.modelcontextprotocol/x":1,"pointsman.dev/x":1,"v":1.0}'
    said = Notice("notifications/message", {"level": b'"info"', "data": b"-0", "_meta": meta})

    params = rawjson.members(
        rawjson.members(translation.notice(said, revision, None) or b"")["params"]
    )

    kept = {"v": b"1.0"} | ({"io.modelcontextprotocol/x": b"1"} if revision is MODERN else {})
    assert params["data"] == b"-0"
    assert rawjson.members(params["_meta"]) == kept
