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
class View:
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


def is_there(catalogue: Catalogue, view: View) -> bool:
    """Say whether an endpoint is that of something registered; the one of the whole always is."""
    if view.view is not None:
        return view.view in catalogue.views
    return view.server is None or view.server in catalogue.exposures


def resolved(catalogue: Catalogue, view: View) -> View:
    """Return an endpoint as it is in this snapshot: a view says itself how tools are found."""
    table = _table(catalogue, view)
    return replace(view, discover=True) if table and table.searches else view


def shown(catalogue: Catalogue, view: View) -> Sequence[Line]:
    """Return the tools that an endpoint lists, in order."""
    if view.is_whole:
        return catalogue.lines[view.form]
    if view.view is not None:
        table = _table(catalogue, view)
        return table.lines[view.form] if table else ()
    exposure = catalogue.exposures.get(view.server or NOBODY)
    # In the offer's order, which is that of the tools' own names.
    return tuple(exposure.lines.values()) if exposure else ()


def routes(catalogue: Catalogue, view: View) -> Mapping[str, Route]:
    """Return where the names lead that can be called at an endpoint."""
    if view.is_whole:
        return catalogue.routes
    if view.view is not None:
        table = _table(catalogue, view)
        return table.routes if table else {}
    exposure = catalogue.exposures.get(view.server or NOBODY)
    return exposure.bare if exposure else {}


def revision(catalogue: Catalogue, view: View) -> str:
    """Return the revision of what an endpoint lists; a view has one of its own."""
    table = _table(catalogue, view)
    return table.revision if table else catalogue.revision


def lineage(catalogue: Catalogue, view: View) -> Lineage:
    """Return what agents may have chosen from before at an endpoint."""
    table = _table(catalogue, view)
    return table.lineage if table else catalogue.lineage


def unapproved(catalogue: Catalogue, view: View, name: str) -> Unapproved | None:
    """Return the tool that a name would lead to if a person approved of it."""
    if view.is_whole:
        return catalogue.unapproved.get(name)
    if view.view is not None:
        table = _table(catalogue, view)
        return table.unapproved.get(name) if table else None
    exposure = catalogue.exposures.get(view.server or NOBODY)
    return exposure.unapproved.get(name) if exposure else None


def became(catalogue: Catalogue, view: View, name: str) -> str | None:
    """Return what became of a name that leads nowhere, as far as this endpoint ever listed it."""
    if view.view is None:
        return catalogues.became(catalogue, name, view.server)
    table = _table(catalogue, view)
    return views.became(table, name) if table else None


def _table(catalogue: Catalogue, view: View) -> Table | None:
    return catalogue.views.get(view.view) if view.view is not None else None
