"""The control plane of the tests is a real one, and can be taken away and given back."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench import cluster_api, controlplane
from bench.cluster_api import CONFIG_MAP, NAMESPACE, ClusterApi, Refused, config_map
from bench.controlplane import CommandFailed, ControlPlane
from bench.waiting import until, wait_until

_TESTS = Path(__file__).resolve().parent.parent


def test_kubectl_reaches_the_api_server(control_plane: ControlPlane) -> None:
    names = control_plane.kubectl("get", "namespaces", "--output=name").split()

    assert "namespace/kube-system" in names


def test_a_refusal_of_kubectl_says_what_was_refused(control_plane: ControlPlane) -> None:
    with pytest.raises(CommandFailed, match='namespaces "absent" not found'):
        control_plane.kubectl("get", "namespace", "absent")


async def test_an_object_that_was_created_is_found_and_listed(
    cluster: ClusterApi, namespace: str
) -> None:
    await cluster.create(CONFIG_MAP, config_map("one", namespace, {"k": "v"}, labels={"a": "b"}))

    found = await cluster.get(CONFIG_MAP, "one", namespace)
    listed = await cluster.list(CONFIG_MAP, namespace, labels="a=b")
    assert found["data"] == {"k": "v"}
    assert [one["metadata"]["uid"] for one in listed] == [found["metadata"]["uid"]]


async def test_a_refusal_names_status_reason_and_message(
    cluster: ClusterApi, namespace: str
) -> None:
    with pytest.raises(Refused) as refused:
        await cluster.create(CONFIG_MAP, config_map("Not A Name", namespace, {}))

    assert (refused.value.status, refused.value.reason) == (422, "Invalid")
    assert "Not A Name" in refused.value.message


async def test_an_absent_object_is_found_as_none(cluster: ClusterApi, namespace: str) -> None:
    assert await cluster.find(CONFIG_MAP, "absent", namespace) is None


async def test_strict_validation_refuses_an_unknown_field_that_is_dropped_otherwise(
    cluster: ClusterApi, namespace: str
) -> None:
    body = config_map("odd", namespace, {}) | {"colour": "red"}

    with pytest.raises(Refused, match='unknown field "colour"'):
        await cluster.create(CONFIG_MAP, body, strict=True)
    created = await cluster.create(CONFIG_MAP, body)
    assert "colour" not in created


async def test_apply_owns_only_the_fields_it_names(cluster: ClusterApi, namespace: str) -> None:
    await cluster.apply(CONFIG_MAP, config_map("shared", namespace, {"a": "1"}), manager="first")
    await cluster.apply(CONFIG_MAP, config_map("shared", namespace, {"b": "2"}), manager="second")
    await cluster.apply(CONFIG_MAP, config_map("shared", namespace, {}), manager="second")

    found = await cluster.get(CONFIG_MAP, "shared", namespace)
    assert found["data"] == {"a": "1"}


async def test_a_merge_patch_removes_what_it_sets_to_none(
    cluster: ClusterApi, namespace: str
) -> None:
    await cluster.create(CONFIG_MAP, config_map("one", namespace, {"a": "1", "b": "2"}))

    patched = await cluster.patch(CONFIG_MAP, "one", {"data": {"a": None}}, namespace)

    assert patched["data"] == {"b": "2"}


async def test_the_garbage_collector_deletes_what_a_deleted_owner_leaves(
    cluster: ClusterApi, namespace: str
) -> None:
    owner = await cluster.create(CONFIG_MAP, config_map("owner", namespace, {}))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    owned = config_map("owned", namespace, {}, ownerReferences=[reference])
    await cluster.create(CONFIG_MAP, owned)

    await cluster.delete(CONFIG_MAP, "owner", namespace)

    async def gone() -> bool:
        return await cluster.find(CONFIG_MAP, "owned", namespace) is None

    await until(gone, deadline_s=30, what="the owned object is collected")


async def test_a_deleted_namespace_ends_by_itself(
    control_plane: ControlPlane, cluster: ClusterApi
) -> None:
    with control_plane.namespace() as name:
        await cluster.create(CONFIG_MAP, config_map("one", name, {}))

    async def gone() -> bool:
        return await cluster.find(NAMESPACE, name) is None

    await until(gone, deadline_s=60, what="the namespace ends")


async def test_the_audit_log_counts_the_writes_of_one_client(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str
) -> None:
    mark = control_plane.audit.mark()

    await cluster.create(CONFIG_MAP, config_map("one", namespace, {}))
    await cluster.list(CONFIG_MAP, namespace)
    await cluster.delete(CONFIG_MAP, "one", namespace)

    def writes() -> list[tuple[str, str, str]]:
        found = control_plane.audit.writes(mark, agent="pointsman-tests")
        return [(one.verb, one.resource, one.namespace) for one in found]

    await until(lambda: len(writes()) >= 2, what="both writes are logged")
    assert writes() == [
        ("create", "configmaps", namespace),
        ("delete", "configmaps", namespace),
    ]


async def test_a_service_account_may_do_only_what_it_was_granted(
    control_plane: ControlPlane, cluster: ClusterApi, namespace: str
) -> None:
    path = control_plane.kubeconfig_of(namespace, "reader")
    grant = ["create", "role", "reader", "--verb=list", "--resource=configmaps", "-n", namespace]
    control_plane.kubectl(*grant)
    bind = ["create", "rolebinding", "reader", "--role=reader", "-n", namespace]
    control_plane.kubectl(*bind, f"--serviceaccount={namespace}:reader")

    async with cluster_api.connected(path) as reader:
        with pytest.raises(Refused) as refused:
            await reader.create(CONFIG_MAP, config_map("one", namespace, {}))

        async def allowed() -> bool:
            return bool(await reader.list(CONFIG_MAP, namespace))

        # The authoriser learns of a new binding by a watch.
        await until(allowed, what="the reader may list", ignoring=(Refused,))
    assert (refused.value.status, refused.value.reason) == (403, "Forbidden")


@pytest.fixture
def bare_control_plane(tmp_path: Path) -> object:
    with controlplane.running(tmp_path / "bare") as running:
        yield running


async def test_an_api_server_that_comes_back_has_its_port_and_its_data(
    bare_control_plane: ControlPlane,
) -> None:
    before = bare_control_plane.server
    async with cluster_api.connected(bare_control_plane.kubeconfig) as api:
        await api.create(CONFIG_MAP, config_map("kept", "default", {"k": "v"}))
        await asyncio.to_thread(bare_control_plane.stop)
        with pytest.raises(OSError, match="Cannot connect"):
            await api.get(CONFIG_MAP, "kept", "default")

        await asyncio.to_thread(bare_control_plane.start)

        found = await api.get(CONFIG_MAP, "kept", "default")
    assert found["data"] == {"k": "v"}
    assert bare_control_plane.server == before


def test_two_control_planes_run_side_by_side(
    control_plane: ControlPlane, bare_control_plane: ControlPlane
) -> None:
    bare_control_plane.kubectl("create", "namespace", "only-here")

    with pytest.raises(CommandFailed, match="not found"):
        control_plane.kubectl("get", "namespace", "only-here")


def test_a_killed_test_run_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from bench import controlplane\n"
        "with controlplane.running(pathlib.Path(sys.argv[1])) as plane:\n"
        "    print(*(plane.pid(name) for name in ('etcd', 'kube-apiserver')), flush=True)\n"
        "    time.sleep(600)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "plane")],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with run:
        assert run.stdout is not None
        pids = [int(word) for word in run.stdout.readline().split()]
        run.send_signal(signal.SIGKILL)

    wait_until(
        lambda: (
            not any(Path(f"/proc/{pid}").exists() for pid in pids)
            and not (tmp_path / "plane").exists()
        ),
        deadline_s=30,
        what="the processes and the folder are gone",
    )
    assert len(pids) == 2
