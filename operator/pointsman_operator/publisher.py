"""How a decision about one ConfigMap is carried out, and what is known after it."""

from collections.abc import Mapping

from pointsman_operator import manifests, seen
from pointsman_operator.cluster import Cluster
from pointsman_operator.manifests import Manifest
from pointsman_operator.metrics import Kind, Metrics
from pointsman_operator.reconcile import Apply, Cleanse, Create, Remove, Replace, Write
from pointsman_operator.seen import ConfigMap
from pointsman_operator.store import Sights


class Publisher:
    """Writes ConfigMaps; what comes back is known at once, not only when an event tells."""

    def __init__(self, cluster: Cluster, known: Sights[ConfigMap], metrics: Metrics) -> None:
        self._cluster = cluster
        self._known = known
        self._writes = metrics.api_writes.labels(Kind.CONFIG_MAP)

    async def carry_out(self, write: Write) -> None:
        """Do what was decided; raises ApiError, Conflict where the object is another by now."""
        match write:
            case Create(manifest):
                await self._create(manifest)
            case Apply(manifest, observed):
                await self._apply(manifest, observed)
            case Cleanse(manifest, observed):
                await self._cleanse(manifest, observed)
            case Replace(manifest, observed):
                await self._delete(observed)
                await self._create(manifest)
            case Remove(observed):
                await self._delete(observed)

    async def _create(self, manifest: Manifest) -> None:
        self._writes.inc()
        self._take(await self._cluster.create_config_map(manifests.body_of(manifest)))

    async def _apply(self, manifest: Manifest, observed: ConfigMap) -> None:
        # The uid keeps an apply from reaching, or making, another object of that name.
        body = _with_metadata(manifests.body_of(manifest), {"uid": observed.uid})
        self._writes.inc()
        self._take(await self._cluster.apply_config_map(manifest.name, body))

    async def _cleanse(self, manifest: Manifest, observed: ConfigMap) -> None:
        body = dict(_with_metadata(manifests.body_of(manifest), {"uid": observed.uid}))
        body["data"] = {manifest.data_key: manifest.document, **dict.fromkeys(observed.strangers)}
        if observed.binary_strangers:
            body["binaryData"] = None
        self._writes.inc()
        self._take(await self._cluster.merge_config_map(manifest.name, body))

    async def _delete(self, observed: ConfigMap) -> None:
        self._writes.inc()
        await self._cluster.delete_config_map(
            observed.name, uid=observed.uid, version=observed.version
        )
        self._known.drop(observed.name, observed.version + 1)

    def _take(self, body: Mapping[str, object]) -> None:
        config_map = seen.config_map(body)
        self._known.put(config_map.name, config_map)


def _with_metadata(body: manifests.JSON, more: Mapping[str, object]) -> manifests.JSON:
    metadata = body.get("metadata")
    assert isinstance(metadata, Mapping), "every body has metadata"
    return {**body, "metadata": {**metadata, **more}}
