"""What every test may ask for."""

import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from bench import cluster_api, controlplane, peers
from bench.cluster_api import ClusterApi
from bench.controlplane import ControlPlane
from bench.peers import Peer

# A busy machine may take its time over generated input. The suite asks the same each time, so
# that a change is judged by what it changed; new input is sought with --hypothesis-profile=search.
settings.register_profile("bench", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.register_profile("nightly", deadline=None, max_examples=100_000)
settings.load_profile("bench")


@pytest.fixture(scope="module", autouse=True)
def _no_long_collections() -> None:
    """Have what is there by now never walked again.

    Thousands of tests leave millions of objects behind: a full collection among them would hold a
    test up for a second, and be taken for a fault of what it tests.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The session's API server; no test stops it."""
    with controlplane.running(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture
def own_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of the test's own, with the CRDs, to be stopped and started at will."""
    with controlplane.running(tmp_path_factory.mktemp("own-control-plane")) as running:
        controlplane.install_all(running)
        yield running


@pytest.fixture(scope="session")
def crd(control_plane: ControlPlane) -> Path:
    """Both kinds, established on the session's API server; McpServer's file."""
    controlplane.install_all(control_plane)
    return controlplane.MCP_SERVER


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own: a tenant's."""
    with control_plane.namespace("tenant") as name:
        yield name


@pytest.fixture
def release_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own: where the operator publishes."""
    with control_plane.namespace("release") as name:
        yield name


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[ClusterApi]:
    """The session's API as its administrator."""
    async with cluster_api.connected(control_plane.kubeconfig) as api:
        yield api


@pytest.fixture(scope="session")
def sdk_server() -> Iterator[Peer]:
    """A server on the official SDK 2.x, both eras, legacy with sessions and event streams."""
    with peers.sdk_server() as peer:
        yield peer


@pytest.fixture(scope="session")
def sdk1_server() -> Iterator[Peer]:
    """A server on the official SDK 1.x: legacy, with sessions and event streams."""
    with peers.sdk1_server() as peer:
        yield peer


@pytest.fixture(scope="session")
def everything_server() -> Iterator[Peer]:
    """The reference server `server-everything`: legacy, with sessions and event streams."""
    with peers.everything_server() as peer:
        yield peer
