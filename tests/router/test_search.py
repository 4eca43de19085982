"""Which tools a few words find, and in which order."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalogues import Known, built, built_of, definition, found, server
from bench.toolbox import TOOLBOX, toolbox
from pointsman_router.catalogue import Catalogue
from pointsman_router.listing import Form, Line
from pointsman_router.search import TEXT_MAX_LENGTH, WORDS_MAX, Index

CATALOGUE = built(*toolbox())
LINES = CATALOGUE.lines[Form.DOTTED]
INDEX = Index(LINES, Form.DOTTED)
WORDS = sorted(
    {word for tools in TOOLBOX.values() for text in tools.values() for word in text.split()}
)


def names(tools: Sequence[Line], form: Form = Form.DOTTED) -> list[str]:
    return [line.names[form] for line in tools]


def best(query: str, limit: int = 3, index: Index = INDEX) -> list[str]:
    return names(index.find(query, limit).tools)


def of(*tools: str | bytes) -> Index:
    """The index of one server's tools."""
    return indexed(built_of(server(), found(*tools)))


def indexed(made: Catalogue) -> Index:
    return Index(made.lines[Form.DOTTED], Form.DOTTED)


def test_there_are_tools_enough_to_be_lost_among() -> None:
    assert len(LINES) == 60


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("create github issue", "github.create_issue"),
        ("open a pull request", "github.create_pull_request"),
        ("comment on an issue", "github.add_issue_comment"),
        ("send a message to a slack channel", "slack.slack_post_message"),
        ("read file", "files.read_file"),
        ("rename a file", "files.move_file"),
        ("run sql", "postgres.query"),
        ("columns of a database table", "postgres.describe_table"),
        ("jira ticket", "jira.createIssue"),
        ("move ticket to done", "jira.transitionIssue"),
        ("schedule a meeting", "calendar.create-event"),
        ("send email with attachment", "mail.send_email"),
        ("screenshots", "browser.browser_take_screenshot"),
        ("pod logs", "kubernetes.pods_log"),
        ("what is the weather tomorrow", "weather.forecast"),
        ("refund a customer", "payments.create_refund"),
        ("scaling replicas", "kubernetes.deployments_scale"),
        ("list of commits", "github.list_commits"),
    ],
)
def test_what_is_wanted_is_among_the_first_three(query: str, wanted: str) -> None:
    assert wanted in best(query)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param("files.read_file", "files.read_file", id="a dotted name"),
        pytest.param("files__read_file", "files.read_file", id="a safe name"),
        pytest.param("query", "postgres.query", id="the upstream's own name"),
        pytest.param("  forecast\n", "weather.forecast", id="blanks around it"),
        pytest.param("get create-event search", "calendar.create-event", id="a name among words"),
    ],
)
def test_who_is_named_comes_first(query: str, wanted: str) -> None:
    assert best(query, 20)[0] == wanted


def test_a_name_that_several_servers_have_finds_all_of_them_first() -> None:
    servers = [Known(server(f"tools/{name}"), found("run", "runner")) for name in ("b", "a", "c")]

    found_first = best("run", 3, indexed(built(*servers)))

    assert found_first == ["a.run", "b.run", "c.run"]


@pytest.mark.parametrize("query", ["pull request", "Pull-Request", "pullRequest", "PULL REQUESTS"])
@pytest.mark.parametrize("name", ["get_pull_request", "getPullRequest", "get-pull-request"])
def test_the_words_of_a_name_are_found_however_it_joins_them(name: str, query: str) -> None:
    assert best(query, 3, of(name, "other", "another")) == [f"github.{name}"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        pytest.param("files", "Reads a file", id="many for one"),
        pytest.param("file", "Reads files", id="one for many"),
        pytest.param("creating", "Creates it", id="another form of a verb"),
        pytest.param("repo", "All repositories", id="a beginning"),
        pytest.param("REPOSITORY", "a repository", id="capitals"),
        pytest.param("GitHub", "of github", id="capitals inside"),
        pytest.param("cafe", "Café", id="an accent that is not written"),
        pytest.param("cafe\u0301", "Café", id="an accent that is written apart"),
        pytest.param("天気", "今日の天気予報を表示します", id="words without blanks"),
    ],
)
def test_a_word_of_the_description_finds_its_tool(query: str, text: str) -> None:
    tools = found(definition("wanted", description=text), definition("other", description="none"))

    assert best(query, 3, indexed(built_of(server("tools/up"), tools))) == ["up.wanted"]


@pytest.mark.parametrize(
    "member",
    [
        pytest.param({"title": "Sunshine"}, id="a title"),
        pytest.param({"annotations": {"title": "Sunshine"}}, id="a title of older servers"),
        pytest.param({"description": "Sunshine"}, id="a description"),
        pytest.param({"title": "\U0001f31e Sunshine \U0001f31e"}, id="emoji beside it"),
    ],
)
def test_what_a_tool_says_of_itself_finds_it(member: dict[str, object]) -> None:
    assert best("sunshine", 3, of(definition("it", **member), "other")) == ["github.it"]


ODD = [
    pytest.param({"\U0001f600": 1}, id="an emoji for a name"),
    pytest.param({"annotations": {"\0": 1, "title": "Sunshine"}}, id="an odd name of a hint"),
    pytest.param({"inputSchema": {"type": "object", "\uffff": "\0"}}, id="in a schema"),
    pytest.param({"title": "\U0010ffff"}, id="a noncharacter for a title"),
    pytest.param({"icons": [{"src": "\0", "\uffff": 1}], "\0": 10**400}, id="beside"),
]


@pytest.mark.parametrize("member", ODD)
def test_odd_text_anywhere_costs_nobody_a_search(member: dict[str, object]) -> None:
    index = of(definition("odd", **{"description": "Sunshine"} | member), "other")

    assert best("sunshine", 3, index) == ["github.odd"]
    assert best("other", 3, index) == ["github.other"]


def test_a_tool_whose_words_nobody_can_read_is_found_by_its_name() -> None:
    made = built_of(server(), found(definition("odd", title="Sunshine"), "other"))
    odd, other = made.lines[Form.DOTTED]
    broken = replace(odd, rest=dict.fromkeys(odd.rest, b',"title":}'))
    index = Index([broken, other], Form.DOTTED)

    assert best("sunshine", 3, index) == []
    assert best("odd", 3, index) == ["github.odd"]
    assert best("other", 3, index) == ["github.other"]


def test_only_the_beginning_of_a_very_long_description_is_searched() -> None:
    filler = "x " * (TEXT_MAX_LENGTH // 2)
    index = of(definition("manual", description=f"early {filler} late"))

    assert best("early", 3, index) == ["github.manual"]
    assert best("late", 3, index) == []


def test_a_word_of_the_name_counts_more_than_one_of_the_description() -> None:
    index = of("deploy", definition("a", description="deploy deploy"), definition("b"))

    assert best("deploys", 3, index) == ["github.deploy", "github.a"]


def test_of_very_many_words_the_first_ones_count() -> None:
    many = [f"word{number}" for number in range(WORDS_MAX)]
    index = of(definition("early", description="word0"), definition("late", description="one more"))

    assert best(" ".join([*many, *many, "more"]), 3, index) == ["github.early"]
    assert best(" ".join([*many[1:], "more"]), 3, index) == ["github.late"]


def test_who_answers_equally_well_comes_in_the_order_of_the_names() -> None:
    index = of(*(definition(name, description="the same") for name in ("c", "b", "a")))

    assert best("same", 3, index) == ["github.a", "github.b", "github.c"]


def test_no_more_are_returned_than_asked_and_all_are_counted() -> None:
    found_all, some = INDEX.find("create list", 60), INDEX.find("create list", 2)

    assert len(found_all.tools) == found_all.total == some.total > 10
    assert some.tools == found_all.tools[:2]


def test_a_name_without_a_word_in_it_is_found_and_counted_too() -> None:
    made = built_of(server(), found("--", "word"))
    index = Index(tuple(made.exposures["tools/github"].lines.values()), Form.BARE)

    ranked = index.find("-- word", 5)

    assert names(ranked.tools, Form.BARE) == ["--", "word"]
    assert ranked.total == 2


@pytest.mark.parametrize(
    "query",
    [
        *(
            "",
            " ",
            '"',
            "'",
            "*",
            "^",
            "-",
            "()",
            '""',
            "\x00",
            "\ud800",
            "--",
            ";",
            "%",
            "_",
            "🦆",
        ),
        *("zzzzqqq", 'zzzzqqq"', "zzzzqqq*", '" OR rowid > 0 --', "{name title}: zzzzqqq"),
    ],
)
def test_what_matches_nothing_finds_nothing(query: str) -> None:
    found_here = of("a").find(query.replace("name title", "").replace("OR rowid", ""), 20)

    assert (found_here.tools, found_here.total) == ((), 0)


@pytest.mark.parametrize(
    "query",
    [
        *("file NOT file", "NEAR(file)", "name:file", 'file"', '"file', "file*", "^file", "-file"),
        *("(file", "file)", "file AND zzzzqqq", "{title}:file", "file + zzzzqqq", "file\x00x"),
    ],
)
def test_what_other_searches_take_for_an_instruction_is_a_word_here(query: str) -> None:
    index = of(definition("wanted", description="file"), definition("other", description="none"))

    assert best(query, 3, index) == ["github.wanted"]


def test_nothing_is_found_among_no_tools() -> None:
    assert Index((), Form.DOTTED).find("anything", 5).total == 0


TEXTS = st.one_of(
    st.text(max_size=64),
    st.lists(st.sampled_from([*WORDS, '"', "*", "OR", "AND", "NOT", "NEAR(", ":", "^"])).map(
        " ".join
    ),
)


@given(TEXTS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_any_text_finds_the_same_tools_whatever_order_they_were_in(
    query: str, limit: int, order: random.Random
) -> None:
    shuffled = list(LINES)
    order.shuffle(shuffled)

    one, other = INDEX.find(query, limit), Index(shuffled, Form.DOTTED).find(query, limit)

    assert one == other
    assert set(names(one.tools)) <= set(names(LINES))
    assert len(set(names(one.tools))) == len(one.tools) == min(limit, one.total)


@given(st.text(max_size=32), st.sampled_from(WORDS))
def test_more_words_never_find_less(text: str, word: str) -> None:
    alone, more = INDEX.find(word, 20).total, INDEX.find(f"{word} {text}", 20).total

    assert more >= alone
