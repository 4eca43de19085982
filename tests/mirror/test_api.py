"""Whether the directory follows a real API server, through changes, restarts and refusals."""

import asyncio
import json
import os
import signal
import statistics
from pathlib import Path

import pytest

from bench.cluster_api import CONFIG_MAP, ClusterApi
from bench.controlplane import ControlPlane
from bench.waiting import until
from mirror import reader, rights
from mirror.published import config_map, view_config_map, view_document
from mirror.running import running
from pointsman_contract import labels

STARTED = "mirroring"


async def publish(
    cluster: ClusterApi, release: str, *names: str, text: str | None = None, number: int = 0
) -> None:
    for name in names:
        body = config_map("tools", name, text, release=release, number=number)
        await cluster.apply(CONFIG_MAP, body)


async def unpublish(cluster: ClusterApi, release: str, *names: str) -> None:
    for name in names:
        await cluster.delete(CONFIG_MAP, labels.config_map_name("tools", name), release)


async def test_what_is_created_changed_and_deleted_shows_in_the_directory(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    await publish(cluster, release_namespace, "github")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()

        await mirror.shows("tools.github")

        await publish(cluster, release_namespace, "search")

        await mirror.shows("tools.github", "tools.search")

        await publish(cluster, release_namespace, "search", text='{"url": "http://new.example"}')

        await until(lambda: mirror.servers["tools.search"] == {"url": "http://new.example"})

        await unpublish(cluster, release_namespace, "github")

        await mirror.shows("tools.search")


async def test_views_come_change_and_go_beside_the_servers(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    support = view_config_map("tools", "support", release=release_namespace)
    await publish(cluster, release_namespace, "support")
    await cluster.apply(CONFIG_MAP, support)
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.shows("tools.support", "tools.support.view", deadline_s=15)
        assert await mirror.metric("pointsman_mirror_servers") == 1
        assert await mirror.metric("pointsman_mirror_views") == 1

        edited = view_config_map("tools", "support", release=release_namespace, tools=["github.*"])
        wrong = view_config_map(
            "dev", "wrong", view_document("tools", "x"), release=release_namespace
        )
        await cluster.apply(CONFIG_MAP, edited)
        await cluster.apply(CONFIG_MAP, wrong)

        def shown() -> object:
            return mirror.servers["tools.support.view"]

        await until(
            lambda: shown() == json.loads(view_document("tools", "support", tools=["github.*"]))
        )
        mismatched = {"reason": "IdentityMismatch"}
        await until(lambda: mirror.metric("pointsman_mirror_skipped", **mismatched))
        assert sorted(mirror.servers) == ["tools.support", "tools.support.view"]

        name = labels.view_config_map_name("tools", "support")
        await cluster.delete(CONFIG_MAP, name, release_namespace)

        await mirror.shows("tools.support")
        (line,) = mirror.lines("publishes nothing")
        assert line["object"] == labels.view_config_map_name("dev", "wrong")


async def test_objects_without_the_label_or_in_other_namespaces_are_not_seen(
    mirror_kubeconfig: Path,
    release_namespace: str,
    namespace: str,
    cluster: ClusterApi,
    tmp_path: Path,
) -> None:
    unlabelled = config_map("tools", "unlabelled", release=release_namespace)
    del unlabelled["metadata"]["labels"][labels.META]
    await cluster.apply(CONFIG_MAP, unlabelled)
    await publish(cluster, namespace, "elsewhere")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()
        await publish(cluster, release_namespace, "github")
        await mirror.shows("tools.github")

        await publish(cluster, namespace, "elsewhere-too")
        await publish(cluster, release_namespace, "search")

        await mirror.shows("tools.github", "tools.search")


async def test_an_empty_namespace_is_a_generation_without_servers_and_ready(
    mirror_kubeconfig: Path, release_namespace: str, tmp_path: Path
) -> None:
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()

        assert reader.read(tmp_path) == {}
        assert await mirror.metric("pointsman_mirror_servers") == 0


async def test_a_change_is_in_force_at_once(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    await publish(cluster, release_namespace, *(f"s{number}" for number in range(20)))
    clock = asyncio.get_running_loop().time
    delays_s = []
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()
        for number in range(1, 21):
            await publish(cluster, release_namespace, "s7", number=number)
            applied_s = clock()
            wanted = f'"number": {number},'.encode()

            def is_in_force(wanted: bytes = wanted) -> bool:
                return wanted in reader.read(tmp_path)["tools.s7"]

            await until(is_in_force, every_s=0.002)
            delays_s.append(clock() - applied_s)

    # Some 40 ms on an idle machine; what counts is that no poll or long pause lies in between.
    assert statistics.median(delays_s) < 0.25


async def test_all_that_is_there_at_the_start_is_one_generation(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    names = [f"s{number}" for number in range(60)]
    await publish(cluster, release_namespace, *names)
    with running(mirror_kubeconfig, release_namespace, tmp_path, PAGE_SIZE="7") as mirror:
        await mirror.is_ready()

        assert sorted(mirror.servers) == sorted(f"tools.{name}" for name in names)
        assert await mirror.metric("pointsman_mirror_generations_total") == 1
        assert await mirror.metric("pointsman_mirror_servers") == 60


async def test_a_burst_of_changes_is_a_handful_of_generations(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()
        names = [f"s{number}" for number in range(200)]
        begun_s = asyncio.get_running_loop().time()
        await asyncio.gather(*(publish(cluster, release_namespace, name) for name in names))
        await mirror.shows(*(f"tools.{name}" for name in names), deadline_s=15)
        burst_s = asyncio.get_running_loop().time() - begun_s

        # One per 100 ms at most, and the empty one of the start.
        assert await mirror.metric("pointsman_mirror_generations_total") <= 2 + burst_s / 0.1


async def test_a_restart_writes_nothing_when_nothing_has_changed(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    await publish(cluster, release_namespace, "github", "search")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()
        written_s = await mirror.metric("pointsman_mirror_generation_timestamp_seconds")
    target = os.readlink(tmp_path / "..data")

    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.is_ready()
        await until(lambda: mirror.metric("pointsman_mirror_servers"), what="it has listed")

        assert os.readlink(tmp_path / "..data") == target
        assert reader.generations(tmp_path) == [target]
        assert await mirror.metric("pointsman_mirror_generations_total") == 0
        assert await mirror.metric("pointsman_mirror_generation_timestamp_seconds") == written_s


async def test_a_restart_catches_up_with_what_happened_meanwhile(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    await publish(cluster, release_namespace, "github", "search")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.shows("tools.github", "tools.search", deadline_s=15)
        mirror.program.kill()
        await unpublish(cluster, release_namespace, "github")
        await publish(cluster, release_namespace, "zoo")

        mirror.program.start()

        await mirror.shows("tools.search", "tools.zoo", deadline_s=15)


async def test_changes_that_no_reader_would_notice_write_nothing(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    await publish(cluster, release_namespace, "github")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.shows("tools.github", deadline_s=15)
        target = os.readlink(tmp_path / "..data")
        heard_s = await mirror.metric("pointsman_mirror_last_word_timestamp_seconds")
        patch = {"metadata": {"annotations": {labels.SERVER_GENERATION: "7"}}}
        object_name = labels.config_map_name("tools", "github")
        await cluster.patch(CONFIG_MAP, object_name, patch, release_namespace)

        async def has_heard() -> bool:
            now_s = await mirror.metric("pointsman_mirror_last_word_timestamp_seconds")
            return now_s > heard_s

        await until(has_heard)
        await publish(cluster, release_namespace, "search")
        await mirror.shows("tools.github", "tools.search")

        assert reader.generations(tmp_path) == sorted([target, os.readlink(tmp_path / "..data")])


async def test_it_asks_for_nothing_but_its_own_namespace(
    control_plane: ControlPlane,
    mirror_kubeconfig: Path,
    release_namespace: str,
    cluster: ClusterApi,
    tmp_path: Path,
) -> None:
    user = f"system:serviceaccount:{release_namespace}:{rights.ACCOUNT}"
    mark = control_plane.audit.mark()
    await publish(cluster, release_namespace, "github")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.shows("tools.github", deadline_s=15)
        await publish(cluster, release_namespace, "search")
        await mirror.shows("tools.github", "tools.search")
    await until(lambda: len(control_plane.audit.since(mark, user=user)) >= 2)

    asked = {
        (request.verb, request.resource, request.namespace, request.status)
        for request in control_plane.audit.since(mark, user=user)
    }
    assert asked == {
        ("list", "configmaps", release_namespace, 200),
        ("watch", "configmaps", release_namespace, 200),
    }


async def test_a_mirror_that_may_not_list_says_so_once_and_is_not_ready(
    control_plane: ControlPlane,
    mirror_kubeconfig: Path,
    release_namespace: str,
    cluster: ClusterApi,
    tmp_path: Path,
) -> None:
    rights.unbind(control_plane, release_namespace)
    await publish(cluster, release_namespace, "github")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:

        async def refused() -> bool:
            failures = "pointsman_mirror_watch_failures_total"
            return await mirror.metric(failures, cause="Forbidden") >= 4

        await mirror.program.answers(f"{mirror.admin}/livez")
        await until(refused, deadline_s=15)
        status, text = await mirror.ask("/readyz")
        (line,) = mirror.lines("word is lost")

        assert status == 503
        assert "Forbidden" in text
        assert line["cause"] == "Forbidden"
        assert "cannot list resource" in str(line["detail"])
        assert reader.generations(tmp_path) == []

        rights.bind(control_plane, release_namespace)
        await mirror.shows("tools.github", deadline_s=5)
        await mirror.is_ready()

        assert len(mirror.lines("heard again")) == 1


async def test_a_mirror_that_loses_its_role_keeps_the_last_generation_until_it_is_back(
    control_plane: ControlPlane,
    mirror_kubeconfig: Path,
    release_namespace: str,
    cluster: ClusterApi,
    tmp_path: Path,
) -> None:
    await publish(cluster, release_namespace, "github", "search")
    with running(mirror_kubeconfig, release_namespace, tmp_path, SILENCE_SECONDS="1") as mirror:
        await mirror.shows("tools.github", "tools.search", deadline_s=15)
        target = os.readlink(tmp_path / "..data")
        rights.unbind(control_plane, release_namespace)
        # The watch that is open goes on: what asks anew is refused.
        await until(lambda: any(line["cause"] == "Forbidden" for line in mirror.lines("is lost")))
        await unpublish(cluster, release_namespace, "github")
        await publish(cluster, release_namespace, "zoo")
        mirror.program.kill()
        mirror.program.start()
        await mirror.is_ready()
        await until(lambda: len([line for line in mirror.log if line["message"] == STARTED]) == 2)

        assert os.readlink(tmp_path / "..data") == target
        assert sorted(mirror.servers) == ["tools.github", "tools.search"]

        rights.bind(control_plane, release_namespace)

        await mirror.shows("tools.search", "tools.zoo", deadline_s=5)


async def test_forged_objects_are_named_in_the_log_and_counted(
    mirror_kubeconfig: Path, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    await publish(cluster, release_namespace, "github")
    forged = [
        config_map("tools", "github", object_name="overlay", release=release_namespace),
        config_map("a.b", "c", "{}", object_name="dotted", release=release_namespace),
    ]
    for body in forged:
        await cluster.create(CONFIG_MAP, body)
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.shows("tools.github", deadline_s=15)
        lines = await until(lambda: mirror.lines("publishes nothing"))

        assert [(line["object"], line["reason"]) for line in lines] == [
            ("dotted", "InvalidLabels"),
            ("overlay", "Duplicate"),
        ]
        assert await mirror.metric("pointsman_mirror_skipped", reason="Duplicate") == 1

        for body in forged:
            await cluster.delete(CONFIG_MAP, body["metadata"]["name"], release_namespace)

        async def none_skipped() -> bool:
            return await mirror.metric("pointsman_mirror_skipped", reason="Duplicate") == 0

        await until(none_skipped)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
async def test_a_signal_ends_it_and_leaves_its_directory_whole(
    number: signal.Signals,
    mirror_kubeconfig: Path,
    release_namespace: str,
    cluster: ClusterApi,
    tmp_path: Path,
) -> None:
    await publish(cluster, release_namespace, "github")
    with running(mirror_kubeconfig, release_namespace, tmp_path) as mirror:
        await mirror.shows("tools.github", deadline_s=15)
        mirror.program.send(number)

        assert await mirror.program.ends(5) == 0
        assert list(mirror.servers) == ["tools.github"]
        assert mirror.log[-1]["message"] == "ended"
