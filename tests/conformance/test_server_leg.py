"""The official suite against the router, as an agent that looks closely."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from bench import peers, stack
from bench.directories import lay
from bench.waiting import wait_until
from conformance import suite
from conformance.agent import listed
from conformance.suite import ERAS, Findings

Run = Callable[[str], Findings]
ROWS = [
    pytest.param(era, one.name, id=f"{era}-{one.kind}-{one.name}")
    for era in ERAS
    for one in suite.scenarios("server", era)
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The suite's findings about the router in front of the fixture, in one revision."""
    directory = tmp_path_factory.mktemp("servers")
    with peers.fixture() as fixture:
        lay(directory, "fixture", url=fixture.url, expose=["Tools", "Resources", "Prompts"])
        with stack.router(directory) as (_, url, _admin):
            # Under a server's own address its names are bare, as the suite calls them.
            bare = f"{url}/servers/fixture"
            wait_until(lambda: "add" in listed(bare), 30, "the fixture is listed")

            @cache
            def findings(era: str) -> Findings:
                return suite.against_server(bare, era, tmp_path_factory.mktemp("checks"))

            yield findings


@pytest.mark.parametrize(("era", "scenario"), ROWS)
def test_a_scenario_passes_unless_the_baseline_says_why_not(
    era: str, scenario: str, run: Run
) -> None:
    shortfalls = run(era).shortfalls(scenario)
    reason = suite.baseline("server", era).get(scenario)

    if reason is None:
        assert shortfalls == ()
    else:
        assert shortfalls, f"it passes now: take it out of the baseline ({reason})"


@pytest.mark.parametrize("leg", ["server", "client"])
@pytest.mark.parametrize("era", ERAS)
def test_the_baseline_names_scenarios_of_the_suite_only(leg: str, era: str) -> None:
    known = {one.name for one in suite.scenarios(leg, era)}

    assert set(suite.baseline(leg, era)) <= known


@pytest.mark.parametrize("era", ERAS)
def test_the_fixture_alone_passes_everything(era: str, tmp_path: Path) -> None:
    # Otherwise a shortfall of the fixture's would be taken for one of the router's.
    with peers.fixture() as fixture:
        found = suite.against_server(fixture.url, era, tmp_path)

    assert {
        one.name: found.shortfalls(one.name)
        for one in suite.scenarios("server", era)
        if found.shortfalls(one.name)
    } == {}
