"""Whether every setting of the programs is a value, within the programs' own bounds."""

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
import yaml

from bench import helm
from bench.cluster_api import Body
from chart import rendering
from pointsman_contract.environment import InvalidSettings, Variable
from pointsman_mirror import settings as mirror_settings
from pointsman_operator import settings as operator_settings
from pointsman_router import settings as router_settings

PROGRAMS: dict[str, ModuleType] = {
    "operator": operator_settings,
    "mirror": mirror_settings,
    "router": router_settings,
}
# What the chart knows itself, or what has a value of its own; in a pod nothing else is needed to
# reach the API server than the account.
ELSEWHERE = {
    "operator": {"NAMESPACE", "WATCH_NAMESPACES", "ROUTERS", "KUBECONFIG"},
    "mirror": {"NAMESPACE", "DIRECTORY", "KUBECONFIG"},
    "router": {"DIRECTORY", "NAMES", "NAMES_MAX_LENGTH", "STALE_SECONDS", "ALLOWED_HOSTS"},
}
# A port that is open has to be known to the probes, and one below 1024 takes a capability.
PORT_BOUNDS = (1024, 65535)

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}

# What a router cannot start without.
_LEAST = {"POINTSMAN_ROUTER_DIRECTORY": "/servers"}

each_program = pytest.mark.parametrize("program", PROGRAMS)


def _variables(program: str) -> dict[str, Variable]:
    """Every variable of a program by its name without the prefix."""
    module = PROGRAMS[program]
    declared: list[Variable] = [
        field.metadata["variable"] for field in dataclasses.fields(module.Settings)
    ]
    return {one.name.removeprefix(module.PREFIX): one for one in declared}


def _camel(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def _offered(program: str) -> dict[str, Body]:
    """What the schema says of each setting of a program."""
    schema = json.loads((helm.CHART / "values.schema.json").read_text())
    definitions = schema["definitions"]
    found: dict[str, Body] = {}
    for name, said in schema["properties"][program]["properties"]["settings"]["properties"].items():
        reference = said.get("$ref", "")
        found[name] = definitions[reference.rpartition("/")[2]] if reference else said
    return found


def _load(program: str, environment: Mapping[str, str]) -> Any:
    within = {} if program == "router" else IN_A_POD
    return PROGRAMS[program].load({**environment, **within})


@each_program
def test_every_setting_of_a_program_is_a_value(program: str) -> None:
    settable = _variables(program).keys() - ELSEWHERE[program]

    assert _offered(program).keys() == {_camel(name) for name in settable}


@each_program
def test_what_the_chart_sets_itself_are_settings_of_the_program(program: str) -> None:
    assert ELSEWHERE[program] <= _variables(program).keys()


@each_program
def test_the_schema_takes_the_numbers_that_the_program_takes(program: str) -> None:
    variables = {_camel(name): one for name, one in _variables(program).items()}
    for name, said in _offered(program).items():
        if said.get("type") not in {"integer", "number"}:
            continue
        least, most = said["minimum"], said["maximum"]
        for taken in (least, most):
            variables[name].parse(str(taken))
        if name.lower().endswith("port"):
            assert (least, most) == PORT_BOUNDS
            continue
        step = 1 if said["type"] == "integer" else 0.001
        for refused in (least - step, most + step):
            with pytest.raises(ValueError, match="must be"):
                variables[name].parse(str(refused))


@each_program
def test_a_number_is_whole_where_the_program_takes_whole_ones_only(program: str) -> None:
    variables = {_camel(name): one for name, one in _variables(program).items()}
    kinds = {}
    for name, said in _offered(program).items():
        if said.get("type") in {"integer", "number"}:
            try:
                variables[name].parse(str(said["minimum"] + 0.5))
                kinds[name] = "number"
            except ValueError:
                kinds[name] = "integer"

    offered = {name: said.get("type") for name, said in _offered(program).items()}
    assert {name: offered[name] for name in kinds} == kinds


@each_program
def test_the_values_file_explains_every_setting_as_the_program_does(program: str) -> None:
    explained = {  # a pod's port is never any that is free
        _camel(name): (one.meaning.partition("; 0: any")[0], one.default)
        for name, one in _variables(program).items()
        if name not in ELSEWHERE[program]
    }

    assert {name: (meaning, shown) for name, meaning, shown in _shown(program)} == explained


def _shown(program: str) -> Iterator[tuple[str, str, str]]:
    """Each setting in values.yaml, set or commented out: its name, the line above, its value."""
    text = (helm.CHART / "values.yaml").read_text()
    section = text.partition(f"\n{program}:")[2].partition("\n  settings:\n")[2]
    lines = section.splitlines()
    for above, line in itertools.pairwise(lines):
        if not above.startswith("    "):
            return
        found = re.fullmatch(r"    (?:# )?([a-z][A-Za-z]*): (\S.*)", line)
        if found and above.startswith("    # "):
            value = yaml.safe_load(found[2])
            shown = ",".join(value) if isinstance(value, list) else str(value)
            yield found[1], above.removeprefix("    # "), shown


@pytest.mark.parametrize("name", rendering.COMBINATIONS)
@each_program
def test_each_program_starts_with_what_it_is_given(program: str, name: str) -> None:
    environment = rendering.combination(name).container(program).environment

    _load(program, environment)


@each_program
def test_a_program_that_is_given_what_it_does_not_know_would_not_start(program: str) -> None:
    environment = rendering.combination("default").container(program).environment
    stranger = f"{PROGRAMS[program].PREFIX}STRANGER"

    with pytest.raises(InvalidSettings, match=stranger):
        _load(program, {**environment, stranger: "1"})


@each_program
def test_each_setting_arrives_as_it_was_given(program: str) -> None:
    given = rendering.merged(rendering.COMBINATIONS["everything"])[program]["settings"]
    environment = rendering.combination("everything").container(program).environment
    variables = {_camel(name): one for name, one in _variables(program).items()}

    assert given.keys() == _offered(program).keys()
    for name, value in given.items():
        expected = tuple(value) if isinstance(value, list) else value

        assert variables[name].parse(environment[variables[name].name]) == expected, name


@pytest.mark.parametrize("number", [1048576, 1234567, 67108864, 1000000])
@pytest.mark.parametrize("by", ["--set", "--set-json", "a file"])
def test_a_large_number_keeps_its_digits(by: str, number: int, tmp_path: Any) -> None:
    if by == "a file":
        path = tmp_path / "values.yaml"
        path.write_text(f"router: {{settings: {{bodyMaxBytes: {number}}}}}")
        values = ("-f", str(path))
    else:
        values = (by, f"router.settings.bodyMaxBytes={number}")
    router = rendering.render(*rendering.IMAGE, *values).container("router")

    assert router.environment["POINTSMAN_ROUTER_BODY_MAX_BYTES"] == str(number)


@pytest.mark.parametrize(
    "text",
    ["$(POINTSMAN_ROUTER_DIRECTORY)", "$$(POINTSMAN_ROUTER_DIRECTORY)", "a $$ b", "5 $", "$"],
)
def test_a_dollar_is_a_dollar(text: str) -> None:
    given = ("--set-json", f"router.settings.serverName={json.dumps(text)}")
    router = rendering.render(*rendering.IMAGE, *given).container("router")

    assert router.environment["POINTSMAN_ROUTER_SERVER_NAME"] == text


def test_a_fraction_and_a_zero_arrive() -> None:
    values = (
        *("--set-json", "router.settings.linkPollSeconds=0.01"),
        *("--set-json", "operator.settings.prefixGraceSeconds=86400.5"),
        *("--set", "operator.settings.repairSeconds=0"),
    )
    rendered = rendering.render(*rendering.IMAGE, *values)
    router = rendered.container("router").environment
    operator = rendered.container("operator").environment

    assert router["POINTSMAN_ROUTER_LINK_POLL_SECONDS"] == "0.01"
    assert operator["POINTSMAN_OPERATOR_PREFIX_GRACE_SECONDS"] == "86400.5"
    assert operator["POINTSMAN_OPERATOR_REPAIR_SECONDS"] == "0"


def test_a_change_of_a_setting_rolls_the_pods_that_have_it_and_no_others() -> None:
    before = rendering.with_values()
    after = rendering.with_values("router.settings.refreshSeconds=30")

    assert before.pod("router") != after.pod("router")
    assert before.component("Deployment", "operator") == after.component("Deployment", "operator")


def test_names_are_listed_in_the_form_that_every_model_takes_unless_one_says_otherwise() -> None:
    default = rendering.with_values().container("router").environment
    other = rendering.with_values("names.default=dotted", "names.maxLength=60")
    changed = other.container("router").environment
    names = ("POINTSMAN_ROUTER_NAMES", "POINTSMAN_ROUTER_NAMES_MAX_LENGTH")

    assert [default[name] for name in names] == ["safe", "64"]
    assert [changed[name] for name in names] == ["dotted", "60"]


@pytest.mark.parametrize("seconds", ["0", "0.5", "2592000"])
def test_tools_outlive_their_upstream_for_as_long_as_one_says(seconds: str) -> None:
    default = rendering.with_values().container("router").environment
    other = rendering.render(
        *rendering.IMAGE, "--set-json", f"catalogue.staleSeconds={seconds}"
    ).container("router")
    name = "POINTSMAN_ROUTER_STALE_SECONDS"

    assert default[name] == "86400"
    assert other.environment[name] == seconds
    assert _load("router", other.environment).stale_s == float(seconds)


def test_no_proxy_is_asked_for_names_of_the_cluster_whatever_its_domain_is() -> None:
    proxy = "router.settings.egressProxy=http://proxy.example:3128"
    plain = _load("router", rendering.with_values(proxy).container("router").environment)
    other = rendering.with_values(proxy, "clusterDomain=corp.internal").container("router")
    given = rendering.with_values(
        proxy, "clusterDomain=corp.internal", "router.settings.noProxy={.svc}"
    ).container("router")

    assert plain.no_proxy == _load("router", _LEAST).no_proxy
    assert _load("router", other.environment).no_proxy == tuple(
        rule.replace("cluster.local", "corp.internal") for rule in plain.no_proxy
    )
    assert _load("router", given.environment).no_proxy == (".svc",)


def test_the_operator_is_told_whom_to_serve() -> None:
    everybody = rendering.combination("default").container("operator").environment
    some = rendering.combination("namespaced").container("operator").environment

    assert _load("operator", everybody).watched == ()
    assert _load("operator", some).watched == ("team-a", "team-b")
    assert _load("operator", some).namespace == helm.NAMESPACE
