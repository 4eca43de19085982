"""What one endpoint shows of a snapshot, and where its names lead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pointsman_router import catalogue as catalogues
from pointsman_router import views
from pointsman_router.catalogue import Catalogue
from pointsman_router.exposure import Route, Unapproved
from pointsman_router.lineage import Lineage
from pointsman_router.listing import Form, Line
from pointsman_router.views import Table

# Whose prompts and resources an endpoint shows that shows none: no server is called so.
NOBODY = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Which list an endpoint shows."""

    form: Form
    server: str | None = None
    """The only server, on the endpoint of one; its tools go by their own names."""
    view: str | None = None
    """The published view, on the endpoint of one."""
    discover: bool = False
    """Whether agents search for tools instead of listing them."""

    @property
    def is_whole(self) -> bool:
        """Whether it shows everything that is registered."""
        return self.server is None and self.view is None

    @property
    def tools_alone(self) -> bool:
        """Whether it shows nothing beside tools, whatever its servers have."""
        return self.view is not None

    @property
    def beside(self) -> str | None:
        """Whose prompts and resources it shows; None for everybody's."""
        return NOBODY if self.tools_alone else self.server


def is_there(catalogue: Catalogue, endpoint: Endpoint) -> bool:
    """Say whether an endpoint is that of something registered; the one of the whole always is."""
    if endpoint.view is not None:
        return endpoint.view in catalogue.views
    return endpoint.server is None or endpoint.server in catalogue.exposures


def resolved(catalogue: Catalogue, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint as it is in this snapshot: a view says itself how tools are found."""
    table = _table(catalogue, endpoint)
    return replace(endpoint, discover=True) if table and table.searches else endpoint


def shown(catalogue: Catalogue, endpoint: Endpoint) -> Sequence[Line]:
    """Return the tools that an endpoint lists, in order."""
    if endpoint.is_whole:
        return catalogue.lines[endpoint.form]
    if endpoint.view is not None:
        table = _table(catalogue, endpoint)
        return table.lines[endpoint.form] if table else ()
    exposure = catalogue.exposures.get(endpoint.server or NOBODY)
    # In the offer's order, which is that of the tools' own names.
    return tuple(exposure.lines.values()) if exposure else ()


def routes(catalogue: Catalogue, endpoint: Endpoint) -> Mapping[str, Route]:
    """Return where the names lead that can be called at an endpoint."""
    if endpoint.is_whole:
        return catalogue.routes
    if endpoint.view is not None:
        table = _table(catalogue, endpoint)
        return table.routes if table else {}
    exposure = catalogue.exposures.get(endpoint.server or NOBODY)
    return exposure.bare if exposure else {}


def revision(catalogue: Catalogue, endpoint: Endpoint) -> str:
    """Return the revision of what an endpoint lists; a view has one of its own."""
    table = _table(catalogue, endpoint)
    return table.revision if table else catalogue.revision


def lineage(catalogue: Catalogue, endpoint: Endpoint) -> Lineage:
    """Return what agents may have chosen from before at an endpoint."""
    table = _table(catalogue, endpoint)
    return table.lineage if table else catalogue.lineage


def unapproved(catalogue: Catalogue, endpoint: Endpoint, name: str) -> Unapproved | None:
    """Return the tool that a name would lead to if a person approved of it."""
    if endpoint.is_whole:
        return catalogue.unapproved.get(name)
    if endpoint.view is not None:
        table = _table(catalogue, endpoint)
        return table.unapproved.get(name) if table else None
    exposure = catalogue.exposures.get(endpoint.server or NOBODY)
    return exposure.unapproved.get(name) if exposure else None


def became(catalogue: Catalogue, endpoint: Endpoint, name: str) -> str | None:
    """Return what became of a name that leads nowhere, as far as this endpoint ever listed it."""
    if endpoint.view is None:
        return catalogues.became(catalogue, name, endpoint.server)
    table = _table(catalogue, endpoint)
    return views.became(table, name) if table else None


def _table(catalogue: Catalogue, endpoint: Endpoint) -> Table | None:
    return catalogue.views.get(endpoint.view) if endpoint.view is not None else None
