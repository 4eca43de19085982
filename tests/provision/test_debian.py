"""Debian packages come only to a machine that lacks them, and take nothing away from it."""

import os
import shutil
from pathlib import Path

import pytest

from provision import debian

APT = """#!/bin/sh
echo "$@" >> "{log}"
exit {status}
"""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with a shell and nothing else on its PATH; the log of its apt-get."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh"):
        (programs / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(programs))
    return tmp_path / "apt.log"


def apt(log: Path, status: int = 0) -> None:
    script = log.parent / "bin" / "apt-get"
    script.write_text(APT.format(log=log, status=status))
    script.chmod(0o755)


def test_root_installs_what_is_missing_and_removes_nothing(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt(bare)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    wanted = debian.missing()

    debian.provide()

    assert "openssl" in wanted
    assert bare.read_text().splitlines() == [
        "update --quiet",
        "install --yes --quiet --no-install-recommends --no-upgrade --no-remove "
        + " ".join(wanted),
    ]


def test_nobody_else_installs_anything_and_the_reason_is_said(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    apt(bare)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    provided = debian.provide()

    assert not provided
    assert not bare.exists()
    assert "only root can apt-get install" in capsys.readouterr().out


@pytest.mark.parametrize("status", [0, 100], ids=["that installs nothing", "that fails"])
def test_an_apt_costs_the_node_and_nothing_else(
    bare: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    apt(bare, status)
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert not debian.provide()


def test_a_machine_that_has_everything_is_left_alone(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt(bare)
    monkeypatch.setattr(debian, "missing", lambda: ())

    assert debian.provide()
    assert not bare.exists()


def test_a_machine_without_a_browser_gets_one(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt(bare)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("POINTSMAN_BROWSER", raising=False)

    provided = debian.provide_browser()

    assert not provided
    assert bare.read_text().splitlines()[-1].endswith(" chromium fonts-liberation")


def test_the_browser_of_a_machine_is_left_alone(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt(bare)
    chrome = bare.parent / "chrome"
    chrome.write_text("#!/bin/sh\n")
    chrome.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("POINTSMAN_BROWSER", str(chrome))

    assert debian.provide_browser()
    assert not bare.exists()
