"""What a person sees: lines and tables, coloured only on a terminal."""

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Wide enough that nothing is ever cut where a program reads along.
_UNBOUNDED = 100_000


class Screen:
    """One stream that is written to, and whether a person looks at it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._console = Console(
            file=stream,
            highlight=False,
            markup=False,
            emoji=False,
            width=None if stream.isatty() else _UNBOUNDED,
        )

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self._console.is_terminal

    def line(self, text: str = "", style: str = "") -> None:
        """Show one line, and what follows of it."""
        self._console.print(Text(printable(text), style), soft_wrap=True)

    def text(self, text: str) -> None:
        """Show a text that came from elsewhere; a program that reads along gets it unchanged."""
        self.verbatim(f"{printable(text) if self.is_terminal else text}\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[tuple[str, str]]]) -> None:
        """Show rows of cells, each a text and its style, under the names of their columns."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for number, column in enumerate(columns, start=1):
            is_last = number == len(columns)
            table.add_column(column, no_wrap=not is_last, overflow="fold")
        for row in rows:
            table.add_row(*(Text(printable(text), style) for text, style in row))
        with self._console.capture() as captured:
            self._console.print(table)
        for line in captured.get().splitlines():
            self.verbatim(line.rstrip() + "\n")

    def verbatim(self, text: str) -> None:
        """Write a text as it is; what no encoding can hold is replaced."""
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()


def printable(text: str) -> str:
    """Return what a terminal may be sent of a foreign text: nothing that moves its cursor."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "·" for character in text
    )
