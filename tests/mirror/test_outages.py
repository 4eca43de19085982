"""What becomes of the directory while the API server is away, and right after."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from bench import cluster_api, controlplane, kubeconfig
from bench.cluster_api import CONFIG_MAP, ClusterApi
from bench.controlplane import ControlPlane
from bench.waiting import until
from mirror import proxy as faulty
from mirror import rights
from mirror.published import config_map
from mirror.running import Running, running
from pointsman_contract import labels
from pointsman_mirror import watch
from pointsman_mirror.hearing import Cause, Changed, Listed, Trouble

# A mirror may have changed what readers see this long after the API server is back.
BACK_WITHIN_S = 5.0


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that a test may stop, if it starts it again."""
    with controlplane.running(tmp_path_factory.mktemp("outage")) as control_plane:
        yield control_plane


@pytest.fixture
def release(outage: ControlPlane) -> Iterator[str]:
    with outage.namespace("release") as name:
        yield name


async def publish(api: ClusterApi, release: str, *names: str, number: int = 0) -> None:
    for name in names:
        body = config_map("tools", name, release=release, number=number)
        await api.apply(CONFIG_MAP, body)


async def unpublish(api: ClusterApi, release: str, *names: str) -> None:
    for name in names:
        await api.delete(CONFIG_MAP, labels.config_map_name("tools", name), release)


def numbers(mirror: Running) -> dict[str, object]:
    found = mirror.servers.items()
    return {folder: whole["number"] for folder, whole in found if isinstance(whole, dict)}


async def test_the_last_generation_outlives_the_api_server_and_its_return_is_noticed(
    outage: ControlPlane, release: str, tmp_path: Path
) -> None:
    granted = rights.grant(outage, release)
    async with cluster_api.connected(outage.kubeconfig) as api:
        await publish(api, release, "github", "search")
    with running(granted, release, tmp_path) as mirror:
        await mirror.shows("tools.github", "tools.search", deadline_s=15)
        target = os.readlink(tmp_path / "..data")
        await asyncio.to_thread(outage.stop)
        try:
            await until(lambda: mirror.lines("is lost"))
            failures = "pointsman_mirror_watch_failures_total"

            async def tries_on() -> bool:
                return await mirror.metric(failures, cause="Unreachable") >= 5

            await until(tries_on, deadline_s=30)
            status, _ = await mirror.ask("/readyz")

            assert status == 200
            assert os.readlink(tmp_path / "..data") == target
        finally:
            await asyncio.to_thread(outage.start)
        async with cluster_api.connected(outage.kubeconfig) as api:
            await unpublish(api, release, "github")
            await publish(api, release, "zoo")

            await mirror.shows("tools.search", "tools.zoo", deadline_s=BACK_WITHIN_S)

        assert len(mirror.lines("heard again")) == 1


async def test_a_mirror_restarted_while_the_api_server_is_away_is_ready_with_what_it_had(
    outage: ControlPlane, release: str, tmp_path: Path
) -> None:
    granted = rights.grant(outage, release)
    async with cluster_api.connected(outage.kubeconfig) as api:
        await publish(api, release, "github")
    with running(granted, release, tmp_path) as mirror:
        await mirror.shows("tools.github", deadline_s=15)
        await asyncio.to_thread(outage.stop)
        try:
            mirror.program.kill()
            mirror.program.start()
            await mirror.is_ready()
            await until(lambda: mirror.lines("is lost"))

            assert list(mirror.servers) == ["tools.github"]
        finally:
            await asyncio.to_thread(outage.start)
        async with cluster_api.connected(outage.kubeconfig) as api:
            await publish(api, release, "search")

            await mirror.shows("tools.github", "tools.search", deadline_s=BACK_WITHIN_S)


async def test_of_a_hundred_changes_that_a_watch_can_no_longer_tell_none_is_lost(
    outage: ControlPlane, release: str, tmp_path: Path
) -> None:
    granted = rights.grant(outage, release)
    kept = [f"kept-{number}" for number in range(50)]
    gone = [f"gone-{number}" for number in range(50)]
    async with cluster_api.connected(outage.kubeconfig) as api:
        await publish(api, release, *kept, *gone)
    with running(granted, release, tmp_path) as mirror:
        await mirror.shows(*(f"tools.{name}" for name in kept + gone), deadline_s=15)
        mirror.program.send(signal.SIGSTOP)
        async with cluster_api.connected(outage.kubeconfig) as api:
            await publish(api, release, *kept, number=2)
            await unpublish(api, release, *gone)
        # What a watch could have continued from is forgotten with the process that knew it.
        await asyncio.to_thread(outage.stop)
        await asyncio.to_thread(outage.start)
        mirror.program.send(signal.SIGCONT)

        expected = {f"tools.{name}": 2 for name in kept}
        await until(lambda: numbers(mirror) == expected, BACK_WITHIN_S, "all changes in force")


async def test_a_version_that_the_api_server_has_forgotten_leads_to_a_new_list(
    outage: ControlPlane, release: str, tmp_path: Path
) -> None:
    access = kubeconfig.read(outage.kubeconfig)
    may_go_on = asyncio.Event()
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(faulty.before(access))
        api = await stack.enter_async_context(cluster_api.connected(outage.kubeconfig))
        await publish(api, release, "github", "search")
        path = faulty.kubeconfig_through(proxy, access, tmp_path / "kubeconfig")
        source = watch.Source(release, str(path), page_size=100, silence_s=70.0, retry_max_s=2.0)
        events = await stack.enter_async_context(aclosing(watch.events(source)))
        first = await anext(events)
        await publish(api, release, "zoo")
        change = await anext(events)
        proxy.watch_faults.append(proxy.held(may_go_on))
        following = asyncio.ensure_future(anext(events))
        proxy.end_streams()
        await until(lambda: len(proxy.watches) == 2, what="the watch goes on")
        await unpublish(api, release, "github")
        await asyncio.to_thread(outage.stop)
        await asyncio.to_thread(outage.start)
        may_go_on.set()
        trouble = await following
        after = await anext(events)

    assert isinstance(first, Listed)
    assert isinstance(change, Changed)
    assert isinstance(trouble, Trouble)
    assert trouble.cause is Cause.EXPIRED
    assert isinstance(after, Listed)
    assert set(first.items) - set(after.items) == {labels.config_map_name("tools", "github")}
    assert set(after.items) - set(first.items) == {labels.config_map_name("tools", "zoo")}
