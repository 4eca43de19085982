"""What the environment makes of the mirror, and how its mistakes are told."""

from pathlib import Path

import pytest

from pointsman_contract.environment import InvalidSettings
from pointsman_mirror import settings
from pointsman_mirror.settings import Settings

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
PREFIX = "POINTSMAN_MIRROR_"


def test_a_pod_needs_no_settings_at_all() -> None:
    assert settings.load(IN_A_POD, pod_namespace="release") == Settings(
        namespace="release",
        directory=Path("/var/run/pointsman/servers"),
        admin_host="0.0.0.0",
        admin_port=9091,
        page_size=100,
        silence_s=70.0,
        retry_max_s=2.0,
        kubeconfig="",
    )


def test_every_variable_sets_its_field() -> None:
    environ = {
        f"{PREFIX}NAMESPACE": "here",
        f"{PREFIX}DIRECTORY": "/srv/mirror",
        f"{PREFIX}ADMIN_HOST": "127.0.0.1",
        f"{PREFIX}ADMIN_PORT": "0",
        f"{PREFIX}PAGE_SIZE": "7",
        f"{PREFIX}SILENCE_SECONDS": "1.5",
        f"{PREFIX}RETRY_MAX_SECONDS": "0.5",
        "KUBECONFIG": "/home/me/.kube/config",
    }

    assert settings.load(environ, pod_namespace="elsewhere") == Settings(
        "here", Path("/srv/mirror"), "127.0.0.1", 0, 7, 1.5, 0.5, "/home/me/.kube/config"
    )


def test_a_variable_that_is_empty_is_as_one_that_is_not_set() -> None:
    environ = IN_A_POD | {f"{PREFIX}ADMIN_PORT": "", f"{PREFIX}NAMESPACE": ""}

    assert settings.load(environ, pod_namespace="release").admin_port == 9091


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        pytest.param("NAMESPACE", "Not_A_Name", "must be the name of a namespace", id="namespace"),
        pytest.param("NAMESPACE", "a/b", "must be the name of a namespace", id="a path in it"),
        pytest.param("DIRECTORY", "here", "must be an absolute path", id="relative directory"),
        pytest.param("ADMIN_HOST", "a b", "must be a host name or an address", id="host"),
        pytest.param("ADMIN_PORT", "http", "must be a whole number from 0 to 65535", id="word"),
        pytest.param("ADMIN_PORT", "65536", "must be a whole number from 0 to 65535", id="port"),
        pytest.param("ADMIN_PORT", "٣", "must be a whole number from 0 to 65535", id="digit"),
        pytest.param("PAGE_SIZE", "0", "must be a whole number from 1 to 1000", id="no page"),
        pytest.param("PAGE_SIZE", "-1", "must be a whole number from 1 to 1000", id="negative"),
        pytest.param("SILENCE_SECONDS", "0", "must be a number of seconds from 1 to 600", id="0 s"),
        pytest.param("SILENCE_SECONDS", "nan", "must be a number of seconds from", id="nan"),
        pytest.param("SILENCE_SECONDS", "inf", "must be a number of seconds from", id="inf"),
        pytest.param("RETRY_MAX_SECONDS", "1m", "must be a number of seconds from", id="a unit"),
    ],
)
def test_a_mistake_names_its_variable_and_what_may_stand_there(
    name: str, text: str, complaint: str
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        settings.load(IN_A_POD | {PREFIX + name: text}, pod_namespace="release")

    (mistake,) = refused.value.mistakes
    assert mistake.startswith(f"{PREFIX}{name}: {complaint}")


def test_all_mistakes_are_told_at_once_a_misspelt_variable_with_the_nearest_one() -> None:
    environ = {
        f"{PREFIX}DIRECTORY": "here",
        f"{PREFIX}ADMIN_PROT": "9091",
        f"{PREFIX}ADMIN_PORT": "no",
        f"{PREFIX}COLOUR": "red",
    }
    with pytest.raises(InvalidSettings) as refused:
        settings.load(environ)

    assert [mistake.partition(":")[0] for mistake in refused.value.mistakes] == [
        f"{PREFIX}NAMESPACE",
        f"{PREFIX}DIRECTORY",
        f"{PREFIX}ADMIN_PORT",
        "KUBECONFIG",
        f"{PREFIX}ADMIN_PROT",
        f"{PREFIX}COLOUR",
    ]
    assert f"did you mean {PREFIX}ADMIN_PORT?" in str(refused.value)


def test_variables_of_others_are_none_of_its_business() -> None:
    environ = IN_A_POD | {"POINTSMAN_ROUTER_PORT": "8080", "PATH": "/bin"}

    assert settings.load(environ, pod_namespace="release").admin_port == 9091


def test_the_table_names_every_variable_that_may_be_set() -> None:
    lines = settings.table().splitlines()

    assert [line.split()[0] for line in lines] == [
        f"{PREFIX}NAMESPACE",
        f"{PREFIX}DIRECTORY",
        f"{PREFIX}ADMIN_HOST",
        f"{PREFIX}ADMIN_PORT",
        f"{PREFIX}PAGE_SIZE",
        f"{PREFIX}SILENCE_SECONDS",
        f"{PREFIX}RETRY_MAX_SECONDS",
        "KUBECONFIG",
    ]
