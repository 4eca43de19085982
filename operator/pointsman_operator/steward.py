"""What is done when a key is due: look, decide, write, and say what came of it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from pointsman_contract.report import printable
from pointsman_operator import apierrors, logs, reconcile, seen, status
from pointsman_operator.apierrors import ApiError
from pointsman_operator.claims import Claims
from pointsman_operator.cluster import Cluster
from pointsman_operator.conditions import Publication
from pointsman_operator.consensus import Consensus, Finding, reach
from pointsman_operator.fleet import Fleet
from pointsman_operator.intake import REGISTER, Intake
from pointsman_operator.metrics import Kind, Metrics, Outcome
from pointsman_operator.pace import Pace
from pointsman_operator.publisher import Publisher
from pointsman_operator.reconcile import Plan, Remove, Situation, Write
from pointsman_operator.registrar import Registrar
from pointsman_operator.seen import Resource
from pointsman_operator.settling import Settling
from pointsman_operator.spec import Server
from pointsman_operator.status import Counts, Status, Truth
from pointsman_operator.store import Store
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
        self._publisher = Publisher(means.cluster, means.store.config_maps, means.metrics)
        self._settling = Settling()
        self._in_force: dict[str, str] = {}
        self._namespace = namespace
        self._clock = clock
        self._logger = logger

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
            self._say(logging.WARNING, "a write has to wait", key=key, fault=_told(exc), s=delay_s)
        except Exception:
            # A fault of ours in one resource must not end the others' service.
            queue.failed(key)
            reconciles.labels(Outcome.FAILED).inc()
            self._logger.exception("a look ended by a fault", extra={"facts": {"key": key}})
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
        means = self._means
        if key in means.store.doubtful:
            await self._look(key)
        situation = self._situation(key)
        if not self._may_publish(situation):
            if means.registrar.failure is not None:
                await self._tell(situation, means.registrar.failure)
            return Outcome.DEFERRED
        plan = reconcile.plan(situation)
        if plan.write is not None:
            if self._has_to_wait(key, plan.write):
                return Outcome.DEFERRED
            await self._carry_out(key, plan.write, situation)
        elif situation.observed is not None and situation.observed.digest is not None:
            self._in_force[key] = situation.observed.digest
        await self._write_status(situation.resource, plan.status)
        if situation.resource is None and means.store.config_maps.get(key) is None:
            self._forget(key)
        changed = plan.write is not None or plan.status is not None
        return Outcome.WRITTEN if changed else Outcome.UNCHANGED

    async def _look(self, key: str) -> None:
        store = self._means.store
        body = await self._means.cluster.find_config_map(key)
        if body is None:
            if (known := store.config_maps.get(key)) is not None:
                store.config_maps.drop(key, known.version)
        else:
            store.config_maps.put(key, seen.config_map(body))
        store.doubtful.discard(key)

    def _situation(self, key: str) -> Situation:
        store, claims = self._means.store, self._means.claims
        resource, observed = store.resources.get(key), store.config_maps.get(key)
        wish = resource.wish if resource is not None else None
        consensus = self._consensus(resource)
        return Situation(
            resource=resource,
            conflict=claims.conflict(wish) if isinstance(wish, Server) else None,
            observed=observed,
            publishes_living=observed is not None and store.is_living(observed.server_uid),
            consensus=consensus,
            counts=self._settled(key, resource, consensus),
            failure=None,
            namespace=self._namespace,
            now=self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    def _consensus(self, resource: Resource | None) -> Consensus | None:
        fleet = self._means.fleet
        if resource is None or not fleet.is_settled:
            return None
        return reach(resource.identity, fleet.statements(resource.identity.id))

    def _settled(
        self, key: str, resource: Resource | None, consensus: Consensus | None
    ) -> Counts | None:
        if consensus is None or resource is None:
            return None
        if self._means.fleet.is_fixed:
            return consensus.counts
        queue = self._means.queue
        settled_s = self._settling.look(key, consensus.counts, queue.now_s())
        if settled_s <= queue.now_s():
            return consensus.counts
        if consensus.counts != resource.status.routers:
            queue.wake(key, settled_s)
        return None

    def _may_publish(self, situation: Situation) -> bool:
        # A holder that the register does not name could lose the prefix in a restart, and the
        # name would have led to two tenants.
        wish = situation.resource.wish if situation.resource is not None else None
        if not isinstance(wish, Server) or situation.conflict is not None:
            return True
        return self._means.claims.is_written(wish)

    def _has_to_wait(self, key: str, write: Write) -> bool:
        if not self._is_repair(key, write):
            return False
        queue = self._means.queue
        at_s = self._means.pace.repair_allowed(key, queue.now_s())
        if at_s <= queue.now_s():
            return False
        queue.wake(key, at_s)
        return True

    def _is_repair(self, key: str, write: Write) -> bool:
        return not isinstance(write, Remove) and self._in_force.get(key) == write.manifest.digest

    async def _carry_out(self, key: str, write: Write, situation: Situation) -> None:
        means = self._means
        repair = self._is_repair(key, write)
        means.pace.wrote(key, means.queue.now_s(), repair=repair)
        try:
            await self._publisher.carry_out(write)
        except (apierrors.Forbidden, apierrors.Refused, apierrors.NotFound) as exc:
            await self._tell(situation, exc)
            raise
        if isinstance(write, Remove):
            self._in_force.pop(key, None)
        else:
            self._in_force[key] = write.manifest.digest
        deed = type(write).__name__.lower()
        self._say(logging.INFO, "wrote a ConfigMap", key=key, deed=deed, repair=repair)

    async def _tell(self, situation: Situation, fault: ApiError) -> None:
        plan: Plan = reconcile.plan(replace(situation, failure=_finding(fault)))
        await self._write_status(situation.resource, plan.status)

    async def _write_status(self, resource: Resource | None, wished: Status | None) -> None:
        if resource is None or wished is None:
            return
        means, identity = self._means, resource.identity
        means.metrics.api_writes.labels(Kind.STATUS).inc()
        means.pace.wrote(resource.config_map, means.queue.now_s(), repair=False)
        try:
            body = await means.cluster.apply_status(
                identity.namespace or "", identity.name, identity.uid or "", status.dump(wished)
            )
        except apierrors.NotFound:
            return  # It went meanwhile, and the event that says so is on its way.
        means.intake.answered(body)

    def _forget(self, key: str) -> None:
        self._in_force.pop(key, None)
        self._settling.forget(key)
        self._means.pace.forget(key)

    def _say(self, level: int, message: str, **facts: object) -> None:
        logs.say(self._logger, level, message, **facts)


def _told(exc: ApiError) -> str:
    return f"{type(exc).__name__}: {printable(str(exc), 300)}"


def _finding(exc: ApiError) -> Finding:
    if isinstance(exc, apierrors.Forbidden):
        return Finding(
            Truth.FALSE,
            Publication.FORBIDDEN,
            "the operator may not write the ConfigMap: its role needs create, patch and delete on"
            " configmaps in the release namespace",
        )
    return Finding(
        Truth.FALSE,
        Publication.API_ERROR,
        "the API server did not take the ConfigMap; the operator's log says why, and it is tried"
        " again",
    )
