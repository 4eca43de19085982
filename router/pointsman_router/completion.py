"""What a completion is asked for, and how its owner is asked for the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_router import refusals
from pointsman_router.entrycheck import Kind
from pointsman_router.refusals import Refusal

# By the type that a reference states: what it names, and in which member.
_REFERENCES = {"ref/prompt": (Kind.PROMPT, "name"), "ref/resource": (Kind.TEMPLATE, "uri")}


@dataclass(frozen=True, slots=True)
class Asked:
    """A value wanted for an argument of something that a list shows."""

    kind: Kind
    name: str
    """The exposed name of a prompt; a template, or the URI that it has become."""
    params: Mapping[str, bytes]


def read(params: Mapping[str, bytes]) -> Asked | Refusal:
    """Return what `completion/complete` is asked for with these parameters."""
    try:
        reference = rawjson.members(params.get("ref", b"null"))
        stated = _REFERENCES.get(rawjson.string(reference.get("type", b"null")))
        if stated is None:
            return refusals.invalid_params("params.ref.type must be ref/prompt or ref/resource.")
        kind, member = stated
        name = rawjson.string(reference.get(member, b"null"))
    except rawjson.Malformed:
        return refusals.invalid_params("params.ref must say its type and what it refers to.")
    if rawjson.kind(params.get("argument", b"null")) != "{":
        return refusals.invalid_params("params.argument must be an object.")
    return Asked(kind, name, params)


def own_params(asked: Asked, name: str) -> Mapping[str, bytes]:
    """Return the parameters that an upstream understands, which knows it by `name`."""
    if name == asked.name:
        return asked.params
    member = next(key for kind, key in _REFERENCES.values() if kind is asked.kind)
    reference = dict(rawjson.pairs(asked.params["ref"])) | {member: rawjson.quote(name)}
    return {**asked.params, "ref": rawjson.assemble(reference)}
