"""Which objects become which files of a generation."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.published import config_map, document, view_config_map, view_document
from pointsman_contract import labels
from pointsman_mirror import layout
from pointsman_mirror.layout import Published, Reason


def built(*bodies: dict[str, object]) -> layout.Generation:
    return layout.build(layout.from_config_map(body) for body in bodies)


def content(generation: layout.Generation) -> dict[str, bytes]:
    return {file.path: file.content for file in generation.files}


def test_each_server_gets_a_folder_of_its_own_and_the_mark_of_completion_comes_last() -> None:
    generation = built(config_map("tools", "github"), config_map("dev", "search"))

    assert [file.path for file in generation.files] == [
        "dev.search/meta.json",
        "tools.github/meta.json",
        ".complete",
    ]
    assert content(generation)["tools.github/meta.json"] == document("tools", "github").encode()
    assert json.loads(content(generation)[".complete"]) == {"servers": 2, "views": 0}
    assert generation.servers == 2
    assert generation.skipped == ()


def test_a_set_without_servers_is_a_whole_generation_too() -> None:
    generation = built()

    assert content(generation) == {".complete": b'{"servers": 0, "views": 0}\n'}


def test_a_view_gets_a_folder_of_its_own_beside_the_servers_and_is_counted() -> None:
    generation = built(
        config_map("tools", "support"),
        view_config_map("tools", "support"),
        view_config_map("dev", "all"),
    )

    assert [file.path for file in generation.files] == [
        "dev.all.view/view.json",
        "tools.support/meta.json",
        "tools.support.view/view.json",
        ".complete",
    ]
    written = content(generation)
    assert written["tools.support.view/view.json"] == view_document("tools", "support").encode()
    assert json.loads(written[".complete"]) == {"servers": 1, "views": 2}
    assert (generation.servers, generation.views, generation.skipped) == (1, 2, ())


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({labels.VIEW_NAME: None}, f"label {labels.VIEW_NAME} is missing"),
        ({labels.VIEW_NAMESPACE: None}, f"label {labels.VIEW_NAMESPACE} is missing"),
        ({labels.VIEW_NAME: "a.b"}, f"label {labels.VIEW_NAME} must be a DNS label"),
        ({labels.VIEW_NAMESPACE: "../x"}, f"label {labels.VIEW_NAMESPACE} must be a DNS label"),
    ],
    ids=["no name", "no namespace", "a name with a dot", "a namespace that leads out"],
)
def test_a_view_with_wrong_labels_costs_itself_alone(
    label: dict[str, str | None], said: str
) -> None:
    wrong = view_config_map("tools", "support")
    wrong["metadata"]["labels"] |= label
    generation = built(wrong, config_map("tools", "github"), view_config_map("tools", "other"))

    assert (generation.servers, generation.views) == (1, 1)
    (skipped,) = generation.skipped
    assert skipped.reason is Reason.INVALID_LABELS
    assert skipped.message.startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(view_document("dev", "support"), id="the same name elsewhere"),
        pytest.param(view_document("tools", "other"), id="another name here"),
        pytest.param('{"name": "support"}', id="a view without a namespace"),
    ],
)
def test_a_document_that_names_another_view_than_its_labels_is_left_out(text: str) -> None:
    generation = built(view_config_map("tools", "support", text), config_map("tools", "github"))

    assert list(content(generation)) == ["tools.github/meta.json", ".complete"]
    (skipped,) = generation.skipped
    assert skipped.reason is Reason.IDENTITY_MISMATCH
    assert "view.json must name the view" in skipped.message
    assert "tools/support" in skipped.message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tools": "*"}'])
def test_a_bad_view_is_left_to_its_reader_to_judge(text: str) -> None:
    generation = built(view_config_map("tools", "support", text))

    assert content(generation)["tools.support.view/view.json"] == text.encode()
    assert (generation.views, generation.skipped) == (1, ())


def test_a_view_is_read_from_its_own_key_alone() -> None:
    swapped = view_config_map("tools", "support")
    swapped["data"] = {labels.DATA_KEY: document("tools", "support")}

    assert content(built(swapped))["tools.support.view/view.json"] == b""


def test_of_two_objects_for_one_view_the_one_under_the_derived_name_counts() -> None:
    other = view_config_map("tools", "support", object_name="aaa", tools=["evil"])
    generation = built(other, view_config_map("tools", "support"))

    (skipped,) = generation.skipped
    assert (skipped.object_name, skipped.reason) == ("aaa", Reason.DUPLICATE)
    assert labels.view_config_map_name("tools", "support") in skipped.message
    assert b"evil" not in content(generation)["tools.support.view/view.json"]


def test_a_lone_view_and_a_lone_server_of_one_name_share_no_folder() -> None:
    generation = layout.build(
        [
            Published("view.yaml", None, "view", "{}"),
            Published("view.yaml", None, "view", "{}", is_view=True),
            Published("a.yaml", "view", "view", "{}"),
            Published("a.yaml", "view", "view", "{}", is_view=True),
        ]
    )

    assert (generation.servers, generation.views, generation.skipped) == (2, 2, ())
    assert len({file.path.partition("/")[0] for file in generation.files}) == 5
    assert not any(file.path.startswith("..") for file in generation.files)


def test_the_document_is_written_as_it_was_published() -> None:
    text = '{ "url":"http://ümlaut.example/",\n\t"allowedTools" : ["😀"], "x": 1e0 }\r\n'

    generation = built(config_map("tools", "github", text))

    assert content(generation)["tools.github/meta.json"] == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty one"),
        pytest.param("{", id="half a document"),
        pytest.param("[]", id="no object"),
        pytest.param('{"allowedTools": "*"}', id="one with a field of the wrong type"),
        pytest.param('{"name": "github", "name": "other"}', id="one with a key twice"),
        pytest.param('{"pad": "' + "x" * 300_000 + '"}', id="one that is too large"),
    ],
)
def test_a_bad_document_is_left_to_its_reader_to_judge(text: str) -> None:
    generation = built(config_map("tools", "github", text), config_map("dev", "search"))

    assert content(generation)["tools.github/meta.json"] == text.encode()
    assert generation.servers == 2
    assert generation.skipped == ()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"data": {}}, id="without the key"),
        pytest.param({"data": None}, id="without data"),
        pytest.param({"data": {labels.DATA_KEY: 7}}, id="with a number for text"),
        pytest.param({"data": {}, "binaryData": {labels.DATA_KEY: "AAA="}}, id="with binary data"),
    ],
)
def test_an_object_without_its_document_stays_a_server_whose_file_is_faulty(
    body: dict[str, object],
) -> None:
    generation = built(config_map("tools", "github") | body)

    assert content(generation)["tools.github/meta.json"] == b""
    assert generation.servers == 1


def test_of_two_objects_for_one_server_the_one_under_the_derived_name_counts() -> None:
    other = config_map("tools", "github", object_name="aaa", url="http://evil.example/")
    generation = built(other, config_map("tools", "github"))

    assert content(generation)["tools.github/meta.json"] == document("tools", "github").encode()
    (skipped,) = generation.skipped
    assert (skipped.object_name, skipped.reason) == ("aaa", Reason.DUPLICATE)
    assert labels.config_map_name("tools", "github") in skipped.message


def test_two_objects_under_strange_names_publish_nothing_and_are_both_named() -> None:
    generation = built(
        config_map("tools", "github", object_name="one"),
        config_map("tools", "github", object_name="two"),
        config_map("dev", "search"),
    )

    assert list(content(generation)) == ["dev.search/meta.json", ".complete"]
    assert [(item.object_name, item.reason) for item in generation.skipped] == [
        ("one", Reason.DUPLICATE),
        ("two", Reason.DUPLICATE),
    ]


def test_a_lone_object_counts_under_any_name() -> None:
    generation = built(config_map("tools", "github", object_name="written-by-hand"))

    assert generation.servers == 1
    assert generation.skipped == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(document("dev", "search"), id="another server"),
        pytest.param(document("dev", "github"), id="the same name elsewhere"),
        pytest.param(document("tools", "search"), id="another name here"),
        pytest.param('{"name": "github"}', id="a server without a namespace"),
        pytest.param('{"namespace": "tools"}', id="a server without a name"),
        pytest.param('{"namespace": ["tools"], "name": "github"}', id="a list"),
    ],
)
def test_a_document_that_names_another_server_than_its_labels_is_left_out(text: str) -> None:
    generation = built(config_map("tools", "github", text), config_map("dev", "search"))

    assert list(content(generation)) == ["dev.search/meta.json", ".complete"]
    (skipped,) = generation.skipped
    assert skipped.reason is Reason.IDENTITY_MISMATCH
    assert "tools/github" in skipped.message


def test_a_document_that_names_no_server_is_called_by_its_folder() -> None:
    generation = built(config_map("tools", "github", '{"url": "http://mcp.example/mcp"}'))

    assert generation.servers == 1


def test_a_server_without_a_namespace_has_its_name_as_folder() -> None:
    lone = Published("github.yaml", None, "github", '{"name": "github"}')

    generation = layout.build([lone])

    assert [file.path for file in generation.files] == ["github/meta.json", ".complete"]


def test_two_lone_files_for_one_server_publish_nothing() -> None:
    generation = layout.build(Published(name, None, "github", "{}") for name in ("a", "b"))

    assert generation.servers == 0
    assert [item.object_name for item in generation.skipped] == ["a", "b"]


BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "labels", "data", labels.DATA_KEY, labels.SERVER_NAME, "name"]
            )
            | st.text(max_size=8),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(st.sampled_from(["metadata", "data"]), BODIES), max_size=5))
def test_no_object_however_odd_stops_the_others(odd: list[dict[str, object]]) -> None:
    generation = built(*odd, config_map("tools", "github"))

    assert "tools.github/meta.json" in content(generation)


@given(st.lists(st.dictionaries(st.sampled_from(["metadata", "data"]), BODIES), max_size=5))
def test_no_object_however_odd_stops_a_view(odd: list[dict[str, object]]) -> None:
    generation = built(*odd, view_config_map("tools", "support"))

    assert "tools.support.view/view.json" in content(generation)


LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@given(
    st.lists(st.tuples(LABELS, LABELS), max_size=12, unique=True), st.randoms(use_true_random=False)
)
def test_neither_order_nor_neighbours_change_what_a_server_gets(
    servers: list[tuple[str, str]], shuffler: random.Random
) -> None:
    bodies = [config_map(namespace, name) for namespace, name in servers]
    in_order = built(*bodies)
    shuffler.shuffle(bodies)

    assert built(*bodies) == in_order
    assert in_order.servers == len(servers)
    for namespace, name in servers:
        alone = content(built(config_map(namespace, name)))
        path = f"{namespace}.{name}/meta.json"
        assert content(in_order)[path] == alone[path]
