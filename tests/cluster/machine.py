"""A machine as the scripts see it: which programs are there, and what was done with them."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cluster import engine

SCRIPTS = Path(__file__).resolve().parent
_ROOT = SCRIPTS.parents[1]
# What the scripts use beside those; whatever else a machine has is out of their sight. Without
# `uname` none takes it for one that could run a node.
_BASICS = "awk bash cat dirname env git grep head mkdir mktemp pkill rm sed sort tail"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with some of the programs, and a world for them."""

    folder: Path

    @classmethod
    def new(cls, folder: Path) -> Self:
        """A machine that has everything and on which nothing was done."""
        for name in ("bin", "home", "scratch"):
            (folder / name).mkdir()
        for basic in _BASICS.split():
            found = shutil.which(basic)
            assert found is not None
            (folder / "bin" / basic).symlink_to(found)
        made = cls(folder)
        made.has(*engine.PROGRAMS)
        made.begins()
        return made

    @property
    def kubeconfig(self) -> Path:
        """The cluster's own."""
        return self.folder / "tools/kind/pointsman.kubeconfig"

    @property
    def world(self) -> dict[str, Any]:
        """What the programs made so far, and how they were called."""
        world = json.loads((self.folder / "world.json").read_text())
        assert isinstance(world, dict)
        return world

    def has(self, *programs: str) -> None:
        """Put these programs on the PATH, and no others."""
        for program in engine.PROGRAMS:
            (self.folder / "bin" / program).unlink(missing_ok=True)
        for program in programs:
            path = self.folder / "bin" / program
            command = f'"{sys.executable}" "{engine.__file__}" "{self.folder}/world.json" {program}'
            path.write_text(f'#!/usr/bin/env bash\nexec {command} "$@"\n')
            path.chmod(0o755)

    def begins(self, **differences: Any) -> None:
        """Begin its world."""
        engine.new(self.folder / "world.json", **differences)

    @property
    def environment(self) -> dict[str, str]:
        """What a script is told of it."""
        return {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder / "home"),
            "POINTSMAN_TOOLS": str(self.folder / "tools"),
            "TMPDIR": str(self.folder / "scratch"),
        }

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts."""
        return subprocess.run(
            [SCRIPTS / script, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        """What the programs were told to do, beside being asked what is there."""
        asked = re.compile(r"docker info|kind version|kind get clusters")
        names = {str(_ROOT): "CHECKOUT", str(self.kubeconfig): "KUBECONFIG"}
        told = [call for call in self.world["calls"] if not asked.match(call)]
        for found, name in names.items():
            told = [call.replace(found, name) for call in told]
        return [re.sub(r"EPOCH=\d+", "EPOCH=TIME", call) for call in told]
