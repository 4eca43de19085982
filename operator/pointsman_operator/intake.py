"""What news of the cluster leads to: which keys have to be looked at."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from pointsman_contract import labels
from pointsman_contract.register import Register
from pointsman_operator import seen
from pointsman_operator.claims import Claims
from pointsman_operator.pace import Pace
from pointsman_operator.seen import ConfigMap, Resource, ViewResource
from pointsman_operator.spec import Server
from pointsman_operator.store import Store
from pointsman_operator.viewspec import View
from pointsman_operator.workqueue import WorkQueue

# The key under which the prefix register is looked at; no ConfigMap may have such a name.
REGISTER = "(register)"


class Intake:
    """Takes sights of the cluster, keeps store and claims by them, and has keys looked at."""

    def __init__(
        self,
        store: Store,
        claims: Claims,
        queue: WorkQueue,
        pace: Pace,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._claims = claims
        self._queue = queue
        self._pace = pace
        self._clock = clock

    def resource(self, body: Mapping[str, object], *, deleted: bool = False) -> None:
        """Take the sight of a resource that an event brought."""
        resource, known = seen.resource(body), self._store.resources
        before = known.get(resource.config_map)
        if known.lose(resource) if deleted else known.see(resource):
            self._claim(resource.identity.id, None if deleted else resource)
            self._due(resource.config_map)
            self._selected(before, None if deleted else resource)

    def answered(self, body: Mapping[str, object]) -> None:
        """Take the sight of a resource that the answer to a write of its status brought."""
        resource = seen.resource(body)
        before = self._store.resources.get(resource.config_map)
        if not self._store.resources.see(resource):
            return
        self._selected(before, resource)
        if before is None or _asks_anew(before, resource):
            self._claim(resource.identity.id, resource)
            self._due(resource.config_map)

    def view(self, body: Mapping[str, object], *, deleted: bool = False) -> None:
        """Take the sight of a view that an event brought."""
        view, known = seen.view(body), self._store.views
        if known.lose(view) if deleted else known.see(view):
            self._due(view.config_map)

    def view_answered(self, body: Mapping[str, object]) -> None:
        """Take the sight of a view that the answer to a write of its status brought."""
        view = seen.view(body)
        before = self._store.views.get(view.config_map)
        if self._store.views.see(view) and (before is None or _asks_anew(before, view)):
            self._due(view.config_map)

    def config_map(self, body: Mapping[str, object], *, deleted: bool = False) -> None:
        """Take the sight of a ConfigMap that an event brought."""
        config_map = seen.config_map(body)
        if not deleted:
            if self._store.config_maps.put(config_map.name, config_map):
                self._due(config_map.name)
        elif self._store.config_maps.drop(config_map.name, config_map.version):
            # It is gone, or only its label is: the watch, which goes by the label, cannot tell.
            self._store.doubtful.add(config_map.name)
            self._due(config_map.name)

    def listed(
        self,
        resources: Iterable[Resource],
        resources_version: int,
        config_maps: Iterable[ConfigMap],
        config_maps_version: int,
    ) -> None:
        """Take what the API server lists; everything is looked at again."""
        store = self._store
        unlabelled = {m.name for m in store.config_maps.values() if not m.is_labelled}
        servers = {key: r.identity.id for key in store.resources if (r := store.resources.get(key))}
        listed = {resource.config_map: resource for resource in resources}
        for key in store.resources.take_list(listed, resources_version):
            known = store.resources.get(key)
            self._claim(known.identity.id if known is not None else servers[key], known)
        gone = store.config_maps.take_list({m.name: m for m in config_maps}, config_maps_version)
        store.doubtful |= {key for key in unlabelled & gone if store.is_wanted(key)}
        # The kind may have been brought up to date: the next write of a status tells.
        store.kind_is_older = False

    def views_listed(self, views: Iterable[ViewResource], version: int) -> None:
        """Take the list of all views; everything is looked at again."""
        self._store.views.take_list({view.config_map: view for view in views}, version)
        self._store.knows_views = True

    def arbitrate(self, register: Register) -> None:
        """Settle everybody's claims by what `register` holds."""
        servers = [
            resource.wish
            for resource in self._store.resources.values()
            if isinstance(resource.wish, Server)
        ]
        self.look_again(self._claims.begin(register, servers, now=self._clock()))
        self._write_register()

    def everything(self) -> None:
        """Have every key looked at."""
        store = self._store
        for key in {*store.resources, *store.views, *store.config_maps, *store.doubtful}:
            self._queue.wake(key, self._queue.now_s())
        self._queue.wake(REGISTER, self._queue.now_s())

    def routers_changed(self, servers: Iterable[str] | None) -> None:
        """Have the servers looked at of which a router says something new.

        None stands for all, and for all views too.
        """
        if servers is None:
            for key in (*self._store.resources, *self._store.views):
                self._due(key)
            return
        for server in servers:
            concerned = _key(server)
            if concerned is not None and self._store.resources.get(concerned) is not None:
                self._due(concerned)

    def views_changed(self, views: Iterable[str]) -> None:
        """Have the views looked at of which a router says something new."""
        for view in views:
            namespace, _, name = view.partition("/")
            concerned = labels.view_config_map_name(namespace, name)
            if self._store.views.get(concerned) is not None:
                self._due(concerned)

    def look_again(self, servers: Iterable[str]) -> None:
        """Have the servers looked at whose standing changed."""
        for server in servers:
            if (key := _key(server)) is not None:
                self._due(key)

    def _claim(self, server_id: str, resource: Resource | None) -> None:
        wish = resource.wish if resource is not None else None
        server = wish if isinstance(wish, Server) else None
        decisions = self._claims.decisions
        self.look_again(self._claims.see(server_id, server, now=self._clock()))
        # A register that could not be written is not hurried by what has nothing to do with it.
        if self._claims.decisions != decisions:
            self._write_register()

    def _selected(self, before: Resource | None, after: Resource | None) -> None:
        """Have the views looked at whose selector takes a server now and did not, or did."""
        concerned = after or before
        old, new = (None if one is None else one.labels for one in (before, after))
        if concerned is None or old == new:
            return
        for view in self._store.views.values():
            wish = view.wish
            if (
                not isinstance(wish, View)
                or wish.identity.namespace != concerned.identity.namespace
            ):
                continue
            if wish.selects(old) != wish.selects(new):
                self._due(view.config_map)

    def _write_register(self) -> None:
        if not self._claims.is_register_right:
            self._queue.wake(REGISTER, self._queue.now_s())

    def _due(self, key: str) -> None:
        self._queue.put(key, self._pace.after_change(key, self._queue.now_s()))


def _asks_anew(before: Resource | ViewResource, after: Resource | ViewResource) -> bool:
    # What is wrong with a spec may be the same in its next generation, which a status names.
    return (before.wish, before.identity.generation) != (after.wish, after.identity.generation)


def _key(server: str) -> str | None:
    namespace, slash, name = server.partition("/")
    return labels.config_map_name(namespace, name) if slash else None
