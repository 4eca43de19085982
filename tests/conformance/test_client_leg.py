"""The official suite as an upstream that looks closely at what the router sends."""

import shlex
import sys
from pathlib import Path

import pytest

from conformance import suite
from conformance.suite import ERAS

_ADAPTER = shlex.join([sys.executable, str(Path(__file__).with_name("adapter.py"))])
ROWS = [
    pytest.param(era, one.name, id=f"{era}-{one.kind}-{one.name}")
    for era in ERAS
    for one in suite.scenarios("client", era)
]


@pytest.mark.parametrize(("era", "scenario"), ROWS)
def test_a_scenario_passes_unless_the_baseline_says_why_not(
    era: str, scenario: str, tmp_path: Path
) -> None:
    found = suite.against_client(_ADAPTER, scenario, era, tmp_path)
    reason = suite.baseline("client", era).get(scenario)

    if reason is None:
        assert found.shortfalls(scenario) == (), found.output[-4000:]
    else:
        assert found.shortfalls(scenario), f"it passes now: take it out of the baseline ({reason})"
