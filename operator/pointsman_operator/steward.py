"""What is done when a key is due: look, decide, write, and say what came of it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from pointsman_contract import labels
from pointsman_contract.report import printable
from pointsman_operator import apierrors, conditions, reconcile, status
from pointsman_operator.apierrors import ApiError
from pointsman_operator.claims import Claims
from pointsman_operator.cluster import Cluster
from pointsman_operator.consensus import Consensus, reach
from pointsman_operator.fleet import Fleet
from pointsman_operator.intake import REGISTER, Intake
from pointsman_operator.metrics import Metrics, Outcome
from pointsman_operator.narrator import Narrator
from pointsman_operator.pace import Pace
from pointsman_operator.reconcile import Remove, Situation, Write
from pointsman_operator.registrar import Registrar
from pointsman_operator.seen import Resource
from pointsman_operator.spec import Server
from pointsman_operator.status import Counts, Status
from pointsman_operator.store import Store
from pointsman_operator.upkeep import Upkeep, unwritten
from pointsman_operator.viewsteward import ViewMeans, ViewSteward
from pointsman_operator.workqueue import WorkQueue

# How often an object that turns out to be another one is looked at again before it has to wait.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Means:
    """What the steward works with."""

    store: Store
    claims: Claims
    intake: Intake
    queue: WorkQueue
    pace: Pace
    cluster: Cluster
    fleet: Fleet
    registrar: Registrar
    narrator: Narrator
    metrics: Metrics


class Steward:
    """Brings the cluster to what is wished, one key at a time."""

    def __init__(
        self,
        means: Means,
        *,
        namespace: str,
        clock: Callable[[], datetime],
        logger: logging.Logger,
    ) -> None:
        self._means = means
        self._upkeep = Upkeep(
            means.store, means.queue, means.pace, means.cluster, means.metrics, logger=logger
        )
        self._views = ViewSteward(
            ViewMeans(
                store=means.store,
                intake=means.intake,
                queue=means.queue,
                pace=means.pace,
                cluster=means.cluster,
                fleet=means.fleet,
                upkeep=self._upkeep,
            ),
            namespace=namespace,
            clock=clock,
        )
        self._namespace = namespace
        self._clock = clock
        self._logger = logger
        self._told_of_older_kind = False

    async def handle(self, key: str) -> None:
        """Do what is due for `key`; whatever fails is tried again, and costs nobody else."""
        queue, reconciles = self._means.queue, self._means.metrics.reconciles
        try:
            if key == REGISTER:
                written = await self._means.registrar.keep()
                outcome = Outcome.WRITTEN if written else Outcome.UNCHANGED
            else:
                outcome = await self._reconcile(key)
        except ApiError as exc:
            not_before_s = None if exc.retry_after_s is None else queue.now_s() + exc.retry_after_s
            delay_s = queue.failed(key, not_before_s=not_before_s)
            reconciles.labels(Outcome.FAILED).inc()
            facts = {"key": key, "fault": _told(exc), "delay_s": round(delay_s, 3)}
            self._logger.warning("a write has to wait", extra=facts)
        except Exception:
            # A fault of ours in one resource must not end the others' service.
            queue.failed(key)
            reconciles.labels(Outcome.FAILED).inc()
            self._logger.exception("a look ended by a fault", extra={"key": key})
        else:
            queue.succeeded(key)
            reconciles.labels(outcome).inc()

    async def _reconcile(self, key: str) -> Outcome:
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._attempt(key)
            except apierrors.Conflict:
                self._means.store.doubtful.add(key)
        return await self._attempt(key)

    async def _attempt(self, key: str) -> Outcome:
        if labels.is_of_view(key):
            return await self._views.attempt(key)
        means = self._means
        await self._upkeep.look(key)
        situation = self._situation(key)
        plan = reconcile.plan(situation)
        if plan.write is not None:
            if not self._may_be_made(plan.write, situation):
                if (fault := means.registrar.failure) is not None:
                    await self._tell(situation, fault, labels.REGISTER_NAME)
                return Outcome.DEFERRED
            if self._upkeep.has_to_wait(key, plan.write):
                return Outcome.DEFERRED
            await self._carry_out(key, plan.write, situation)
        else:
            self._upkeep.found_right(key)
        has_stated = await self._write_status(situation.resource, plan.status)
        if situation.resource is None:
            means.pace.forget(key)
            means.narrator.forget(key)
        changed = plan.write is not None or has_stated
        return Outcome.WRITTEN if changed else Outcome.UNCHANGED

    def _situation(self, key: str) -> Situation:
        store, claims = self._means.store, self._means.claims
        resource, observed = store.resources.get(key), store.config_maps.get(key)
        wish = resource.wish if resource is not None else None
        consensus = self._consensus(resource)
        return Situation(
            resource=resource,
            conflict=claims.conflict(wish) if isinstance(wish, Server) else None,
            observed=observed,
            publishes_living=observed is not None and store.is_living(observed.resource_uid),
            consensus=consensus,
            counts=self._settled(key, resource, consensus),
            differs=consensus is not None
            and self._upkeep.lasts(key, consensus.difference is not None),
            failure=None,
            namespace=self._namespace,
            now=self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    def _consensus(self, resource: Resource | None) -> Consensus | None:
        fleet = self._means.fleet
        if resource is None or not fleet.is_settled:
            return None
        wish = resource.wish
        approved = wish.definitions.approved if isinstance(wish, Server) else ()
        return reach(resource.identity, fleet.statements(resource.identity.id), approved)

    def _settled(
        self, key: str, resource: Resource | None, consensus: Consensus | None
    ) -> Counts | None:
        if consensus is None or resource is None or not consensus.is_counted:
            return None
        if self._means.fleet.is_fixed:
            return consensus.counts
        queue = self._means.queue
        settled_s = self._means.pace.settled(key, consensus.counts, queue.now_s())
        if settled_s <= queue.now_s() or _is_first_and_whole(consensus.counts, resource.status):
            return consensus.counts
        if consensus.counts != resource.status.routers:
            queue.wake(key, settled_s)
        return None

    def _may_be_made(self, write: Write, situation: Situation) -> bool:
        # A holder that the register does not name could lose the prefix in a restart, and the
        # name would have led to two tenants.
        if isinstance(write, Remove) or situation.resource is None:
            return True
        wish = situation.resource.wish
        return isinstance(wish, Server) and self._means.claims.is_written(wish)

    async def _carry_out(self, key: str, write: Write, situation: Situation) -> None:
        try:
            await self._upkeep.carry_out(key, write)
        except (apierrors.Forbidden, apierrors.Refused, apierrors.NotFound) as exc:
            await self._tell(situation, exc, key)
            raise

    async def _tell(self, situation: Situation, fault: ApiError, config_map: str) -> None:
        plan = reconcile.plan(replace(situation, failure=unwritten(fault, config_map)))
        await self._write_status(situation.resource, plan.status)

    async def _write_status(self, resource: Resource | None, wished: Status | None) -> bool:
        """Say whether there was anything to write."""
        if resource is None or wished is None:
            return False
        if self._has_only_new_words_too_soon(resource, wished):
            return False
        store = self._means.store
        if not store.kind_is_older:
            try:
                await self._apply_status(resource, wished, wished)
            except apierrors.Undeclared as exc:
                self._tell_of_older_kind(exc)
                store.kind_is_older = True
            else:
                self._told_of_older_kind = False
                return True
        held = status.without_news(wished)
        if held == resource.status:
            self._narrate(resource, wished)
            return False
        await self._apply_status(resource, held, wished)
        return True

    def _has_only_new_words_too_soon(self, resource: Resource, wished: Status) -> bool:
        pace, queue, key = self._means.pace, self._means.queue, resource.config_map
        held = status.without_news(wished) if self._means.store.kind_is_older else wished
        if not conditions.is_reworded(resource.status, held):
            return False
        at_s = pace.rewording_allowed(key, queue.now_s())
        if at_s > queue.now_s():
            queue.wake(key, at_s)
            return True
        pace.reworded(key, queue.now_s())
        return False

    async def _apply_status(self, resource: Resource, held: Status, wished: Status) -> None:
        means, identity = self._means, resource.identity
        body = await self._upkeep.write_status(
            resource.config_map,
            means.cluster.apply_status(
                identity.namespace or "", identity.name, identity.uid or "", status.dump(held)
            ),
        )
        if body is not None:
            means.intake.answered(body)
            self._narrate(resource, wished)

    def _narrate(self, resource: Resource, wished: Status) -> None:
        # What an older kind cannot hold is told nevertheless.
        self._means.narrator.tell(resource, wished, self._means.queue.now_s())

    def _tell_of_older_kind(self, exc: ApiError) -> None:
        if not self._told_of_older_kind:
            self._logger.warning(
                "the McpServer CRD is older than this operator, and statuses lack what it does not"
                " know: apply the chart's CRDs (crds/mcpserver.yaml)",
                extra={"fault": _told(exc)},
            )
        self._told_of_older_kind = True


def _is_first_and_whole(counts: Counts, before: Status) -> bool:
    """Say whether there is nothing to wait for: no count to flap from, and no router missing."""
    return before.routers is None and 0 < counts.ready == counts.total


def _told(exc: ApiError) -> str:
    return f"{type(exc).__name__}: {printable(str(exc), 300)}"
