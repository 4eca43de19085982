"""JSON in every spelling that the grammar allows, beside what it says."""

import json
from dataclasses import dataclass

from hypothesis import strategies as st

_BLANKS = st.text(alphabet=" \t\r\n", max_size=2)
_DIGITS = st.text(alphabet="0123456789", min_size=1, max_size=25)
_WHOLE = st.one_of(
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["0", "-0", "9007199254740993", "9" * 5000]),
)
_NUMBERS = st.one_of(
    _WHOLE,
    st.builds("{}.{}".format, _WHOLE, _DIGITS),
    st.builds("{}{}{}".format, _WHOLE, st.sampled_from(["e", "E", "e+", "E-"]), _DIGITS),
    st.sampled_from(["1e400", "-1E+0400", "1.0", "0.10"]),
)
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\b": "\\b", "\f": "\\f"}


@st.composite
def _spellings(draw: st.DrawFn, text: str) -> str:
    """One way to write `text` down: some characters as themselves, some escaped."""
    written = []
    for character in text:
        must_escape = character in '"\\' or character < " " or "\ud800" <= character <= "\udfff"
        escaped = json.dumps(character)[1:-1]
        if escaped == character:
            escaped = f"\\u{ord(character):04X}"
        choices = [escaped, _SHORT_ESCAPES.get(character, escaped)]
        if not must_escape:
            choices.append(character)
        written.append(draw(st.sampled_from(choices)))
    return f'"{"".join(written)}"'


def texts(*, with_half_pairs: bool = False) -> st.SearchStrategy[str]:
    """Texts of any characters; by default none that UTF-8 cannot carry."""
    carried = st.characters(codec="utf-8")
    every = st.characters(exclude_categories=[])
    return st.text(every if with_half_pairs else carried, max_size=8)


def strings(*, with_half_pairs: bool = False) -> st.SearchStrategy[str]:
    """JSON strings."""
    return texts(with_half_pairs=with_half_pairs).flatmap(_spellings)


def values(*, with_half_pairs: bool = False) -> st.SearchStrategy[str]:
    """JSON values."""
    leaves = st.one_of(
        st.sampled_from(["null", "true", "false"]),
        _NUMBERS,
        strings(with_half_pairs=with_half_pairs),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            _arrays(inner), _objects(strings(with_half_pairs=with_half_pairs), inner)
        ),
        max_leaves=6,
    )


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(inner, max_size=3))
    padded = (f"{draw(_BLANKS)}{item}{draw(_BLANKS)}" for item in items)
    return f"[{','.join(padded) or draw(_BLANKS)}]"


@st.composite
def _objects(draw: st.DrawFn, names: st.SearchStrategy[str], inner: st.SearchStrategy[str]) -> str:
    members = draw(st.lists(st.tuples(names, inner), max_size=3))
    padded = (
        f"{draw(_BLANKS)}{name}{draw(_BLANKS)}:{draw(_BLANKS)}{value}{draw(_BLANKS)}"
        for name, value in members
    )
    return f"{{{','.join(padded) or draw(_BLANKS)}}}"


@dataclass(frozen=True, slots=True)
class Whole:
    """An object or an array, and the parts that it is made of."""

    data: bytes
    parts: list[tuple[str, bytes]]
    """Each member's name and value as written; an array's items have no name."""


@st.composite
def objects(draw: st.DrawFn, *, with_half_pairs: bool = False) -> Whole:
    """Objects, names given twice included."""
    names = texts(with_half_pairs=with_half_pairs)
    members = draw(st.lists(st.tuples(names, values(with_half_pairs=with_half_pairs)), max_size=5))
    written = (
        f"{draw(_BLANKS)}{draw(_spellings(name))}{draw(_BLANKS)}:{draw(_BLANKS)}{value}"
        f"{draw(_BLANKS)}"
        for name, value in members
    )
    text = f"{draw(_BLANKS)}{{{','.join(written) or draw(_BLANKS)}}}{draw(_BLANKS)}"
    return Whole(text.encode(), [(joined(name), value.encode()) for name, value in members])


@st.composite
def arrays(draw: st.DrawFn, *, with_half_pairs: bool = False) -> Whole:
    """Arrays."""
    items = draw(st.lists(values(with_half_pairs=with_half_pairs), max_size=5))
    written = (f"{draw(_BLANKS)}{item}{draw(_BLANKS)}" for item in items)
    text = f"{draw(_BLANKS)}[{','.join(written) or draw(_BLANKS)}]{draw(_BLANKS)}"
    return Whole(text.encode(), [("", item.encode()) for item in items])


def joined(text: str) -> str:
    """What JSON reads where the two halves of a pair were written one after the other."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
