"""What a test of the scripts may ask for."""

from pathlib import Path

import pytest

from cluster.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine that has everything and on which nothing was done."""
    return Machine.new(tmp_path)
