"""What runs in a container of the image, under a read-only root."""

import json

import pytest

from image.inside import Inside

EVERY_MODULE = """
import importlib, json, pkgutil
packages = "pointsman_contract pointsman_operator pointsman_router pointsman_mirror pointsman"
found = [
    module.name
    for package in packages.split()
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
]
for name in found:
    importlib.import_module(name)
print(json.dumps(found))
"""
TRUST = """
import ssl
print(ssl.create_default_context().cert_store_stats()["x509_ca"])
"""
SEARCH = """
from pointsman_router.listing import Form
from pointsman_router.search import Index
print(Index((), Form.SAFE).find("anything", 5).total)
"""
WHO = """
import os, pwd
print(os.getuid(), os.getgid(), pwd.getpwuid(os.getuid()).pw_name)
"""


@pytest.mark.parametrize("program", ["pointsman_operator", "pointsman_mirror", "pointsman_router"])
def test_a_program_tells_its_settings(container: Inside, program: str) -> None:
    told = container.start(program, "--help")

    assert (told.returncode, told.stderr) == (0, "")
    assert f"{program.upper()}_" in told.stdout


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_line_is_on_the_path(container: Inside, option: str) -> None:
    by_module = container.start("pointsman", option)
    by_name = container.run(
        "/usr/bin/python3", "-c", f"import os; os.execlp('pointsman', 'pointsman', '{option}')"
    )

    assert (by_module.returncode, by_module.stderr) == (0, "")
    assert (by_name.returncode, by_name.stderr) == (0, "")
    assert by_name.stdout.split()[-1] == by_module.stdout.split()[-1]


def test_every_module_can_be_imported(container: Inside) -> None:
    done = container.run("/usr/bin/python3", "-c", EVERY_MODULE)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)) > 80


def test_the_authorities_that_debian_trusts_are_trusted(container: Inside) -> None:
    done = container.run("/usr/bin/python3", "-c", TRUST)

    assert done.stderr == ""
    assert int(done.stdout) > 100


def test_tools_can_be_searched(container: Inside) -> None:
    done = container.run("/usr/bin/python3", "-c", SEARCH)

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_container_is_nobody_and_has_a_name(container: Inside) -> None:
    assert container.run("/usr/bin/python3", "-c", WHO).stdout == "65532 65532 nonroot\n"


@pytest.mark.parametrize("server", ["servers.clock", "servers.notes"])
def test_an_example_server_can_be_imported(examples_container: Inside, server: str) -> None:
    done = examples_container.run(
        "/usr/bin/python3", "-c", f"import {server}; print({server}.server.name)"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == server.rpartition(".")[2]


def test_the_programs_run_beside_the_examples_too(examples_container: Inside) -> None:
    assert examples_container.start("pointsman", "--version").returncode == 0
