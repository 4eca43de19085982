"""Which tools answer a few words, best first.

SQLite's full-text index (FTS5) does the work, in memory. Beside one written in Python it takes a
quarter of the time for 20,000 tools and holds up no other thread meanwhile, and it knows the stems
of words; it costs the image under 2 MiB.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from pointsman_router.eras import Revision
from pointsman_router.listing import Form, Line

# What a tool is for stands at the beginning of its description; what comes after is a manual.
TEXT_MAX_LENGTH = 4096
# A common word costs 10 ms where there are 20,000 tools, and who writes sixteen has said it.
WORDS_MAX = 16
# Shorter beginnings are those of half of all words.
_PREFIX_MIN_LENGTH = 3

# Between the words of `createPullRequest` and of `HTTPServer`.
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Chinese and Japanese put no blanks between words: each character counts as one.
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+")

# Nothing of it is ever on a disk, or has to survive anything.
_SETTINGS = ("journal_mode=OFF", "synchronous=OFF", "temp_store=MEMORY", "secure_delete=OFF")
_TOOLS = (
    "CREATE VIRTUAL TABLE tools USING fts5(name, title, text, content='', "
    "tokenize='porter unicode61 remove_diacritics 2')"
)
_NAMES = "CREATE TABLE called (name TEXT, tool INTEGER, PRIMARY KEY (name, tool)) WITHOUT ROWID"
_ADD_TOOL = "INSERT INTO tools (rowid, name, title, text) VALUES (?, ?, ?, ?)"
_ADD_NAME = "INSERT INTO called (name, tool) VALUES (?, ?)"
# A name says in three words what a description says in fifty.
_BEST = (
    "SELECT rowid, bm25(tools, 10.0, 5.0, 1.0) AS score FROM tools WHERE tools MATCH ? "
    "ORDER BY score, rowid LIMIT ?"
)
_TOTAL = "SELECT count(*) FROM tools WHERE tools MATCH ?"
_IS_AMONG = "SELECT count(*) FROM tools WHERE tools MATCH ? AND rowid = ?"
_CALLED = "SELECT tool FROM called WHERE name = ? ORDER BY tool"
# A phrase without a word, which nothing matches.
_NO_WORD = '""'


class _Hints(msgspec.Struct, frozen=True):
    title: str = ""


class _Described(msgspec.Struct, frozen=True):
    title: str = ""
    description: str = ""
    annotations: _Hints = _Hints()


# The names with the server's words in them, and without.
_WORDED = (Form.DOTTED, Form.BARE)
_DESCRIBED = msgspec.json.Decoder(_Described)


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a query finds."""

    tools: tuple[Line, ...]
    """The best ones."""
    total: int
    """How many there are in all."""


class Index:
    """The words of some tools. Equal tools make an equal index, in whatever order they come.

    Used by the thread that made it.
    """

    def __init__(self, lines: Sequence[Line], form: Form) -> None:
        self._lines = sorted(lines, key=lambda line: line.names[form].encode())
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        for setting in _SETTINGS:
            self._db.execute(f"PRAGMA {setting}")
        for table in (_TOOLS, _NAMES):
            self._db.execute(table)
        self._db.execute("BEGIN")
        self._db.executemany(_ADD_TOOL, self._rows(form))
        self._db.executemany(_ADD_NAME, self._names())
        self._db.execute("COMMIT")

    def find(self, query: str, limit: int) -> Ranked:
        """Return the tools that have a word of `query`, at most `limit`; who is named goes first.

        Each of the first words is one by its stem or its beginning; none is an instruction. Tools
        that answer equally well are in order of their names.
        """
        text = query.encode("utf-8", "replace").decode()
        expression = _expression(text)
        named = self._named(text)
        (total,) = self._db.execute(_TOTAL, (expression,)).fetchone()
        for tool in named:
            (is_among,) = self._db.execute(_IS_AMONG, (expression, tool)).fetchone()
            total += not is_among
        best = self._db.execute(_BEST, (expression, limit))
        found = dict.fromkeys([*named, *(tool for tool, _ in best)])
        return Ranked(tuple(self._lines[tool] for tool in found)[:limit], total)

    def close(self) -> None:
        """Give the memory back."""
        self._db.close()

    def _named(self, text: str) -> list[int]:
        """Return the tools of which `text` is a name, and then those of which a part of it is."""
        found: dict[int, None] = {}
        for name in dict.fromkeys((text.strip(), *text.split())):
            found.update(dict.fromkeys(tool for (tool,) in self._db.execute(_CALLED, (name,))))
        return list(found)

    def _rows(self, form: Form) -> Iterator[tuple[int, str, str, str]]:
        for at, line in enumerate(self._lines):
            # The safe form has the dotted one's words.
            shown = line.names.items()
            called = dict.fromkeys(name for of, name in shown if of in (form, *_WORDED))
            title, text = _told(line)
            yield at, _spread(" ".join(called)), _spread(title), _parted(text[:TEXT_MAX_LENGTH])

    def _names(self) -> Iterator[tuple[str, int]]:
        for at, line in enumerate(self._lines):
            yield from ((name, at) for name in set(line.names.values()))


def _told(line: Line) -> tuple[str, str]:
    """Return title and description of a tool, as agents read them."""
    found = _described(b"{" + line.rest[Revision.MODERN][1:])
    return found.title or found.annotations.title, found.description


def _described(raw: bytes) -> _Described:
    """Return a tool's words: what cannot be read costs the one tool its own, and no other any."""
    try:
        return _DESCRIBED.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _Described()


def _spread(text: str) -> str:
    """Return a text, and again with the words apart that only capitals tell apart."""
    apart = _SEAM.sub(" ", text)
    return _parted(text if apart == text else f"{text} {apart}")


def _parted(text: str) -> str:
    return text if text.isascii() else _IDEOGRAPH.sub(r" \g<0> ", text)


def _expression(query: str) -> str:
    """Return the query for any of the words of a text, each quoted: none has a quote in it."""
    words = _WORD.findall(_spread(unicodedata.normalize("NFC", query)).lower())
    first = islice(dict.fromkeys(words), WORDS_MAX)
    return " OR ".join(_term(word) for word in first) or _NO_WORD


def _term(word: str) -> str:
    return f'"{word}"*' if len(word) >= _PREFIX_MIN_LENGTH else f'"{word}"'
