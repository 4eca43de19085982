"""The prefix register: which server holds which prefix, also across restarts and brief absences."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pointsman_contract import names, strictjson

DATA_KEY = "prefixes.json"
# What one ConfigMap may hold: some ten thousand claims.
MAX_BYTES = 1024 * 1024


class InvalidRegister(ValueError):
    """The register cannot be read; guessing would hand a name to another tenant."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who holds a prefix."""

    server: str
    """The holder's identity, `namespace/name`: a re-created resource is the same holder."""
    released_at: datetime | None = None
    """Since when the holder has been gone; None while it competes."""


Register = Mapping[str, Claim]


def load(text: str) -> Register:
    """Return the register that `text` holds; raises InvalidRegister."""
    try:
        document = strictjson.loads(text.encode("utf-8", "surrogatepass"), max_bytes=MAX_BYTES)
    except strictjson.NotStrictJSON as exc:
        raise InvalidRegister(f"{DATA_KEY} {exc}") from None
    if not isinstance(document, dict):
        raise InvalidRegister(f"{DATA_KEY} holds no JSON object")
    return {prefix: _claim(prefix, value) for prefix, value in document.items()}


def dump(register: Register) -> str:
    """Return the text of `register`: byte-identical for equal claims."""
    document = {
        prefix: {"server": claim.server}
        | ({"releasedAt": claim.released_at.isoformat()} if claim.released_at else {})
        for prefix, claim in register.items()
    }
    lines = (
        f"  {json.dumps(prefix)}: {json.dumps(document[prefix], sort_keys=True)}"
        for prefix in sorted(document)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _claim(prefix: str, value: strictjson.JSON) -> Claim:
    if not names.is_prefix(prefix):
        raise InvalidRegister(f"{DATA_KEY}: {prefix!r} is no prefix")
    if not isinstance(value, dict) or not isinstance(server := value.get("server"), str):
        raise InvalidRegister(f"{DATA_KEY}: {prefix}.server must be a string")
    released = value.get("releasedAt")
    if released is None:
        return Claim(server)
    try:
        released_at = datetime.fromisoformat(released if isinstance(released, str) else "")
    except ValueError:
        raise InvalidRegister(f"{DATA_KEY}: {prefix}.releasedAt must be a time") from None
    return Claim(server, released_at if released_at.tzinfo else released_at.replace(tzinfo=UTC))
