"""How settings are read: once, with every mistake named."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pointsman_contract import environment
from pointsman_contract.environment import InvalidSettings, setting


@dataclass(frozen=True, slots=True)
class Settings:
    namespace: str = setting(
        "DEMO_NAMESPACE", environment.namespace, "", "where", shown="the pod's"
    )
    folder: Path = setting("DEMO_FOLDER", environment.directory, "/srv", "what to read")
    port: int = setting("DEMO_PORT", environment.whole(0, 65535), "80", "where to listen")
    wait_s: float = setting("DEMO_WAIT_SECONDS", environment.seconds(0.5, 60), "1.5", "how long")
    names: tuple[str, ...] = setting("DEMO_NAMES", environment.words, "a,b", "whom to answer")


def load(environ: dict[str, str], **defaults: str) -> Settings:
    return environment.load(Settings, environ, prefix="DEMO_", defaults=defaults)


def test_what_is_not_set_has_its_default() -> None:
    settings = load({"DEMO_NAMESPACE": "tools"})

    assert settings == Settings("tools", Path("/srv"), 80, 1.5, ("a", "b"))


def test_an_empty_variable_counts_as_unset() -> None:
    assert load({"DEMO_NAMESPACE": "tools", "DEMO_PORT": ""}).port == 80


def test_a_default_that_only_the_program_knows_gives_way_to_what_is_set() -> None:
    assert load({}, DEMO_NAMESPACE="pod").namespace == "pod"
    assert load({"DEMO_NAMESPACE": "set"}, DEMO_NAMESPACE="pod").namespace == "set"


def test_blanks_around_an_item_of_a_list_do_not_count() -> None:
    assert load({"DEMO_NAMESPACE": "t", "DEMO_NAMES": " x, ,y "}).names == ("x", "y")


def test_every_mistake_is_named_at_once() -> None:
    environ = {
        "DEMO_NAMESPACE": "Not_A_Label",
        "DEMO_FOLDER": "relative",
        "DEMO_PORT": "65536",
        "DEMO_WAIT_SECONDS": "nan",
        "DEMO_NAME": "x",
        "OTHER": "is nobody's business",
    }

    with pytest.raises(InvalidSettings) as complaint:
        load(environ)

    assert complaint.value.mistakes == (
        "DEMO_NAMESPACE: must be the name of a namespace",
        "DEMO_FOLDER: must be an absolute path",
        "DEMO_PORT: must be a whole number from 0 to 65535",
        "DEMO_WAIT_SECONDS: must be a number of seconds from 0.5 to 60",
        "DEMO_NAME: is no setting; did you mean DEMO_NAMES?",
    )


def test_a_stranger_that_shares_no_more_than_the_prefix_is_taken_for_no_other() -> None:
    with pytest.raises(InvalidSettings) as complaint:
        load({"DEMO_NAMESPACE": "tools", "DEMO_PATH": "x"})

    assert complaint.value.mistakes == ("DEMO_PATH: is no setting",)


@pytest.mark.parametrize("port", ["-1", "1.0", "0x10", " 80", "\uff18\uff10", "1e3"])
def test_a_whole_number_is_plain_digits(port: str) -> None:
    with pytest.raises(InvalidSettings):
        load({"DEMO_NAMESPACE": "tools", "DEMO_PORT": port})


def test_the_table_shows_every_variable_with_its_default_and_meaning() -> None:
    rows = environment.table(Settings).splitlines()

    assert [row.split()[0] for row in rows] == [
        "DEMO_NAMESPACE",
        "DEMO_FOLDER",
        "DEMO_PORT",
        "DEMO_WAIT_SECONDS",
        "DEMO_NAMES",
    ]
    assert "the pod's" in rows[0]
    assert "1.5" in rows[3]
