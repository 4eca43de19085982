"""A JSON object cut into its members, every value left as the bytes it came as."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Never

import msgspec

from pointsman_contract import strictjson

MAX_DEPTH = strictjson.MAX_DEPTH


class Malformed(ValueError):
    """The bytes are not the JSON that was asked for; the message is a constant of ours."""


class _Key(str):
    """A member's name that equals nothing but itself, so that a name given twice is seen twice."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _key(_: type, name: object) -> _Key:
    return _Key(name)


_OBJECT = msgspec.json.Decoder(dict[_Key, msgspec.Raw], dec_hook=_key)
_PLAIN = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_STRING = msgspec.json.Decoder(str)
_BLANK = b" \t\r\n"
# Of a long object the other way to find a name twice is not much slower.
_COUNTED_MAX_BYTES = 16 * 1024


def check(data: bytes) -> bytes:
    """Return `data` if it may be cut up at all: UTF-8, no byte order mark, of bounded depth.

    Asked once at each door, before anything else here. Raises Malformed.
    """
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed("not UTF-8") from None
        if data.startswith(b"\xef\xbb\xbf"):
            raise Malformed("begins with a byte order mark")
    if not is_flat(data) and strictjson.depth(data) > MAX_DEPTH:
        raise Malformed(f"nested deeper than {MAX_DEPTH} levels")
    return data


def is_flat(data: bytes) -> bool:
    """Say whether `data` has too few brackets to be nested too deeply: that costs next to nothing.

    Most bodies are; of others only the whole reading tells.
    """
    if len(data) <= _COUNTED_MAX_BYTES:
        return data.count(b"[") + data.count(b"{") <= MAX_DEPTH
    # Where there are few, looking for the next one is much faster than counting.
    left = MAX_DEPTH
    for bracket in (b"{", b"["):
        at = data.find(bracket)
        while at >= 0:
            left -= 1
            if left < 0:
                return False
            at = data.find(bracket, at + 1)
    return True


def pairs(data: bytes) -> list[tuple[str, bytes]]:
    """Return the members of the object that `data` spells, in order, names given twice included.

    Raises Malformed for anything else than one object.
    """
    try:
        return [(str(name), bytes(value)) for name, value in _OBJECT.decode(data).items()]
    except msgspec.MsgspecError:
        # msgspec refuses half a surrogate pair anywhere; JSON allows it, and servers that cut
        # texts send it.
        if b"\\u" not in data:
            raise Malformed("not a JSON object") from None
    return list(_tolerant_pairs(data.decode("utf-8")))


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of the object that `data` spells; raises Malformed, also for a name twice.

    Readers differ on which of two equal names counts, so nothing may be decided by one.
    """
    if plain := _plain(data):
        return plain
    found = pairs(data)
    result = dict(found)
    if len(result) != len(found):
        raise Malformed("a member is there twice")
    return result


def names(data: bytes) -> Collection[str] | None:
    """Return the members' names of the object that `data` spells, each once, read in one go.

    None where it spells none, and where half a surrogate pair leaves that open.
    """
    try:
        return _PLAIN.decode(data).keys()
    except msgspec.MsgspecError:
        return None


def holds_no_more(data: bytes, needed: int, *values: bytes) -> bool:
    """Say whether `data` is `needed` bytes and, between its tokens, blanks.

    `values` are the parts of it in which there may be others; it may end in a line break.
    """
    blanks = len(data) - needed
    if not blanks:
        return True
    blanks -= len(data) - len(data.rstrip(b"\r\n"))
    for value in values:
        blanks += value.count(b" ")
    return blanks == data.count(b" ")


def items(data: bytes) -> list[bytes]:
    """Return the items of the array that `data` spells; raises Malformed."""
    try:
        return [bytes(item) for item in _ARRAY.decode(data)]
    except msgspec.MsgspecError:
        if b"\\u" not in data:
            raise Malformed("not a JSON array") from None
    return list(_tolerant_items(data.decode("utf-8")))


def string(data: bytes) -> str:
    """Return the string that `data` spells, half surrogate pairs included; raises Malformed."""
    try:
        return _STRING.decode(data)
    except msgspec.MsgspecError:
        pass
    try:
        value = json.loads(data)
    except ValueError:
        raise Malformed("not a JSON string") from None
    if not isinstance(value, str):
        raise Malformed("not a JSON string")
    return value


def kind(data: bytes) -> str:
    """Return the first character of a value: `{`, `[`, `"`, `t`, `f`, `n`, or a number's."""
    return chr(data.lstrip(_BLANK)[0])


def quote(text: str) -> bytes:
    """Return the JSON spelling of `text`."""
    try:
        return msgspec.json.encode(text)
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def assemble(members: Mapping[str, bytes] | Iterable[tuple[str, bytes]]) -> bytes:
    """Return the object with these members, values as they are."""
    named = members.items() if isinstance(members, Mapping) else members
    return b"{" + b",".join(quote(name) + b":" + value for name, value in named) + b"}"


def _plain(data: bytes) -> dict[str, bytes] | None:
    """Return the members of an object without blanks and escapes in names, if it has any.

    Its bytes are as many as its members need, each once: so no name is there twice. Where there
    are blanks between its tokens, as some writers put them, those that are none are counted.
    """
    try:
        found = _PLAIN.decode(data)
    except msgspec.MsgspecError:
        return None
    length = 1
    result = {}
    for name, value in found.items():
        result[name] = raw = bytes(value)
        length += len(name) + len(raw) + 4  # two quotes, a colon, and a comma or the brace
    if length == len(data):
        return result
    if not result or len(data) > _COUNTED_MAX_BYTES:
        return None
    length = 1
    for name, raw in result.items():
        if " " in name:
            return None
        length += len(name) + len(raw.translate(None, _BLANK)) + 4
    return result if length == len(data.translate(None, _BLANK)) else None


def _tolerant_pairs(text: str) -> Iterator[tuple[str, bytes]]:
    position = _after(text, 0, "{")
    if text[position : position + 1] == "}":
        _demand_end(text, position + 1)
        return
    while True:
        name, position = _value(text, position)
        if not isinstance(name, str):
            raise Malformed("not a JSON object")
        begin = _after(text, position, ":")
        _, end = _value(text, begin)
        yield name, text[begin:end].encode()
        position = _skip(text, end)
        if text[position : position + 1] == "}":
            _demand_end(text, position + 1)
            return
        position = _after(text, position, ",")


def _tolerant_items(text: str) -> Iterator[bytes]:
    position = _after(text, 0, "[")
    if text[position : position + 1] == "]":
        _demand_end(text, position + 1)
        return
    while True:
        _, end = _value(text, position)
        yield text[position:end].encode()
        position = _skip(text, end)
        if text[position : position + 1] == "]":
            _demand_end(text, position + 1)
            return
        position = _after(text, position, ",")


def _no_constant(_: str) -> Never:
    raise Malformed("not JSON")


# Only where a value ends is asked: a number of any length is one, whatever it amounts to.
_ENDS = json.JSONDecoder(parse_constant=_no_constant, parse_int=str, parse_float=str)


def _value(text: str, position: int) -> tuple[object, int]:
    try:
        return _ENDS.raw_decode(text, position)
    except ValueError:
        raise Malformed("not JSON") from None


def _after(text: str, position: int, mark: str) -> int:
    position = _skip(text, position)
    if text[position : position + 1] != mark:
        raise Malformed("not JSON")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t", "\r", "\n"):
        position += 1
    return position


def _demand_end(text: str, position: int) -> None:
    if _skip(text, position) != len(text):
        raise Malformed("more than one value")
