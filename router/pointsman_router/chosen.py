"""Whether a call may go where its agent, by the list that it read, chose to send it."""

from collections.abc import Mapping

from pointsman_contract import rawjson
from pointsman_router import endpoints, failures, lineage, refusals
from pointsman_router.catalogue import Catalogue
from pointsman_router.endpoints import Endpoint
from pointsman_router.exposure import Route
from pointsman_router.failures import Failure
from pointsman_router.listing import CATALOGUE_KEY
from pointsman_router.refusals import Refusal


def problem(
    catalogue: Catalogue,
    endpoint: Endpoint,
    name: str,
    route: Route | None,
    meta: Mapping[str, bytes] | None,
) -> Failure | Refusal | None:
    """Return why a call with this `_meta` must not go where `name` leads now; None where it may.

    `route` is where `name` leads at the endpoint. A name that led nowhere and does so now is
    nobody's concern here, nor is one of which is known what became of it.
    """
    revision = None
    if meta and (named := meta.get(CATALOGUE_KEY)) is not None:
        try:
            revision = rawjson.string(named)
        except rawjson.Malformed:
            return refusals.invalid_params(f"params._meta's {CATALOGUE_KEY} must be a string.")
    if route is None and (waiting := endpoints.unapproved(catalogue, endpoint, name)):
        return failures.unapproved(waiting.server, is_changed=waiting.is_changed)
    if revision is None or revision == endpoints.revision(catalogue, endpoint):
        return None
    now, known = route.lead if route else None, endpoints.lineage(catalogue, endpoint)
    try:
        then = lineage.at(known, revision, (endpoint.server, name), now)
    except lineage.UnknownRevision:
        return failures.of_unknown_list(now.server) if now else None
    if now is not None:
        return failures.changed(now.server) if then != now else None
    # What became of a name that is remembered says more than that it changed.
    if then is None or endpoints.became(catalogue, endpoint, name) is not None:
        return None
    return failures.dropped(then.server)
