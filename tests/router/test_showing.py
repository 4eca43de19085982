"""What the page may be asked for, and in which form it answers."""

import pytest

from bench.catalogues import Known, built, found, server
from pointsman_contract import overview
from pointsman_contract.overview import Next
from pointsman_router import reporting, showing
from pointsman_router.panorama import FILTER_MAX_LENGTH, Moment, Wish
from pointsman_router.reporting import Self


@pytest.fixture
def moment() -> Moment:
    made = built(Known(server("tools/github"), found("search")))
    report = reporting.build(made, None, myself=Self("i", "then"), now="now")
    return Moment(made, report)


@pytest.mark.parametrize(
    ("query", "wish"),
    [
        ([], Wish()),
        ([("q", " git hub ")], Wish(filter="git hub")),
        ([("server", "a/b")], Wish(server="a/b")),
        ([("server", "")], Wish()),
        ([("tools", "1"), ("after", "a/b")], Wish(tools=True, after=Next("a/b"))),
        ([("after", "a"), ("after_tools", "200")], Wish(after=Next("a", 200))),
        ([("after", "a"), ("after_tools", "0")], Wish(after=Next("a", 0))),
        ([("utm", "1"), ("utm", "2")], Wish()),
    ],
    ids=["nothing", "filter", "server", "no server", "part", "in a server", "its first", "foreign"],
)
def test_a_query_is_a_wish(query: list[tuple[str, str]], wish: Wish) -> None:
    assert showing.wish(query) == wish


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ([("q", "a"), ("q", "b")], "q must be there once"),
        ([("server", "a"), ("server", "a")], "server must be there once"),
        ([("q", "x" * (FILTER_MAX_LENGTH + 1))], "q must hold at most 400 characters"),
        ([("tools", "all")], "tools must be 1 or absent"),
        ([("after_tools", "2")], "after_tools must stand beside after"),
        ([("after", "a"), ("after_tools", "x")], "after_tools must be a number"),
        ([("after", "a"), ("after_tools", "-1")], "after_tools must be a number"),
        ([("after", "a"), ("after_tools", "²")], "after_tools must be a number"),
    ],
    ids=["twice", "the same twice", "long", "tools", "alone", "a word", "negative", "raised"],
)
def test_a_wrong_parameter_is_named(query: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        showing.wish(query)


@pytest.mark.parametrize(
    ("accept", "wants"),
    [
        ("application/json", True),
        ("Application/JSON;q=0.9, text/plain", True),
        ("text/html,application/json", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_json_is_for_who_names_it_and_no_page(accept: str, wants: bool) -> None:
    assert showing.wants_json(accept) is wants


def test_both_forms_are_of_the_same_data(moment: Moment) -> None:
    as_page = showing.answer(moment, Wish(), as_json=False)
    as_json = showing.answer(moment, Wish(), as_json=True)

    assert (as_page.status, as_json.status) == (200, 200)
    assert b"github__search" in as_page.body
    (told,) = overview.load(as_json.body).servers
    assert told.tools[0].safe_name == "github__search"


@pytest.mark.parametrize("as_json", [False, True], ids=["page", "JSON"])
def test_an_unknown_server_is_not_found(moment: Moment, as_json: bool) -> None:
    answer = showing.answer(moment, Wish(server="tools/gone"), as_json=as_json)

    assert answer.status == 404
    assert b"github" not in answer.body


@pytest.mark.parametrize("as_json", [False, True], ids=["page", "JSON"])
def test_a_browser_may_do_nothing_but_show_it(moment: Moment, as_json: bool) -> None:
    headers = showing.answer(moment, Wish(), as_json=as_json).headers

    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert headers["Content-Security-Policy"].endswith(
        "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Vary"] == "Accept"
