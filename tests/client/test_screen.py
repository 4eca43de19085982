"""What a person sees, and what a program that reads along."""

import io

import pytest

from pointsman.screen import Screen, printable

COLUMNS = ("TOOL", "SERVER", "DESCRIPTION")
LONG = "github." + "a" * 57
SENTENCE = "Creates a thing, with all that it takes to make the sentence a long one."


class Terminal(io.StringIO):
    """A terminal of the width that the environment names."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 80 columns, without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    return Terminal()


def table(stream: io.StringIO, *rows: tuple[str, str, str]) -> list[str]:
    Screen(stream).table(COLUMNS, [[(text, "") for text in row] for row in rows])
    return stream.getvalue().splitlines()


def test_a_long_last_column_is_folded_beside_the_others(terminal: Terminal) -> None:
    lines = table(terminal, ("a.b", "server", SENTENCE), ("c.d", "server", "Short."))

    assert max(len(line) for line in lines) <= 80
    assert lines[0].split() == list(COLUMNS)
    assert " ".join(line[lines[0].index("DESC") :].strip() for line in lines[1:3]) == SENTENCE
    assert lines[3].split() == ["c.d", "server", "Short."]


def test_a_name_is_never_cut_however_narrow_the_terminal(terminal: Terminal) -> None:
    rows = [(LONG, "team-platform/github", SENTENCE), ("a.b", "c", "Short.")]

    lines = table(terminal, *rows)

    assert len(lines) == 1 + len(rows)
    assert lines[1].split(maxsplit=2) == list(rows[0])


def test_a_program_gets_one_line_a_row() -> None:
    lines = table(io.StringIO(), ("a.b", "c", SENTENCE * 5))

    assert lines[1].split(maxsplit=2) == ["a.b", "c", SENTENCE * 5]


def test_a_cell_of_several_lines_stays_beside_its_row(terminal: Terminal) -> None:
    lines = table(terminal, ("a\nbc", "d", "e"))

    assert [line.split() for line in lines[1:]] == [["a", "d", "e"], ["bc"]]


def test_a_foreign_text_reaches_a_program_unchanged_and_a_terminal_tamed(
    terminal: Terminal,
) -> None:
    text = "one\u2028two\x1b[31m"
    pipe = io.StringIO()

    Screen(pipe).text(text)
    Screen(terminal).text(text)

    assert pipe.getvalue() == f"{text}\n"
    assert terminal.getvalue() == "one·two·[31m\n"


def test_what_the_encoding_cannot_hold_is_replaced() -> None:
    written = io.BytesIO()
    screen = Screen(io.TextIOWrapper(written, encoding="latin-1", newline=""))

    screen.text("a→\udcff")

    assert written.getvalue() == b"a??\n"


def test_what_moves_the_cursor_is_not_printable() -> None:
    assert printable("a\tb\nc\r\x07\x9b\u202e") == "a\tb\nc····"
