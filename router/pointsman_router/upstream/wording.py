"""A request that was spelled but for its id and its arguments."""

import msgspec

from pointsman_router.upstream.era import Terms

# What stands in for what is still open. JSON as the router spells it holds no such character, and
# what agents wrote stands behind both.
OPEN_ID = "\0id"
OPEN_ARGUMENTS = b"\0arguments"


class Wording(msgspec.Struct, frozen=True):
    """The bytes of a request around its open places."""

    terms: Terms
    """In which it is worded."""
    head: bytes
    """Up to the digits of the length of the body."""
    before: bytes
    between: bytes
    """Of the id and the arguments."""
    behind: bytes
    body_bytes: int
    """How long the body is without its id and its arguments."""

    def spelled(self, id_: str, arguments: bytes) -> bytes:
        """Return the request; `id_` needs no escape in JSON."""
        return b"%b%d\r\n\r\n%b%b%b%b%b" % (
            self.head,
            self.body_bytes + len(id_) + len(arguments),
            self.before,
            id_.encode(),
            self.between,
            arguments,
            self.behind,
        )


def worded(terms: Terms, head: bytes, body: bytes) -> Wording:
    """Return the wording of a request whose body holds both marks, once each and in that order."""
    before, _, rest = body.partition(OPEN_ID.encode())
    between, mark, behind = rest.partition(OPEN_ARGUMENTS)
    assert mark, "both places are open"
    return Wording(terms, head, before, between, behind, len(before) + len(between) + len(behind))
