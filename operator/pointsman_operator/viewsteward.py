"""What is done when the key of a view is due: look, decide, write, and say what came of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from pointsman_operator import apierrors, viewplan, viewstatus
from pointsman_operator.cluster import Cluster
from pointsman_operator.fleet import Fleet
from pointsman_operator.intake import Intake
from pointsman_operator.metrics import Outcome
from pointsman_operator.pace import Pace
from pointsman_operator.seen import ViewResource
from pointsman_operator.store import Store
from pointsman_operator.upkeep import Upkeep, unwritten
from pointsman_operator.viewplan import ViewSituation
from pointsman_operator.viewstatus import ViewStatus
from pointsman_operator.workqueue import WorkQueue


@dataclass(frozen=True, slots=True)
class ViewMeans:
    """What the steward of views works with."""

    store: Store
    intake: Intake
    queue: WorkQueue
    pace: Pace
    cluster: Cluster
    fleet: Fleet
    upkeep: Upkeep


class ViewSteward:
    """Brings the cluster to what views wish, one key at a time."""

    def __init__(self, means: ViewMeans, *, namespace: str, clock: Callable[[], datetime]) -> None:
        self._means = means
        self._namespace = namespace
        self._clock = clock

    async def attempt(self, key: str) -> Outcome:
        """Do what is due for `key`; raises ApiError, Conflict where the object is another."""
        means = self._means
        if not means.store.knows_views:
            # It may publish a view that we are not allowed to see.
            return Outcome.UNCHANGED
        await means.upkeep.look(key)
        situation = self._situation(key)
        plan = viewplan.plan(situation)
        if means.upkeep.lasts(key, plan.is_unsettled):
            situation = replace(situation, lasts=True)
            plan = viewplan.plan(situation)
        if plan.write is None:
            means.upkeep.found_right(key)
        elif means.upkeep.has_to_wait(key, plan.write):
            return Outcome.DEFERRED
        else:
            try:
                await means.upkeep.carry_out(key, plan.write)
            except (apierrors.Forbidden, apierrors.Refused, apierrors.NotFound) as exc:
                failed = viewplan.plan(replace(situation, failure=unwritten(exc, key)))
                await self._write_status(situation.resource, failed.status)
                raise
        await self._write_status(situation.resource, plan.status)
        if situation.resource is None:
            means.pace.forget(key)
        changed = plan.write is not None or plan.status is not None
        return Outcome.WRITTEN if changed else Outcome.UNCHANGED

    def _situation(self, key: str) -> ViewSituation:
        store, fleet = self._means.store, self._means.fleet
        resource, observed = store.views.get(key), store.config_maps.get(key)
        identity = None if resource is None else resource.identity
        return ViewSituation(
            resource=resource,
            neighbours=store.neighbours(identity.namespace) if identity else {},
            observed=observed,
            publishes_living=observed is not None and store.is_living(observed.resource_uid),
            statements=(
                fleet.view_statements(identity.id) if identity and fleet.is_settled else None
            ),
            lasts=False,
            failure=None,
            namespace=self._namespace,
            now=self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    async def _write_status(self, resource: ViewResource | None, wished: ViewStatus | None) -> None:
        if resource is None or wished is None:
            return
        means, identity = self._means, resource.identity
        body = await means.upkeep.write_status(
            resource.config_map,
            means.cluster.apply_view_status(
                identity.namespace or "", identity.name, identity.uid or "", viewstatus.dump(wished)
            ),
        )
        if body is not None:
            means.intake.view_answered(body)
