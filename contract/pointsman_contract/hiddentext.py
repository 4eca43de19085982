"""Whether a text carries characters that a person does not see and a model reads.

What people write with is not hidden: tabs and line ends, joiners inside emoji and joining scripts,
one variation selector behind what it selects (of the many for ideographs, behind one), flags,
direction marks in text that runs from right to left.
"""

import re
import unicodedata

# U+200C and U+200D: inside an emoji, and in scripts that join.
_JOINERS = "\u200c\u200d"
# U+200E, U+200F, U+061C: they order neighbours, and override nothing.
_DIRECTION_MARKS = "\u200e\u200f\u061c"
# Number and abbreviation signs: of category Cf, and visible.
_VISIBLE_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
_LAYOUT = frozenset("\t\n\r")
# They show nothing, although Unicode files them as letters, marks, symbols, or not at all: the
# combining joiner, fillers, inherent vowels, a note without a head, unassigned default ignorables.
_FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2065\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6"
    "\ufff7\ufff8\U00016fe4\U0001d159"
)
# The first and the last of 240: they could hold a byte behind each character, and nothing but
# ideographs has use for them.
_IDEOGRAPHIC_SELECTORS = ("\U000e0100", "\U000e01ef")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MONGOLIAN_SELECTORS = frozenset("\u180b\u180c\u180d\u180f")
_RIGHT_TO_LEFT = frozenset(["R", "AL", "AN"])
# The three flags that Unicode recommends for interchange: a black flag, and a region in tags.
_FLAGS = re.compile(
    "\U0001f3f4(?:{})\U000e007f".format(
        "|".join(
            "".join(chr(0xE0000 + ord(letter)) for letter in region)
            for region in ("gbeng", "gbsct", "gbwls")
        )
    )
)


def first_hidden(text: str) -> str | None:
    """Return the code point of the first character of `text` that hides, as `U+202E`, or None."""
    if text.isascii() and text.isprintable():
        return None
    text = _FLAGS.sub("\U0001f3f4", text)
    # Asked once: a text may hold a mark behind every letter.
    from_right = any(mark in text for mark in _DIRECTION_MARKS) and _runs_from_right(text)
    for index, character in enumerate(text):
        before = text[index - 1] if index else ""
        after = text[index + 1] if index + 1 < len(text) else ""
        if _hides(character, before, after, from_right=from_right):
            return f"U+{ord(character):04X}"
    return None


def _hides(character: str, before: str, after: str, *, from_right: bool) -> bool:
    if character in _LAYOUT or character in _VISIBLE_FORMATS:
        return False
    if character in _JOINERS:
        return not (_joins(before) and _joins(after))
    if character in _DIRECTION_MARKS:
        return (before != "" and before in _DIRECTION_MARKS) or not from_right
    if _is_ideographic_selector(character):
        return not _IDEOGRAPH.match(before)
    if _is_selector(character):
        return not _is_selectable(before)
    if character in _MONGOLIAN_SELECTORS:
        return not "\u1820" <= before <= "\u18aa"
    if character in _FILLERS or "\U000e0000" <= character <= "\U000e0fff":
        return True
    return unicodedata.category(character) in ("Cc", "Cf")


def _joins(neighbour: str) -> bool:
    """Say whether joiners have a meaning beside `neighbour`: no ASCII, and nothing that hides."""
    if not neighbour or neighbour.isascii() or neighbour in _JOINERS:
        return False
    return neighbour == "\ufe0f" or unicodedata.category(neighbour)[0] in "LMS"


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or _is_ideographic_selector(character)


def _is_ideographic_selector(character: str) -> bool:
    first, last = _IDEOGRAPHIC_SELECTORS
    return first <= character <= last


def _is_selectable(before: str) -> bool:
    """Say whether one variation selector may follow: behind a letter of ASCII nothing varies."""
    if not before or _is_selector(before) or before in _FILLERS:
        return False
    if before.isascii():
        return before in "0123456789#*"
    return unicodedata.category(before)[0] in "LMNPS"


def _runs_from_right(text: str) -> bool:
    return any(
        unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        for character in text
        if character not in _DIRECTION_MARKS
    )
