"""What a person sees: lines and tables, coloured only on a terminal."""

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Wide enough that nothing is ever cut where a program reads along.
_UNBOUNDED = 100_000
# A last column that is narrower than this is read one word a line.
_LAST_MIN_WIDTH = 24
_GAP = 2


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
        """Show rows of cells, each a text and its style, under the names of their columns.

        Only the last column is fitted to the terminal, where there is room for it beside the
        others: a name that is cut cannot be called. Else whole lines are left to the terminal.
        """
        cells = [[Text(printable(text), style) for text, style in row] for row in rows]
        widths = [
            max(cell_len(line) for cell in column for line in str(cell).split("\n"))
            for column in zip(columns, *cells, strict=True)
        ]
        whole = sum(widths) + _GAP * (len(widths) - 1)
        needed = whole - max(0, widths[-1] - _LAST_MIN_WIDTH)
        table = Table(
            box=None,
            pad_edge=False,
            padding=(0, _GAP, 0, 0),
            header_style="bold",
            width=whole if needed > self._console.width else None,
        )
        for column in columns[:-1]:
            table.add_column(column, no_wrap=True)
        table.add_column(columns[-1], overflow="fold")
        for row in cells:
            table.add_row(*row)
        with self._console.capture() as captured:
            self._console.print(table, crop=False)
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
