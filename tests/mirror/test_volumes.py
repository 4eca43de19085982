"""What the program does when its volume is full or cannot be written to, and in a pod."""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench import kubeconfig
from bench.cluster_api import CONFIG_MAP, SERVICE_ACCOUNT, ClusterApi
from bench.controlplane import ControlPlane
from bench.waiting import until
from mirror import mounts, reader, rights, running
from mirror.published import config_map

# What a volume of this size takes beside the generation in force: less than another one.
SIZE = "256k"
PAD = "x" * 60_000
BALLAST = 120 * 1024
WRITE_FAILURES = "pointsman_mirror_write_failures_total"


def fill(volume: Path, _: int, __: Path) -> None:
    (volume / "ballast").write_bytes(b"x" * BALLAST)


def drain(volume: Path, _: int, __: Path) -> None:
    (volume / "ballast").unlink()


def forbid(_: Path, pid: int, directory: Path) -> None:
    mounts.remount(pid, directory, "ro")


def permit(_: Path, pid: int, directory: Path) -> None:
    mounts.remount(pid, directory, "rw")


Turn = Callable[[Path, int, Path], None]


@pytest.mark.parametrize(
    ("spoil", "mend"),
    [pytest.param(fill, drain, id="full"), pytest.param(forbid, permit, id="read-only")],
)
async def test_a_spoilt_volume_keeps_its_generation_and_gets_the_next_once_mended(
    spoil: Turn,
    mend: Turn,
    mirror_kubeconfig: Path,
    release_namespace: str,
    cluster: ClusterApi,
    tmp_path: Path,
) -> None:
    mounts.demand()
    github = config_map("tools", "github", release=release_namespace, pad=PAD)
    await cluster.apply(CONFIG_MAP, github)
    environment = {
        "KUBECONFIG": str(mirror_kubeconfig),
        "POINTSMAN_MIRROR_NAMESPACE": release_namespace,
    }
    command = mounts.on_a_small_volume(running.COMMAND, tmp_path, SIZE)
    with running.started(command, environment, tmp_path) as mirror:
        await mirror.is_ready()
        volume = mounts.seen_by(mirror.program.pid, tmp_path)
        target = os.readlink(volume / "..data")
        spoil(volume, mirror.program.pid, tmp_path)
        search = config_map("tools", "search", release=release_namespace, pad=PAD)
        await cluster.apply(CONFIG_MAP, search)

        async def has_tried_again() -> bool:
            return await mirror.metric(WRITE_FAILURES) >= 2

        await until(has_tried_again)
        status, _ = await mirror.ask("/readyz")

        assert status == 200
        assert os.readlink(volume / "..data") == target
        assert list(reader.read(volume)) == ["tools.github"]
        assert len(mirror.lines("could not be written")) == 1

        mend(volume, mirror.program.pid, tmp_path)

        await until(lambda: len(reader.read(volume)) == 2, deadline_s=5, what="both in force")
        assert reader.generations(volume) == sorted({target, os.readlink(volume / "..data")})


async def test_in_a_pod_it_goes_by_the_service_account_and_follows_its_token(
    control_plane: ControlPlane, release_namespace: str, cluster: ClusterApi, tmp_path: Path
) -> None:
    mounts.demand()
    account, servers = tmp_path / "account", tmp_path / "servers"
    account.mkdir()

    def project(access: kubeconfig.Access) -> None:
        (account / "token.new").write_text(access.token)
        (account / "token.new").rename(account / "token")

    first = kubeconfig.read(rights.grant(control_plane, release_namespace))
    (account / "ca.crt").write_text(first.authority)
    (account / "namespace").write_text(release_namespace)
    project(first)
    address = urlsplit(first.server)
    environment = {
        "KUBERNETES_SERVICE_HOST": str(address.hostname),
        "KUBERNETES_SERVICE_PORT": str(address.port),
        "POINTSMAN_MIRROR_SILENCE_SECONDS": "1",
    }
    await cluster.apply(CONFIG_MAP, config_map("tools", "github", release=release_namespace))
    command = mounts.in_a_pod(running.COMMAND, account)
    with running.started(command, environment, servers) as mirror:
        await mirror.shows("tools.github", deadline_s=15)
        await cluster.delete(SERVICE_ACCOUNT, rights.ACCOUNT, release_namespace)
        await until(
            lambda: any(line["cause"] == "Unauthorized" for line in mirror.lines("is lost")),
            deadline_s=30,
        )
        await cluster.apply(CONFIG_MAP, config_map("tools", "search", release=release_namespace))
        project(kubeconfig.read(control_plane.kubeconfig_of(release_namespace, rights.ACCOUNT)))

        await mirror.shows("tools.github", "tools.search", deadline_s=5)
