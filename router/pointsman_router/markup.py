"""HTML that no text breaks out of, and in which every character is seen."""

import re
import unicodedata
from collections.abc import Iterable

from pointsman_contract import hiddentext, names

_VOID = frozenset(["br", "hr", "input", "link", "meta"])
_LAYOUT = re.compile("[\t\n\r]+")
# Surrogates cannot be sent, separators break lines where none end, and the rest shows nothing.
_UNSEEN = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
# Letters and marks by name that show nothing either, and variation selectors.
_BLANK = re.compile(f"[{''.join(sorted(names.INVISIBLE))}]")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


NOTHING = Html("")


def element(
    name: str, /, *children: "str | Html | None", **attributes: "str | int | bool | None"
) -> Html:
    """Return an element; children that are no HTML are escaped, as attributes are.

    An attribute that is True stands by its name alone, one that is None or False not at all;
    `class_` is `class`, and other underscores are hyphens.
    """
    head = f"<{name}{''.join(_attribute(*each) for each in attributes.items())}>"
    if name in _VOID:
        return Html(head)
    return Html(f"{head}{joined(children)}</{name}>")


def joined(parts: "Iterable[str | Html | None]") -> Html:
    """Return parts one behind the other, what is no HTML escaped."""
    return Html("".join(_html(part) for part in parts if part is not None))


def foreign(text: str) -> Html:
    """Return a text that others wrote: it orders nothing around it, and hides nothing in it."""
    return element("bdi", visible(text))


def visible(text: str) -> Html:
    """Return a text with the code points of its characters that nobody would see in their place."""
    if _is_plain(text):
        return Html(escape(text))
    return Html("".join(_seen(character) for character in text))


def escape(text: str) -> str:
    """Return a text as it stands between tags and in quoted attributes."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )


def _is_plain(text: str) -> bool:
    if _LAYOUT.sub("", text).isprintable() and not _BLANK.search(text):
        return True
    return hiddentext.first_hidden(text) is None and not any(
        unicodedata.category(character) in ("Cs", "Zl", "Zp") for character in text
    )


def _seen(character: str) -> str:
    if _LAYOUT.match(character):
        return character
    if _BLANK.match(character) or unicodedata.category(character) in _UNSEEN:
        return element("span", f"U+{ord(character):04X}", class_="unseen")
    return escape(character)


def _html(part: "str | Html") -> str:
    return part if isinstance(part, Html) else escape(part)


def _attribute(name: str, value: "str | int | bool | None") -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{escape(str(value))}"'
