"""When everything is listed anew, and what is known of the cluster replaced by it."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from pointsman_contract import labels
from pointsman_operator import apierrors, seen
from pointsman_operator.apierrors import ApiError
from pointsman_operator.cluster import Cluster, Listing
from pointsman_operator.intake import Intake
from pointsman_operator.manifests import JSON
from pointsman_operator.metrics import Metrics
from pointsman_operator.registrar import Registrar
from pointsman_operator.seen import ConfigMap, Unrecognisable, ViewResource

# Gaps come in flurries, one of each watch: one list answers them all.
INTERVAL_S = 2.0
RETRY_FIRST_S = 1.0
RETRY_MAX_S = 15.0
# A kind that is only being replaced is back before so many lists in a row lacked it.
ABSENCES_TOLERATED = 3
# As many as a person reads; the label of their ConfigMaps finds them all.
NAMED_MAX = 10

# What has to be done before views are served; what is published of them stays as it is until then.
_LACKS: Mapping[type[ApiError], str] = {
    apierrors.NotFound: (
        "the API server knows no McpView: views are served once the CRD (crds/mcpview.yaml) is"
        " installed"
    ),
    apierrors.Forbidden: (
        "the operator may not list McpViews: views are served once its role has list and watch on"
        " mcpviews, and patch on mcpviews/status"
    ),
}


class Resync:
    """Lists all kinds and the register: at the start, every so often, and after each gap.

    No event ever tells what vanished while nobody listened.
    """

    def __init__(
        self,
        cluster: Cluster,
        intake: Intake,
        registrar: Registrar,
        metrics: Metrics,
        *,
        interval_s: float,
        logger: logging.Logger,
    ) -> None:
        self._cluster = cluster
        self._intake = intake
        self._registrar = registrar
        self._metrics = metrics
        self._interval_s = interval_s
        self._logger = logger
        self._gap = asyncio.Event()
        self._missing: type[ApiError] | None = None
        self._absences = 0
        self.is_done = False
        """Whether everything was listed at least once."""
        self.views = asyncio.Event()
        """Whether the API server has McpViews, and we may list them."""

    def gap(self) -> None:
        """Note that a watch may have missed something."""
        self._gap.set()

    async def begin(self) -> None:
        """List everything for the first time; raises ApiError, InvalidRegister."""
        await self._list()
        await self._registrar.begin()
        self._finish()

    async def run(self) -> None:
        """List everything again and again."""
        failures = 0
        while True:
            await self._pause(failures)
            self._gap.clear()
            try:
                await self._list()
            except ApiError as exc:
                failures += 1
                self._logger.warning("a list has to wait", extra={"fault": str(exc)})
            else:
                failures = 0
                self._registrar.doubt()
                self._finish()

    async def _list(self) -> None:
        resources = await self._cluster.list_resources(_known(seen.resource))
        views = await self._list_views()
        config_maps = await self._cluster.list_config_maps(_known(seen.config_map))
        self._tell_what_outlives_its_kind(config_maps.items)
        if views is not None:
            self._intake.views_listed(views.items, views.version)
        self._intake.listed(
            resources.items, resources.version, config_maps.items, config_maps.version
        )

    async def _list_views(self) -> Listing[ViewResource] | None:
        """Return every view; None while nobody can say which there are.

        An operator may be newer than the kinds and the rights that it finds: servers are served
        all the same.
        """
        try:
            views = await self._cluster.list_views(_known(seen.view))
        except (apierrors.NotFound, apierrors.Forbidden) as exc:
            if self._missing is not type(exc):
                self._logger.warning(_LACKS[type(exc)])
            self._missing = type(exc)
            self._absences = self._absences + 1 if isinstance(exc, apierrors.NotFound) else 0
            return None
        self._missing, self._absences = None, 0
        self.views.set()
        return views

    def _tell_what_outlives_its_kind(self, config_maps: Iterable[ConfigMap]) -> None:
        # Whether the kind will be back, with its views, is not ours to know: nothing is deleted.
        if self._absences != ABSENCES_TOLERATED:
            return
        left = sorted(
            f"{one.labels.get(labels.VIEW_NAMESPACE)}/{one.labels.get(labels.VIEW_NAME)}"
            for one in config_maps
            if labels.is_of_view(one.name)
        )
        if left:
            self._logger.warning(
                "views are still published and served, and the API server knows no McpView: install"
                f" the CRD (crds/mcpview.yaml), or delete their ConfigMaps ({labels.META}="
                f"{labels.VIEW_VERSION})",
                extra={"views": ", ".join(left[:NAMED_MAX]), "number": len(left)},
            )

    def _finish(self) -> None:
        self._intake.everything()
        self._metrics.last_resync.set(time.time())
        self.is_done = True

    async def _pause(self, failures: int) -> None:
        if failures:
            await asyncio.sleep(min(RETRY_MAX_S, RETRY_FIRST_S * 2.0 ** min(failures - 1, 10)))
            return
        await asyncio.sleep(min(INTERVAL_S, self._interval_s))
        try:
            async with asyncio.timeout(max(0.0, self._interval_s - INTERVAL_S)):
                await self._gap.wait()
        except TimeoutError:
            return


_Sight = TypeVar("_Sight")


def _known(read: Callable[[JSON], _Sight]) -> Callable[[JSON], _Sight | None]:
    def sight(body: JSON) -> _Sight | None:
        try:
            return read(body)
        except Unrecognisable:
            return None

    return sight
