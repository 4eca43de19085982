"""A service account with the rights of a mirror."""

from pathlib import Path

import pytest

from bench.controlplane import ControlPlane
from mirror import rights


@pytest.fixture
def mirror_kubeconfig(control_plane: ControlPlane, release_namespace: str) -> Path:
    """How the mirror reaches the API server."""
    return rights.grant(control_plane, release_namespace)
