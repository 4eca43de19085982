"""How the two tools that stand for all others are described, called and answered."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import spelled
from bench.catalogues import built_of, definition, found, server
from bench.spelled import Whole
from pointsman_contract import names, rawjson
from pointsman_router import listing, metatools, toolcheck
from pointsman_router.catalogue import Catalogue
from pointsman_router.eras import Revision
from pointsman_router.listing import Form
from pointsman_router.metatools import FOUND_MAX_BYTES, Called, Found, Search, Wrong
from pointsman_router.offer import TOOL_MAX_BYTES

every_revision = pytest.mark.parametrize("revision", sorted(Revision))
STRUCTURED = {Revision.V2025_06_18, Revision.V2025_11_25, Revision.MODERN}


def search(**arguments: object) -> Search | Called | Wrong | None:
    return metatools.read("search_tools", json.dumps(arguments).encode())


def call(**arguments: object) -> Search | Called | Wrong | None:
    return metatools.read("call_tool", json.dumps(arguments).encode())


def found_in(made: Catalogue, total: int | None = None) -> Found:
    lines = made.lines[Form.DOTTED]
    return Found(lines, Form.DOTTED, len(lines) if total is None else total, made.revision)


def text_of(members: dict[str, bytes]) -> str:
    (block,) = json.loads(members["content"])
    assert block["type"] == "text"
    assert isinstance(block["text"], str)
    return block["text"]


def told(answer: Found, revision: Revision = Revision.MODERN) -> Any:
    return json.loads(text_of(answer.members(revision)))


# --- how they are described


@every_revision
def test_every_agent_gets_two_tools_that_no_strict_client_refuses(revision: Revision) -> None:
    raw = rawjson.items(metatools.definitions(revision))

    tools = [rawjson.members(tool) for tool in raw]
    assert [json.loads(tool["name"]) for tool in tools] == ["search_tools", "call_tool"]
    assert [toolcheck.problem(tool) for tool in tools] == [None, None]
    known = {"name", "description", "inputSchema", "annotations"}
    if revision in STRUCTURED:
        known.add("title")
    assert [set(tool) for tool in tools] == [known, known]


def test_a_search_is_said_to_change_nothing_and_a_call_to_do_anything() -> None:
    tools = json.loads(metatools.definitions(Revision.MODERN))

    hints = [tool["annotations"] for tool in tools]
    assert hints == [
        {"readOnlyHint": True, "openWorldHint": False},
        {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    ]


def test_each_is_described_by_the_other_and_bounded() -> None:
    finds, calls = json.loads(metatools.definitions(Revision.MODERN))

    assert "call_tool" in finds["description"]
    assert "search_tools" in calls["description"]
    bounds = finds["inputSchema"]["properties"]
    assert (bounds["query"]["minLength"], bounds["query"]["maxLength"]) == (1, 256)
    assert (bounds["limit"]["minimum"], bounds["limit"]["maximum"]) == (1, 20)
    assert bounds["limit"]["default"] == metatools.LIMIT == 5
    called = calls["inputSchema"]["properties"]["name"]
    longest = names.of("p" * names.PREFIX_MAX_LENGTH, "t" * names.OWN_MAX_LENGTH)
    assert called["maxLength"] == max(map(len, longest.each))
    assert [tool["inputSchema"]["required"] for tool in (finds, calls)] == [["query"], ["name"]]
    assert {tool["inputSchema"]["additionalProperties"] for tool in (finds, calls)} == {False}


# --- how they are called


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "a"}, Search("a", 5)),
        ({"query": "a", "limit": 1}, Search("a", 1)),
        ({"query": "a", "limit": 20}, Search("a", 20)),
        ({"query": " \n a b\t"}, Search("a b", 5)),
        ({"query": f"  {'x' * 256}  "}, Search("x" * 256, 5)),
        ({"query": "世界 \ud800"}, Search("世界 \ud800", 5)),
    ],
)
def test_a_search_is_a_few_words_and_perhaps_a_limit(
    arguments: dict[str, object], expected: Search
) -> None:
    assert search(**arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param({}, "query", id="nothing"),
        pytest.param({"query": ""}, "query", id="no words"),
        pytest.param({"query": " \n"}, "query", id="blanks"),
        pytest.param({"query": "x" * 257}, "256", id="too many characters"),
        pytest.param({"query": ["a"]}, "query", id="a list of words"),
        pytest.param({"query": None}, "query", id="null"),
        pytest.param({"query": 5}, "query", id="a number"),
        pytest.param({"Query": "a"}, "Query", id="in capitals"),
        pytest.param({"query": "a", "limit": 0}, "limit", id="a limit of 0"),
        pytest.param({"query": "a", "limit": 21}, "limit", id="a limit of 21"),
        pytest.param({"query": "a", "limit": -1}, "limit", id="a negative limit"),
        pytest.param({"query": "a", "limit": 1.5}, "limit", id="half a tool"),
        pytest.param({"query": "a", "limit": 10**400}, "limit", id="a limit of 401 digits"),
        pytest.param({"query": "a", "limit": True}, "limit", id="true for a limit"),
        pytest.param({"query": "a", "limit": "5"}, "limit", id="a limit in quotes"),
        pytest.param({"query": "a", "limit": None}, "limit", id="null for a limit"),
        pytest.param({"query": "a", "top_k": 5}, "top_k", id="another member"),
        pytest.param({"query": "a", "\u202e" * 500: 5}, "·", id="a hidden member"),
    ],
)
def test_a_search_that_makes_no_sense_is_told_what_is_wrong(
    arguments: dict[str, object], named: str
) -> None:
    wrong = search(**arguments)

    assert isinstance(wrong, Wrong)
    assert named in wrong.why
    assert len(wrong.why) < 300
    assert wrong.why.isprintable()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param({}, "name", id="nothing"),
        pytest.param({"name": ""}, "name", id="no name"),
        pytest.param({"name": None}, "name", id="null"),
        pytest.param({"name": ["a"]}, "name", id="a list"),
        pytest.param({"name": "a", "arguments": None}, "arguments", id="null for arguments"),
        pytest.param({"name": "a", "arguments": "{}"}, "arguments", id="arguments in quotes"),
        pytest.param({"name": "a", "arguments": []}, "arguments", id="a list of arguments"),
        pytest.param({"name": "a", "path": "/x"}, "path", id="the tool's own arguments beside"),
    ],
)
def test_a_call_that_makes_no_sense_is_told_what_is_wrong(
    arguments: dict[str, object], named: str
) -> None:
    wrong = call(**arguments)

    assert isinstance(wrong, Wrong)
    assert named in wrong.why
    assert len(wrong.why) < 300


@pytest.mark.parametrize("name", ["search_tools", "call_tool"])
def test_a_member_that_is_there_twice_is_never_chosen_from(name: str) -> None:
    wrong = metatools.read(name, b'{"query":"a","query":"b","name":"a","name":"b"}')

    assert isinstance(wrong, Wrong)
    assert "unique" in wrong.why


@given(spelled.objects())
def test_the_arguments_of_the_tool_that_is_called_are_cut_out_byte_for_byte(whole: Whole) -> None:
    inner = whole.data.strip(b" \t\r\n")

    called = metatools.read("call_tool", b'{ "arguments" : %b , "name": "a.b" }' % inner)

    assert called == Called("a.b", inner)


def test_a_call_without_arguments_has_none() -> None:
    assert call(name="a.b") == Called("a.b", b"{}")


@given(st.text().filter(lambda name: name not in ("search_tools", "call_tool")))
def test_any_other_name_is_another_tools(name: str) -> None:
    assert metatools.read(name, b'{"query":"a","name":"a"}') is None


@every_revision
def test_what_is_wrong_is_a_result_that_says_no(revision: Revision) -> None:
    members = Wrong('so "it" is').members(revision)

    assert members.keys() == {"content", "isError"}
    assert members["isError"] == b"true"
    assert text_of(members) == 'so "it" is'


# --- how they are answered

RICH = definition(
    "rich",
    title="Rich",
    description="ünï \ud83e\udd86",
    outputSchema={"type": "object"},
    icons=[{"src": "a:b"}],
    annotations={"readOnlyHint": True},
    vendor={"n": 1.0},
)


@every_revision
def test_what_is_found_is_what_the_list_shows_byte_for_byte(revision: Revision) -> None:
    made = built_of(server(), found("plain", RICH))

    members = found_in(made).members(revision)

    shown = listing.joined(made.lines[Form.DOTTED], Form.DOTTED, revision).decode()
    whole = f'{{"tools":{shown},"total":2,"catalogue":"{made.revision}"}}'
    assert text_of(members) == whole
    assert members.get("structuredContent", whole.encode()) == whole.encode()
    assert ("structuredContent" in members) == (revision in STRUCTURED)


def test_nothing_found_says_what_to_try() -> None:
    answer = Found((), Form.DOTTED, 0, "0123456789abcdef")

    assert told(answer) == {
        "tools": [],
        "total": 0,
        "catalogue": "0123456789abcdef",
        "hint": told(answer)["hint"],
    }
    assert "other words" in told(answer)["hint"]


@every_revision
def test_an_answer_is_of_bounded_size_and_says_that_it_was_cut(revision: Revision) -> None:
    longest = "x" * (TOOL_MAX_BYTES - 100)
    tools = [definition(f"tool{number}", description=longest) for number in range(10, 30)]
    made = built_of(server(), found(*tools))

    members = found_in(made, 5000).members(revision)

    answer = json.loads(text_of(members))
    assert sum(map(len, members.values())) < 2.1 * FOUND_MAX_BYTES
    assert answer["truncated"] is True
    assert answer["total"] == 5000
    shown = [tool["name"] for tool in answer["tools"]]
    assert shown == ["github.tool10", "github.tool11", "github.tool12"]


def test_the_largest_tool_fits() -> None:
    tool = definition("large")[:-1] + b',"description":"' + b"\\u00fc" * 10_800 + b'"}'
    made = built_of(server(), found(tool))

    answer = told(found_in(made))

    assert TOOL_MAX_BYTES * 0.95 < len(tool) <= TOOL_MAX_BYTES
    assert [len(shown["description"]) for shown in answer["tools"]] == [10_800]
    assert "truncated" not in answer
