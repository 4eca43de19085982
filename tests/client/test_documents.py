"""What the command line reads in a YAML file, and on which line."""

import json
import subprocess

import pytest

from bench import tools
from pointsman import documents
from pointsman.documents import Unreadable

# Words and numbers that readers of YAML disagree about.
SPELLINGS = [
    *("on", "off", "y", "N", "yes", "No", "TRUE", "tRue", "~", "Null", "nULL", "null"),
    *("010", "0o10", "08", "099", "0777", "0x10", "0X1f", "0b11", "0x1g", "-0x10", "+12"),
    *("1_000", "1:30", "190:20:30", "1e3", "12e03", "1.5e+3", "1e-2", ".5", "+.5", "1.", "1.0"),
    *("0.5e", "2026-01-01", "2026-01-01T00:00:00Z", ".nan2", "=", "!!str 5", '"on"', "'1'"),
    *("1234567890123456", "a b", "a#b", "-0", "0", "0.1"),
]


def test_a_value_is_read_as_kubectl_reads_it() -> None:
    data = "".join(f"  k{at}: {spelling}\n" for at, spelling in enumerate(SPELLINGS))
    text = f"apiVersion: v1\nkind: Anything\nmetadata: {{name: x}}\nspec:\n{data}"

    read = documents.read(text.encode())[0].value

    assert isinstance(read, dict)
    assert _typed(read["spec"]) == _typed(_by_kubectl(text)["spec"])


def test_a_key_is_read_as_kubectl_reads_it_or_refused() -> None:
    keys = [key for key in SPELLINGS if key.lower() not in ("~", "null", "!!str 5")]
    items = "".join(f"- {key}: x\n" for key in keys)
    text = f"apiVersion: v1\nkind: Anything\nmetadata: {{name: x}}\nspec:\n{items}"

    read = {key: _read_as_key(key) for key in keys}

    spec = _by_kubectl(text)["spec"]
    assert isinstance(spec, list)
    theirs = dict(zip(keys, (next(iter(item)) for item in spec), strict=True))
    assert {key: name for key, name in read.items() if name is not None} == {
        key: name for key, name in theirs.items() if name == key.strip("\"'")
    }


def _read_as_key(spelled: str) -> str | None:
    """The name that a key gives; None where it is refused."""
    try:
        value = documents.read(f"{spelled}: x\n".encode())[0].value
    except Unreadable:
        return None
    assert isinstance(value, dict)
    return next(iter(value))


def test_json_that_is_indented_by_tabs_is_read_as_kubectl_reads_it() -> None:
    text = (
        '{\n\t"apiVersion": "v1",\n\t"kind": "Anything",\n\t"metadata": {"name": "x"},\n'
        '\t"spec": {\n\t\t"a":\t["\\t", 1.0, true]\n\t}\n}\n'
    )

    (document,) = documents.read(text.encode())

    assert isinstance(document.value, dict)
    assert document.value["spec"] == _by_kubectl(text)["spec"]
    assert document.line_of(("spec", "a")) == 6


def test_anchors_and_merged_keys_are_unfolded_as_kubectl_unfolds_them() -> None:
    text = (
        "apiVersion: v1\nkind: Anything\nmetadata: {name: x}\n"
        "base: &base {a: 1, b: [x]}\nspec: {<<: *base, a: 2, c: *base}\n"
    )

    read = documents.read(text.encode())[0].value

    assert isinstance(read, dict)
    assert read["spec"] == _by_kubectl(text)["spec"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", 3, "the key a is there twice", id="a key twice"),
        pytest.param("a: [1,\nb", 2, "not YAML: expected ',' or ']'", id="an open bracket"),
        pytest.param("{a:\n\tb}", 2, "not YAML: found character '\\t'", id="a tab in braces"),
        pytest.param("a:\n\t- b", 2, "not YAML: found character '\\t'", id="a tab"),
        pytest.param("a: b: c", 1, "not YAML: mapping values", id="a colon too many"),
        pytest.param("a: *b", 1, "not YAML: found undefined alias", id="an alias of nothing"),
        pytest.param("a: &x [*x]", 1, "nested deeper than", id="an alias of itself"),
        pytest.param("[" * 100_000, None, "nested deeper than", id="a hundred thousand brackets"),
        pytest.param("a: .inf", 1, ".inf is no number", id="infinity"),
        pytest.param("a: 1e999", 1, "1e999 is no number", id="a number beyond JSON"),
        pytest.param("a: !secret b", 1, "the tag !secret means nothing", id="a tag"),
        pytest.param("? [a]\n: b", 1, "a key that is no string", id="a list for a key"),
        pytest.param(
            "a: 1\nb: \x01", 2, "a character that YAML does not", id="a control character"
        ),
        pytest.param('a: "\\ud800"', 1, "half of a surrogate pair", id="half a surrogate pair"),
        pytest.param("a: 1\non: 2", 2, "the key on is no string", id="a word for true as key"),
        pytest.param("1e3: 2", 1, "the key 1e3 is no string", id="a number as key, spelled oddly"),
        pytest.param("null: 2", 1, "the key null is no string", id="null as key"),
        pytest.param(".inf: 2", 1, "the key .inf is no string", id="infinity as key"),
        pytest.param("a: b\n<<: c\n", 2, "<< takes one mapping", id="a merge of no mapping"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(
    text: str, line: int | None, message: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        documents.read(text.encode())

    assert caught.value.line == line
    assert caught.value.message.startswith(message)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    with pytest.raises(Unreadable) as caught:
        documents.read(b"a: 1\nb: \xff\n")

    assert (caught.value.line, caught.value.message) == (2, "not UTF-8")


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(Unreadable, match="larger than 1 MiB"):
        documents.read(b"#" * (documents.MAX_BYTES + 1))


def test_aliases_that_unfold_without_end_are_refused() -> None:
    layers = "\n".join(
        f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]" for level in range(1, 9)
    )

    with pytest.raises(Unreadable, match="more than 500000 values"):
        documents.read(f"l0: &l0 [x]\n{layers}\n".encode())


def test_every_document_knows_the_lines_of_its_fields() -> None:
    first, second = documents.read(b"---\n---\na:\n  b: 1\n---\nc:\n- d\n- e: f\n...\n")

    assert first.line_of(("a", "b")) == 4
    assert second.line_of(("c", 1, "e")) == 8


def test_a_field_that_is_not_there_has_the_line_of_what_is_around_it() -> None:
    (document,) = documents.read(b"a: 1\nspec:\n  b: 2\n")

    assert document.line_of(("spec", "url")) == 2
    assert document.line_of(("status",)) == 1


def test_how_a_bare_word_was_spelled_is_remembered() -> None:
    (document,) = documents.read(b'a: [on, "on", plain, 1e3]\n')

    assert document.words == {("a", 0): "on", ("a", 3): "1e3"}


@pytest.mark.parametrize("key", ['"on"', "'1e3'", "1", "true", "1.5", "-2", "plain", "2026-01-01"])
def test_a_key_that_nobody_reads_otherwise_is_taken(key: str) -> None:
    (document,) = documents.read(f"{key}: x\n".encode())

    assert document.value == {key.strip("\"'"): "x"}


def _by_kubectl(text: str) -> dict[str, object]:
    kubectl = tools.control_plane_binary("kubectl")
    printed = subprocess.run(
        [kubectl, "label", "--local", "-f", "-", "read=yes", "-o", "json"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    read = json.loads(printed)
    assert isinstance(read, dict)
    return read


def _typed(value: object) -> object:
    """Tell `1` from `true`, which Python takes for equal."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    return (type(value).__name__, value)
