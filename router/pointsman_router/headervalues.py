"""How a text travels in an HTTP header: as it is where it can, else in base64 between markers."""

import base64
import binascii
import re

_OPENING, _CLOSING = "=?base64?", "?="
_PLAIN = re.compile(r"([!-~]([ -~]*[!-~])?)?", re.ASCII)


def encode(text: str) -> str:
    """Return the header value that spells `text`; raises UnicodeEncodeError for half a pair."""
    if _PLAIN.fullmatch(text) and not _is_marked(text):
        return text
    return f"{_OPENING}{base64.b64encode(text.encode()).decode('ascii')}{_CLOSING}"


def decode(value: str) -> str | None:
    """Return the text that a header value spells; None where its encoding is not canonical."""
    if not _is_marked(value):
        return value
    encoded = value[len(_OPENING) : -len(_CLOSING)].encode("ascii", "replace")
    try:
        raw = base64.b64decode(encoded, validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if base64.b64encode(raw) == encoded else None


def _is_marked(value: str) -> bool:
    return value.startswith(_OPENING) and value.removeprefix(_OPENING).endswith(_CLOSING)
