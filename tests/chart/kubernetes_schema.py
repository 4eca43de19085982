"""What is wrong with an object by Kubernetes' own schema."""

from collections.abc import Iterator
from typing import Any

from kubernetes.aio.client import models
from pydantic import BaseModel, ValidationError

from bench.cluster_api import Body

# Only the kinds that the chart may make: another group or version of one is a mistake too.
_MODELS = {
    ("v1", "Service"): "V1Service",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("apps/v1", "Deployment"): "V1Deployment",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "V1ClusterRole",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "V1ClusterRoleBinding",
    ("rbac.authorization.k8s.io/v1", "Role"): "V1Role",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "V1RoleBinding",
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): "V1CustomResourceDefinition",
}


def problems(body: Body) -> list[str]:
    """Every unknown field, missing field and wrong type, by its path."""
    name = _MODELS.get((str(body.get("apiVersion")), str(body.get("kind"))))
    if name is None:
        return [f"{body.get('apiVersion')} {body.get('kind')} is not expected"]
    model: type[BaseModel] = getattr(models, name)
    try:
        understood = model.model_validate(body, strict=True)
    except ValidationError as wrong:
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors()]
    # The models also take the names that fields have in Python.
    return list(_lost(body, understood.model_dump(by_alias=True, exclude_unset=True)))


def _lost(body: Any, understood: Any, path: str = "") -> Iterator[str]:
    if isinstance(body, dict):
        for key, value in body.items():
            within = f"{path}.{key}".removeprefix(".")
            if key not in understood:
                yield f"{within}: no such field"
            else:
                yield from _lost(value, understood[key], within)
    elif isinstance(body, list):
        for number, (value, known) in enumerate(zip(body, understood, strict=True)):
            yield from _lost(value, known, f"{path}.{number}")
