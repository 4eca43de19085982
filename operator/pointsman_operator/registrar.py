"""The prefix register as a ConfigMap: read at the start, written before it counts."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from pointsman_contract import labels, register
from pointsman_contract.register import InvalidRegister, Register
from pointsman_operator import apierrors, manifests
from pointsman_operator.apierrors import ApiError
from pointsman_operator.claims import Claims
from pointsman_operator.cluster import Cluster
from pointsman_operator.intake import REGISTER, Intake
from pointsman_operator.metrics import Kind, Metrics
from pointsman_operator.workqueue import WorkQueue


class Registrar:
    """Keeps the register as the claims are; nobody else's change is overwritten unseen."""

    def __init__(
        self,
        cluster: Cluster,
        claims: Claims,
        intake: Intake,
        queue: WorkQueue,
        metrics: Metrics,
        *,
        namespace: str,
        clock: Callable[[], datetime],
        logger: logging.Logger,
    ) -> None:
        self._cluster = cluster
        self._claims = claims
        self._intake = intake
        self._queue = queue
        self._writes = metrics.api_writes.labels(Kind.REGISTER)
        self._namespace = namespace
        self._clock = clock
        self._logger = logger
        self._uid: object = None
        self._version: str | None = None
        self._last_read: Register = {}
        self._is_doubtful = False
        self.failure: ApiError | None = None
        """Why the register could not be kept; None once it could."""

    async def begin(self) -> None:
        """Settle everybody's claims by the register; raises InvalidRegister, ApiError."""
        self._last_read = await self._read() or {}
        self._intake.arbitrate(self._last_read)

    def doubt(self) -> None:
        """Note that somebody else may have changed the register."""
        self._is_doubtful = True

    async def keep(self) -> bool:
        """Write the register if it is not as it is to be; say whether it was not.

        Raises ApiError.
        """
        try:
            written = await self._keep()
        except apierrors.Conflict:
            self._is_doubtful = True
            raise
        except ApiError as exc:
            self.failure = exc
            self._intake.look_again(self._claims.waiting)
            raise
        self.failure = None
        return written

    async def _keep(self) -> bool:
        if self._is_doubtful:
            await self._check()
            self._is_doubtful = False
        now = self._clock()
        self._intake.look_again(self._claims.end_grace(now=now))
        written = not self._claims.is_register_right
        if written:
            await self._write(self._claims.register)
        if (deadline := self._claims.deadline) is not None:
            remaining_s = max(0.0, (deadline - now).total_seconds())
            self._queue.wake(REGISTER, self._queue.now_s() + remaining_s)
        return written

    async def _check(self) -> None:
        try:
            found = await self._read()
        except InvalidRegister as exc:
            self._logger.error("the register is spoilt", extra={"fault": str(exc)})
            found = None
        if found is None:
            self._claims.wrote({})
        elif found != self._last_read:
            self._last_read = found
            self._intake.arbitrate(found)

    async def _write(self, claims: Register) -> None:
        self._writes.inc()
        await self._put(claims)
        self._last_read = claims
        self._intake.look_again(self._claims.wrote(claims))

    async def _read(self) -> Register | None:
        body = await self._cluster.find_config_map(labels.REGISTER_NAME)
        if body is None:
            self._version = None
            return None
        metadata, data = _members(body, "metadata"), _members(body, "data")
        labelled = _members(metadata, "labels").get(labels.MANAGED_BY) == labels.MANAGER
        if not labelled and metadata.get("uid") != self._uid:
            raise apierrors.Refused(
                f"ConfigMap {labels.REGISTER_NAME} has no label"
                f" {labels.MANAGED_BY}={labels.MANAGER}: delete or rename it"
            )
        self._take(body)
        if not labelled:
            raise InvalidRegister(f"ConfigMap {labels.REGISTER_NAME} has lost its label")
        text = data.get(register.DATA_KEY)
        if not isinstance(text, str):
            raise InvalidRegister(f"ConfigMap {labels.REGISTER_NAME} has no {register.DATA_KEY}")
        return register.load(text)

    async def _put(self, claims: Register) -> None:
        text = register.dump(claims)
        if len(text) > register.MAX_BYTES:
            raise apierrors.Refused(f"the register would be larger than {register.MAX_BYTES} bytes")
        metadata: dict[str, object] = {
            "name": labels.REGISTER_NAME,
            "namespace": self._namespace,
            "labels": {labels.MANAGED_BY: labels.MANAGER},
        }
        body: manifests.JSON = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {register.DATA_KEY: text},
        }
        if self._version is None:
            written = await self._cluster.create_config_map(body)
        else:
            metadata["resourceVersion"] = self._version
            written = await self._cluster.apply_config_map(labels.REGISTER_NAME, body)
        self._take(written)

    def _take(self, body: Mapping[str, object]) -> None:
        metadata = _members(body, "metadata")
        self._uid = metadata.get("uid")
        self._version = str(metadata.get("resourceVersion", ""))


def _members(body: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = body.get(key)
    return value if isinstance(value, Mapping) else {}
