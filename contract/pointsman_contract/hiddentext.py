"""Whether a text carries characters that a person does not see and a model reads.

What people write with is not hidden: tabs and line ends, joiners inside emoji and joining scripts,
one variation selector behind what has such a variant, flags, direction marks in text that runs from
right to left.
"""

import re
import unicodedata

# U+200C and U+200D: both in scripts whose letters join or stack, the second inside an emoji too.
_JOINERS = "\u200c\u200d"
_EMOJI_JOINER = "\u200d"
# By blocks: Arabic to Syriac, N'Ko and Mandaic; India and Sri Lanka; Tibet and Myanmar; Khmer and
# Mongolian; Tai Tham to Batak; Vedic; Phags-pa to Myanmar; Meetei; Arabic's forms; Manichaean,
# Pahlavi, Rohingya, Sogdian to Elymaic; Brahmi and its kin; Adlam.
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\u1a20-\u1bff\u1cd0-\u1cff"
    "\ua840-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010ac0-\U00010aff"
    "\U00010b80-\U00010baf\U00010d00-\U00010d3f\U00010f30-\U00010fff\U00011000-\U00011fff"
    "\U0001e900-\U0001e95f]"
)
# U+200E, U+200F, U+061C: they order neighbours, and override nothing.
_DIRECTION_MARKS = "\u200e\u200f\u061c"
# Number and abbreviation signs: of category Cf, and visible.
_VISIBLE_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
_LAYOUT = frozenset("\t\n\r")
# They show nothing, although Unicode files them as letters, marks, symbols, or not at all: the
# combining joiner, fillers, inherent vowels, a note without a head, the empty pattern of Braille,
# unassigned default ignorables.
FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2065\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6"
    "\ufff7\ufff8\U00016fe4\U0001d159\u2800"
)
# The first and the last of 240: they could hold a byte behind each character, and nothing but
# ideographs has use for them.
_IDEOGRAPHIC_SELECTORS = ("\U000e0100", "\U000e01ef")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# U+FE0E and U+FE0F, as text and as emoji: behind symbols, and what of emoji-variation-sequences.txt
# is none; a keycap is written with one behind it, too.
_PRESENTATION_SELECTORS = "\ufe0e\ufe0f"
_PRESENTED = frozenset("0123456789#*\u203c\u2049\u20e3\u2139\u3030\u303d")
# U+FE00 to U+FE0D. The blocks of StandardizedVariants.txt (Unicode 16) beside ideographs: zero, in
# two widths; quotation marks and East Asian punctuation; mathematics and its script letters;
# Myanmar; Sibe; Phags-pa; Manichaean; hieroglyphs.
_VARIED = re.compile(
    "[0\uff10\u2018\u2019\u201c\u201d\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f"
    "\u210b\u2110\u2112\u211b\u212c\u2130\u2131\u2133\u2200-\u22ff\u2a00-\u2aff"
    "\U0001d49c-\U0001d4b5\u1000-\u109f\uaa60-\uaa7f\u1800-\u180a\ua840-\ua877"
    "\U00010ac0-\U00010aff\U00013000-\U000143ff]"
)
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
        return not _joins(character, before, after)
    if character in _DIRECTION_MARKS:
        return (before != "" and before in _DIRECTION_MARKS) or not from_right
    first, last = _IDEOGRAPHIC_SELECTORS
    if first <= character <= last:
        return not _IDEOGRAPH.match(before)
    if character in _PRESENTATION_SELECTORS:
        return not (before in _PRESENTED or _is_symbol(before))
    if "\ufe00" <= character <= "\ufe0d":
        return not (_VARIED.match(before) or _IDEOGRAPH.match(before))
    if character in _MONGOLIAN_SELECTORS:
        return not "\u1820" <= before <= "\u18aa"
    if character in FILLERS or "\U000e0000" <= character <= "\U000e0fff":
        return True
    return unicodedata.category(character) in ("Cc", "Cf")


def _joins(joiner: str, before: str, after: str) -> bool:
    """Say whether a joiner has a meaning between its neighbours."""
    if _is_joined_letter(before) and _is_joined_letter(after):
        return True
    return joiner == _EMOJI_JOINER and all(
        neighbour == "\ufe0f" or _is_symbol(neighbour) for neighbour in (before, after)
    )


def _is_joined_letter(neighbour: str) -> bool:
    return bool(_JOINING.match(neighbour)) and unicodedata.category(neighbour)[0] in "LM"


def _is_symbol(neighbour: str) -> bool:
    return (
        neighbour > "\x7f"
        and neighbour not in FILLERS
        and unicodedata.category(neighbour).startswith("S")
    )


def _runs_from_right(text: str) -> bool:
    return any(
        unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        for character in text
        if character not in _DIRECTION_MARKS
    )
