"""Which names may be taken for each other by whoever reads them.

The table is an excerpt of the confusables of Unicode Technical Standard #39: letters and digits
that look like those of ASCII. Compatibility forms, such as fullwidth ones, need none.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointsman_contract import names as called

_ALIKE = {
    "-": "\u2010\u2012\u2013\u2212",
    ".": "\u0660\u06f0",
    "3": "\u0417\u04e0",
    "4": "\u13ce",
    "6": "\u0431",
    "A": "\u0391\u0410\u13aa",
    "B": "\u0392\u0412\u13f4",
    "C": "\u03f9\u0421\u13df",
    "D": "\u13a0",
    "E": "\u0395\u0415\u13ac",
    "F": "\u03dc",
    "G": "\u050c\u13c0",
    "H": "\u0397\u041d\u13bb",
    "I": "\u0399\u0406\u04c0\u01c0\u05d5\u05df\u0627\u0661\u06f1",
    "J": "\u037f\u0408\u13ab",
    "K": "\u039a\u041a\u13e6",
    "L": "\u13de",
    "M": "\u039c\u03fa\u041c\u13b7",
    "N": "\u039d",
    "O": "\u039f\u041e\u0555",
    "P": "\u03a1\u0420\u13e2",
    "Q": "\u051a",
    "R": "\u13a1\u13d2",
    "S": "\u0405\u054f\u13da",
    "T": "\u03a4\u0422\u13a2",
    "U": "\u054d",
    "V": "\u0474\u13d9",
    "W": "\u051c\u13b3",
    "X": "\u03a7\u0425",
    "Y": "\u03a5\u0423\u04ae",
    "Z": "\u0396\u13c3",
    "a": "\u0251\u03b1\u0430",
    "b": "\u0184\u042c\u13cf",
    "c": "\u03f2\u0441\u1d04",
    "d": "\u0501\u13e7",
    "e": "\u0435\u04bd",
    "f": "\u0584",
    "g": "\u018d\u0261\u0581",
    "h": "\u04bb\u0570\u13c2",
    "i": "\u0131\u0269\u026a\u03b9\u0456",
    "j": "\u03f3\u0458",
    "l": "\u04cf",
    "n": "\u0578\u057c",
    "o": "\u03bf\u03c3\u043e\u0585\u05e1\u0647\u0665\u0966\u0a66\u0ae6\u0e50\u1040\u2c9f",
    "p": "\u03c1\u0440\u2ca3",
    "q": "\u051b\u0563\u0566",
    "r": "\u0433\u1d26\u2c85",
    "s": "\u01bd\u0455\ua731",
    "u": "\u028b\u03c5\u057d\u1d1c",
    "v": "\u03bd\u0475\u05d8\u1d20",
    "w": "\u026f\u0461\u051d\u0561\u1d21",
    "x": "\u0445",
    "y": "\u028f\u03b3\u0443\u04af\u10e7",
    "z": "\u1d22",
}
_FOREIGN = str.maketrans({other: ascii_ for ascii_, others in _ALIKE.items() for other in others})
# Among themselves the letters and digits of ASCII have these; most names hold none of them.
_OWN = str.maketrans("0O1I|", "oolll")
_DOUBTFUL = re.compile(r"[01I|]|[^\x00-\x7f]")
_WORDS = re.compile(r"[^\W\d_]+")
# One letter of another script is a unit or a variable more often than a disguise.
_DISGUISE_MIN_LENGTH = 2

# No list shows a longer one, and to bring many marks in order takes the square of their number.
JUDGED_MAX_LENGTH = called.LISTED_MAX_LENGTH_BOUNDS[1]


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a name looks like."""

    first: str
    """Of the names, the first in their order."""
    count: int
    """How many they are."""


def plain(name: str) -> str:
    """Return a name with a letter of ASCII in place of each that looks like one.

    Of a name that is longer than lists show any, only the beginning.
    """
    judged = name[:JUDGED_MAX_LENGTH]
    if judged.isascii():
        return judged
    # Some letters of the table are compatibility forms of others that look like nothing here.
    return unicodedata.normalize("NFKC", judged.translate(_FOREIGN)).translate(_FOREIGN)


def looks(name: str) -> tuple[str, ...]:
    """Return what a name looks like: two that share one of these may be taken for each other."""
    judged = name[:JUDGED_MAX_LENGTH]
    if not _DOUBTFUL.search(judged):
        return (judged.lower(),)
    return tuple(sorted({plain(judged).casefold(), plainest(judged)}))


def plainest(name: str) -> str:
    """Return the look that two names without capitals share exactly where they are alike."""
    return plain(name).translate(_OWN).casefold()


def likenesses(owners: Mapping[str, str]) -> Mapping[str, Likeness]:
    """Return the names that look like those of other owners.

    It takes no longer where very many look like each other.
    """
    found = {name: looks(name) for name in owners}
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, each in found.items():
        for shared in _shared(each):
            alike[shared].append(name)
    groups = {shared: _Group.of(group, owners) for shared, group in alike.items() if len(group) > 1}
    return {
        name: likeness
        for name, each in found.items()
        if (likeness := _likeness(groups, each, owners[name]))
    }


@dataclass(frozen=True, slots=True)
class _Group:
    """Names that share one look, or both."""

    counts: Mapping[str, int]
    """How many are of each owner."""
    total: int
    first: str
    owner: str
    """Whose the first is."""
    second: str | None
    """The first that is somebody else's."""

    @classmethod
    def of(cls, group: Sequence[str], owners: Mapping[str, str]) -> "_Group":
        first, *others = sorted(group)
        owner = owners[first]
        second = next((name for name in others if owners[name] != owner), None)
        counts = Counter(owners[name] for name in group)
        return cls(counts, len(group), first, owner, second)

    def others(self, owner: str) -> int:
        return self.total - self.counts[owner]

    def first_other(self, owner: str) -> str | None:
        return self.second if owner == self.owner else self.first


def _shared(of: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return each look by itself, and both of a name that has two."""
    return [(look,) for look in of] + ([of] if len(of) > 1 else [])


def _likeness(
    groups: Mapping[tuple[str, ...], _Group], of: tuple[str, ...], owner: str
) -> Likeness | None:
    here = [group for look in of if (group := groups.get((look,)))]
    names = [name for group in here if (name := group.first_other(owner))]
    if not names:
        return None
    # Who shares both looks is in both groups.
    both = groups.get(of) if len(of) > 1 else None
    twice = both.others(owner) if both else 0
    return Likeness(min(names), sum(group.others(owner) for group in here) - twice)


def is_disguised(name: str) -> bool:
    """Say whether some of a name's letters pass for ones of the Latin script beside real ones."""
    judged = name[:JUDGED_MAX_LENGTH]
    if judged.isascii():
        return False
    words = _WORDS.findall(judged)
    return any(map(_holds_latin, words)) and any(map(_is_disguised, words))


def _is_disguised(word: str) -> bool:
    passing = [letter for letter in word if _passes(letter)]
    if _holds_latin(word):
        return bool(passing)
    return len(word) >= _DISGUISE_MIN_LENGTH and len(passing) == len(word)


def _passes(letter: str) -> bool:
    return letter.isalpha() and not _is_latin(letter) and plain(letter).isascii()


def _holds_latin(word: str) -> bool:
    return any(map(_is_latin, word))


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN ")
