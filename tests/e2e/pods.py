"""Pods of the tests' own, as they may run where only restricted ones do."""

from typing import Any

_USER = 65532


def pod(
    namespace: str, name: str, image: str, volumes: list[dict[str, Any]], **container: Any
) -> dict[str, Any]:
    """A pod of one container, which is named as the pod is."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER,
                "runAsGroup": _USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": name,
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    **container,
                }
            ],
            "volumes": volumes,
        },
    }


def namespace(name: str) -> dict[str, Any]:
    """A namespace where only restricted pods may run."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    }


def config_map(namespace: str, name: str, data: dict[str, str]) -> dict[str, Any]:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def idle(namespace: str, name: str, image: str, programs: str) -> dict[str, Any]:
    """A pod that waits to be told what to run of a ConfigMap's programs; it ends at once."""
    wait = "import signal; signal.signal(15, lambda *_: exit()); signal.pause()"
    return pod(
        namespace,
        name,
        image,
        [{"name": "programs", "configMap": {"name": programs}}],
        command=["python3", "-c", wait],
        volumeMounts=[{"name": "programs", "mountPath": "/agent", "readOnly": True}],
    )
