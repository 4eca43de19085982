"""Which documents describe a view, which names it matches, and what is said about the others."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman_contract import view
from pointsman_contract.view import Discovery, InvalidView, NameForm, ViewMeta

GOLDEN = Path(__file__).parent / "golden"
FULL = ViewMeta(
    name="support",
    namespace="tools",
    uid="0a8b6f0e-5a3c-4c8e-9d8f-2b1d3c4e5f60",
    generation=3,
    servers=("tickets", "github"),
    tools=("tickets.*", "github.search", "github__größe*"),
    names=NameForm.BARE,
    discovery=Discovery.SEARCH,
)
SMALL = ViewMeta(name="support", servers=("github",), tools=("*",))


def document(**members: object) -> bytes:
    return json.dumps(members).encode()


def load(data: bytes, folder: str = "support") -> ViewMeta:
    return view.load(data, folder=folder)


def complaint(data: bytes, folder: str = "support") -> str:
    with pytest.raises(InvalidView) as refused:
        view.load(data, folder=folder)
    return str(refused.value)


@pytest.mark.parametrize(
    ("published", "golden"),
    [
        pytest.param(FULL, "view.json", id="every field"),
        pytest.param(SMALL, "view-defaults.json", id="what is needed"),
    ],
)
def test_a_published_view_is_the_golden_one_to_the_byte(published: ViewMeta, golden: str) -> None:
    assert view.dump(published) == (GOLDEN / golden).read_bytes()


def test_the_golden_view_is_read_back() -> None:
    found = load((GOLDEN / "view.json").read_bytes())

    assert found.servers == tuple(sorted(FULL.servers))
    assert found.tools == tuple(sorted(FULL.tools))
    assert (found.names, found.discovery) == (NameForm.BARE, Discovery.SEARCH)
    assert view.digest(found) == view.digest(FULL)


def test_a_view_is_called_by_its_folder_where_it_does_not_say_how() -> None:
    assert load(document(), folder="support").id == "support"
    assert load(document(name="other"), folder="support").id == "other"
    assert load(document(name="other", namespace="tools")).id == "tools/other"


def test_a_view_that_says_nothing_holds_nothing() -> None:
    found = load(document())

    assert (found.servers, found.tools) == ((), ())
    assert (found.names, found.discovery) == (NameForm.PREFIXED, Discovery.LIST)


def test_servers_are_those_of_its_own_namespace() -> None:
    found = load(document(namespace="tools", servers=["github", "tickets"]))

    assert found.server_ids == ("tools/github", "tools/tickets")
    assert load(document(servers=["github"])).server_ids == ("github",)


@pytest.mark.parametrize("field", ["namespace", "uid", "generation"])
def test_null_says_the_same_as_an_absent_field(field: str) -> None:
    assert load(document(**{field: None})) == load(document())


def test_unknown_fields_are_ignored() -> None:
    assert load(document(future={"deep": [1]}, Servers=["x"])) == load(document())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"", "the file", id="an empty file"),
        pytest.param(b"[]", "the file holds no JSON object", id="a list"),
        pytest.param(b'{"name": "a", "name": "b"}', "the file", id="a key twice"),
        pytest.param(b'{"tools": ["' + b"x" * 300_000 + b'"]}', "the file", id="too large"),
        pytest.param(document(schemaVersion=2), "schemaVersion: ", id="a newer schema"),
        pytest.param(document(name="a.b"), "name must be a DNS label", id="a dot in its name"),
        pytest.param(document(name="a/b"), "name must be a DNS label", id="a slash in its name"),
        pytest.param(document(name=""), "name: must not be empty", id="no name"),
        pytest.param(document(namespace="A"), "namespace: must match", id="no namespace's name"),
        pytest.param(document(servers="github"), "servers: must be a list", id="one server"),
        pytest.param(document(servers=None), "servers: must be a list", id="null for servers"),
        pytest.param(document(servers=[""]), "servers[0]: must not be empty", id="a nameless one"),
        pytest.param(
            document(servers=["s"] * 501), "servers: must hold at most 500", id="too many servers"
        ),
        pytest.param(document(tools=[7]), "tools[0]: must be a string", id="a number for a name"),
        pytest.param(document(tools=["a*b"]), "tools[0]: must match", id="a star in the middle"),
        pytest.param(document(tools=["**"]), "tools[0]: must match", id="two stars"),
        pytest.param(document(tools=["a\n"]), "tools[0]: must match", id="a line break"),
        pytest.param(
            document(tools=["t"] * 501), "tools: must hold at most 500", id="too many patterns"
        ),
        pytest.param(
            document(names="bare"), "names: must be 'Prefixed' or 'Bare'", id="an unknown form"
        ),
        pytest.param(
            document(discovery=1), "discovery: must be 'List' or 'Search'", id="no way to find"
        ),
        pytest.param(document(requires="x"), "requires: must be a list", id="requires of text"),
    ],
)
def test_a_wrong_field_makes_the_view_invalid_and_is_named(data: bytes, said: str) -> None:
    assert complaint(data).startswith(said)


def test_a_folder_that_is_no_name_for_a_path_has_to_be_corrected_by_the_document() -> None:
    assert "DNS label" in complaint(document(), folder="tools.support.view")
    assert load(document(name="support"), folder="tools.support.view").name == "support"


def test_what_a_newer_reader_must_know_leaves_only_who_the_view_is() -> None:
    found = load(document(requires=["moods"], tools={"new": "form"}, generation=3))

    assert found.requires == ("moods",)
    assert (found.tools, found.generation) == ((), 3)


def test_equal_views_are_published_in_equal_bytes_and_others_have_another_digest() -> None:
    turned = FULL.model_copy(
        update={"servers": FULL.servers[::-1], "tools": FULL.tools[::-1]},
    )

    assert view.dump(turned) == view.dump(FULL)
    assert view.digest(turned) == view.digest(FULL)
    assert view.digest(FULL.model_copy(update={"servers": ("github",)})) != view.digest(FULL)


CALLED = ("github.search.code", "github.search.code", "github__search_code_1a2b3c4d")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("*", True),
        ("github.*", True),
        ("github.search.code", True),
        ("github.search.code*", True),
        ("github__*", True),
        ("github__search_code_1a2b3c4d", True),
        ("github", False),
        ("github.search", False),
        ("github.search.code.*", False),
        ("search*", False),
        ("GitHub.*", False),
        ("git?ub.*", False),
        (".*", False),
    ],
)
def test_a_pattern_is_a_whole_name_in_either_form_or_how_one_begins(
    pattern: str, matched: bool
) -> None:
    assert view.matches((pattern,), *CALLED) is matched
    assert view.matches(("nothing", pattern), *CALLED) is matched


def test_no_pattern_matches_nothing() -> None:
    assert not view.matches((), *CALLED)


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
VIEWS = st.builds(
    ViewMeta,
    name=NAMES,
    namespace=st.none() | NAMES,
    uid=st.none() | st.text(max_size=9),
    generation=st.none() | st.integers(0, 2**40),
    servers=st.lists(NAMES, max_size=4).map(lambda of: tuple(sorted(of))),
    tools=st.lists(
        st.from_regex(r"[^\x00-\x1f\x7f-\x9f*]{1,9}\*?", fullmatch=True).filter(
            lambda text: text.isprintable()
        ),
        max_size=4,
    ).map(lambda of: tuple(sorted(of))),
    names=st.sampled_from(NameForm),
    discovery=st.sampled_from(Discovery),
)


@given(VIEWS)
def test_what_is_published_is_what_is_read(published: ViewMeta) -> None:
    found = load(view.dump(published), folder="elsewhere")

    assert found == published
    assert view.digest(found) == view.digest(published)
