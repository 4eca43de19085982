"""One ConfigMap at a time: looked at where in doubt, written at its pace, and remembered."""

import logging
from collections.abc import Awaitable

from pointsman_operator import apierrors, seen
from pointsman_operator.apierrors import ApiError
from pointsman_operator.cluster import Cluster
from pointsman_operator.conditions import Publication
from pointsman_operator.consensus import Finding
from pointsman_operator.manifests import JSON
from pointsman_operator.metrics import Kind, Metrics
from pointsman_operator.pace import Pace
from pointsman_operator.publisher import Publisher
from pointsman_operator.reconcile import Remove, Write
from pointsman_operator.status import Truth
from pointsman_operator.store import Store
from pointsman_operator.workqueue import WorkQueue


class Upkeep:
    """Keeps ConfigMaps as was decided, whichever kind of resource they publish."""

    def __init__(
        self,
        store: Store,
        queue: WorkQueue,
        pace: Pace,
        cluster: Cluster,
        metrics: Metrics,
        *,
        logger: logging.Logger,
    ) -> None:
        self._store = store
        self._queue = queue
        self._pace = pace
        self._cluster = cluster
        self._status_writes = metrics.api_writes.labels(Kind.STATUS)
        self._publisher = Publisher(cluster, store.config_maps, metrics)
        self._logger = logger

    async def look(self, key: str) -> None:
        """See for ourselves what lies under `key`, if that is in doubt."""
        store = self._store
        if key not in store.doubtful:
            return
        before = store.config_maps.get(key)
        # What makes it doubtful again while we look is news.
        store.doubtful.discard(key)
        try:
            body = await self._cluster.find_config_map(key)
        except ApiError:
            store.doubtful.add(key)
            raise
        if body is not None:
            store.config_maps.put(key, seen.config_map(body))
        elif before is not None:
            store.config_maps.drop(key, before.version)

    def has_to_wait(self, key: str, write: Write) -> bool:
        """Say whether `write` only undoes what others did, and did a moment ago too."""
        if not self._is_repair(key, write):
            return False
        at_s = self._pace.repair_allowed(key, self._queue.now_s())
        if at_s <= self._queue.now_s():
            return False
        self._queue.wake(key, at_s)
        return True

    async def carry_out(self, key: str, write: Write) -> None:
        """Do what was decided about `key`; raises ApiError."""
        repair = self._is_repair(key, write)
        self._pace.wrote(key, self._queue.now_s())
        if repair:
            self._pace.repaired(key, self._queue.now_s())
        await self._publisher.carry_out(write)
        document = None if isinstance(write, Remove) else write.manifest.digest
        self._pace.in_force(key, document)
        deed = type(write).__name__.lower()
        facts = {"key": key, "deed": deed, "repair": repair}
        self._logger.info("wrote a ConfigMap", extra=facts)

    def lasts(self, key: str, differs: bool) -> bool:
        """Say whether routers have differed about `key` for so long that it is no rollout."""
        now_s = self._queue.now_s()
        lasting_s = self._pace.differs(key, differs, now_s)
        if lasting_s is None or lasting_s <= now_s:
            return lasting_s is not None
        self._queue.wake(key, lasting_s)
        return False

    async def write_status(self, key: str, writing: Awaitable[JSON]) -> JSON | None:
        """Return the resource as it is after `writing` its status; None where it is gone."""
        self._status_writes.inc()
        self._pace.wrote(key, self._queue.now_s())
        try:
            return await writing
        except apierrors.NotFound:
            return None  # The event that says so is on its way.

    def found_right(self, key: str) -> None:
        """Note that what lies under `key` is as it is to be."""
        observed = self._store.config_maps.get(key)
        if observed is not None and observed.digest is not None:
            self._pace.in_force(key, observed.digest)

    def _is_repair(self, key: str, write: Write) -> bool:
        if isinstance(write, Remove):
            return False
        return self._pace.is_repair(key, write.manifest.digest)


def unwritten(exc: ApiError, config_map: str) -> Finding:
    """Return what is said of a resource whose ConfigMap could not be written."""
    if isinstance(exc, apierrors.Forbidden):
        return Finding(
            Truth.FALSE,
            Publication.FORBIDDEN,
            f"the operator may not write ConfigMap {config_map}: its role needs create, patch and"
            " delete on configmaps in the release namespace",
        )
    return Finding(
        Truth.FALSE,
        Publication.API_ERROR,
        f"ConfigMap {config_map} could not be written: the operator's log says why, and it is tried"
        " again",
    )
