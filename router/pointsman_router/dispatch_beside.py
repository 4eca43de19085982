"""What is to be done with a request about prompts, resources, templates or completions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pointsman_contract import rawjson
from pointsman_router import completion, jsonrpc, listing, outgoing, prompts, refusals, resources
from pointsman_router.beside import Shown
from pointsman_router.catalogue import Catalogue, prompt_became, uri_became
from pointsman_router.entrycheck import Kind
from pointsman_router.eras import Revision
from pointsman_router.jsonrpc import Request
from pointsman_router.listing import Form, Good
from pointsman_router.outgoing import Forward
from pointsman_router.refusals import Refusal
from pointsman_router.resources import Owner, Suspended, Table

_GET_PARAMS = frozenset(["name", "arguments", "_meta"])
_READ_PARAMS = frozenset(["uri", "_meta"])
_COMPLETE_PARAMS = frozenset(["ref", "argument", "context", "_meta"])
# The member of the result by which each list of URIs goes.
URI_LISTS = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}


@dataclass(frozen=True, slots=True)
class PromptsListed:
    """One page of prompts."""

    prompts: Sequence[listing.Line]
    form: Form
    revision: str
    next_cursor: str | None
    good: Good = listing.EVER_GOOD

    def joined(self, revision: Revision) -> bytes:
        """Return the JSON array of these prompts."""
        return listing.joined(self.prompts, self.form, revision)


@dataclass(frozen=True, slots=True)
class UrisListed:
    """One page of resources, or of templates."""

    member: str
    entries: Sequence[resources.Line]
    revision: str
    next_cursor: str | None
    good: Good = listing.EVER_GOOD

    def joined(self, revision: Revision) -> bytes:
        """Return the JSON array of these entries."""
        return b"[" + b",".join(entry.render(revision) for entry in self.entries) + b"]"


def prompt_lines(catalogue: Catalogue, form: Form, server: str | None) -> Sequence[listing.Line]:
    """Return the prompts that an endpoint lists, in order; `server` is the only one on its own."""
    if server is None:
        return catalogue.beside.prompt_table.lines[form]
    shown = _shown(catalogue, server)
    return shown.prompt_holding.lines if shown else ()


def uri_lines(catalogue: Catalogue, member: str, server: str | None) -> Sequence[resources.Line]:
    """Return the resources, or the templates, that an endpoint lists, in order."""
    table = _table(catalogue, server)
    if table is None:
        return ()
    return table.resources if member == "resources" else table.templates


def list_prompts(
    catalogue: Catalogue, form: Form, server: str | None, cursor: str | None, page_size: int
) -> PromptsListed | Refusal:
    """Answer `prompts/list` from the snapshot; `server` is the only one on its own endpoint."""
    lines = prompt_lines(catalogue, form, server)
    try:
        page = listing.cut(
            lines, f"prompts {form}", lambda line: line.names[form], cursor, page_size
        )
    except listing.UnknownCursor:
        return refusals.unknown_cursor()
    good = listing.Good(catalogue.ttl_ms, catalogue.private)
    return PromptsListed(page.lines, form, catalogue.revision, page.next_cursor, good)


def list_uris(
    catalogue: Catalogue, method: str, server: str | None, cursor: str | None, page_size: int
) -> UrisListed | Refusal:
    """Answer `resources/list` or `resources/templates/list` from the snapshot."""
    member = URI_LISTS[method]
    lines = uri_lines(catalogue, member, server)
    try:
        page = listing.cut(lines, member, lambda line: line.uri, cursor, page_size)
    except listing.UnknownCursor:
        return refusals.unknown_cursor()
    good = listing.Good(catalogue.ttl_ms, catalogue.private)
    return UrisListed(member, page.lines, catalogue.revision, page.next_cursor, good)


def named(params: Mapping[str, bytes], member: str, known: frozenset[str]) -> str | Refusal:
    """Return what a request is about, by the member that says it.

    `known`: members that are spelled in one case.
    """
    if clash := jsonrpc.case_clash(params, known):
        return refusals.invalid_request(f"params.{clash} must be spelled in lower case.")
    try:
        return rawjson.string(params.get(member, b""))
    except rawjson.Malformed:
        return refusals.invalid_params(f"params.{member} must be a string.")


def get_prompt(
    catalogue: Catalogue, server: str | None, request: Request, revision: Revision
) -> Forward | Refusal:
    """Decide where a `prompts/get` goes: by exact look-up of its name, or nowhere."""
    name = named(request.params, "name", _GET_PARAMS)
    if isinstance(name, Refusal):
        return name
    arguments = request.params.get("arguments", b"{}")
    if rawjson.kind(arguments) != "{":
        return refusals.invalid_params("params.arguments must be an object.")
    route = _prompts(catalogue, server).get(name)
    if route is None:
        return refusals.unknown_prompt(name, prompt_became(catalogue, name, server))
    return outgoing.prompt(route, request, is_modern=revision is Revision.MODERN)


def read_resource(
    catalogue: Catalogue, server: str | None, request: Request, revision: Revision
) -> Forward | Refusal:
    """Decide where a `resources/read` goes: to the only owner of its URI, or nowhere."""
    uri = named(request.params, "uri", _READ_PARAMS)
    if isinstance(uri, Refusal):
        return uri
    table = _table(catalogue, server)
    owner = resources.find(table, uri) if table else None
    if owner is None or isinstance(owner, Suspended):
        became = uri_became(catalogue, uri, server, owner.server if owner else None)
        return refusals.unknown_resource(revision, uri, became)
    return outgoing.resource(owner, request, is_modern=revision is Revision.MODERN)


def complete(
    catalogue: Catalogue, server: str | None, request: Request, revision: Revision
) -> Forward | Refusal:
    """Decide where a `completion/complete` goes: to the owner of what it refers to, or nowhere."""
    if clash := jsonrpc.case_clash(request.params, _COMPLETE_PARAMS):
        return refusals.invalid_request(f"params.{clash} must be spelled in lower case.")
    asked = completion.read(request.params)
    if isinstance(asked, Refusal):
        return asked
    is_modern = revision is Revision.MODERN
    if asked.kind is Kind.PROMPT:
        route = _prompts(catalogue, server).get(asked.name)
        if route is None:
            became = prompt_became(catalogue, asked.name, server)
            return refusals.unknown_prompt(asked.name, became)
        params = completion.own_params(asked, route.prompt)
        return outgoing.completion(route, request, params, is_modern=is_modern)
    owner = _template_owner(_table(catalogue, server), asked.name)
    if owner is None or isinstance(owner, Suspended):
        return refusals.unknown_template(asked.name)
    params = completion.own_params(asked, owner.uri)
    return outgoing.completion(owner, request, params, is_modern=is_modern)


def _prompts(catalogue: Catalogue, server: str | None) -> Mapping[str, prompts.Route]:
    if server is None:
        return catalogue.beside.prompt_table.routes
    shown = _shown(catalogue, server)
    return shown.prompt_holding.bare if shown else {}


def _table(catalogue: Catalogue, server: str | None) -> Table | None:
    if server is None:
        return catalogue.beside.resource_table
    shown = _shown(catalogue, server)
    return shown.own_resources if shown else None


def _shown(catalogue: Catalogue, server: str) -> Shown | None:
    exposure = catalogue.exposures.get(server)
    return exposure.beside if exposure else None


def _template_owner(table: Table | None, text: str) -> Owner | None:
    return resources.find_template(table, text) if table else None
