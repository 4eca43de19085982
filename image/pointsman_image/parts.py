"""What each layer of the image is made of."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pointsman_image import debian, interpreter, kept, needed, wheels
from pointsman_image.kept import Cache

LIBRARIES = "opt/pointsman/lib"
EXAMPLES = "opt/pointsman/examples"
INVENTORY = "usr/share/pointsman"
# Where scanners for vulnerabilities look in images that have no dpkg.
SCANNED = "var/lib/dpkg/status.d"

_EMPTY_FOLDERS = ("dev", "etc", "proc", "run", "sys", "tmp", "usr/local/bin")
_STICKY = 0o1777
_FILES = {
    "etc/passwd": "root:x:0:0:root:/nonexistent:/nonexistent\n"
    "nonroot:x:65532:65532:nonroot:/nonexistent:/nonexistent\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_LINKS = {
    **{name: f"usr/{name}" for name in debian.MERGED},
    "etc/os-release": "../usr/lib/os-release",
    "usr/bin/python3": "python3.11",
    # Where OpenSSL looks by itself.
    "usr/lib/ssl/cert.pem": "/etc/ssl/certs/ca-certificates.crt",
}
_COMMAND = """\
#!/usr/bin/python3
from pointsman.__main__ import main

main()
"""


@dataclass(frozen=True, slots=True)
class Source:
    """What an image is made from, and where what was downloaded for it is kept."""

    project: Path
    cache: Cache
    architecture: str
    packages: tuple[debian.Package, ...]

    def lock(self, name: str) -> str:
        """The text of a lock file."""
        return (self.project / "requirements" / f"{name}.txt").read_text()


def source(project: Path, cache: Cache) -> Source:
    """A checkout, with the Debian packages that apt would install now."""
    names = debian.names(project / "image" / "debian-packages")
    return Source(project, cache, debian.architecture(), debian.resolve(names))


def base(made_from: Source, root: Path) -> None:
    """Debian's Python, and every library that a program of ours imports."""
    _skeleton(root)
    archives = made_from.cache.directory / "debian"
    if missing := debian.missing(made_from.packages, archives):
        made_from.cache.downloads(", ".join(package.name for package in missing))
        debian.fetch(missing, archives)
    unpacked = [
        debian.unpack(archives / package.file, root, needed.of_debian)
        for package in made_from.packages
    ]
    (root / SCANNED).mkdir(parents=True)
    for package in made_from.packages:
        (root / SCANNED / package.name).write_text(debian.control(archives / package.file))
    _trust(root)
    lock = made_from.lock("image")
    _libraries(made_from, "image", lock, root)
    stdlib = root / "usr/lib/python3.11"
    interpreter.compile_all(root, [(stdlib, root), (root / LIBRARIES, root)])
    debs = {package.name: package.version for package in made_from.packages}
    _inventory(root, "base", debian=debs, python=wheels.pinned(lock))
    # As old as the newest file of Debian's: a commit of ours changes nothing of it.
    settle(root, max(unpacked))


def code(made_from: Source, root: Path, base_root: Path, epoch: int) -> None:
    """Our own wheel, and the command that it brings."""
    lock = made_from.lock("image-build")
    backend = made_from.cache.folder(
        "backend",
        kept.recipe(lock, sys.version),
        lambda place: wheels.install(lock, _fetched(made_from, "build", lock), place),
    )
    with tempfile.TemporaryDirectory() as scratch:
        wheel = wheels.build(made_from.project, backend, Path(scratch), epoch)
        wheels.unpack(wheel, root / LIBRARIES)
        version = wheel.name.split("-")[1]
    wheels.prune(root / LIBRARIES, needed.of_wheels)
    interpreter.compile_all(base_root, [(root / LIBRARIES, root)])
    program = root / "usr/local/bin/pointsman"
    program.parent.mkdir(parents=True)
    program.write_text(_COMMAND)
    program.chmod(0o755)
    _inventory(root, "code", python={"pointsman": version})
    settle(root, epoch)


def examples(made_from: Source, root: Path, base_root: Path) -> None:
    """The example servers, and what they import beyond what the programs do."""
    lock = wheels.without(made_from.lock("examples-image"), made_from.lock("image"))
    _libraries(made_from, "examples", lock, root)
    wheels.copy(made_from.project / "examples", root / EXAMPLES, needed.of_wheels)
    interpreter.compile_all(base_root, [(root / LIBRARIES, root), (root / EXAMPLES, root)])
    _inventory(root, "examples", python=wheels.pinned(lock))
    settle(root, int(base_root.stat().st_mtime))


def settle(root: Path, epoch: int) -> None:
    """Give every file the same time, and the rights that do not depend on who builds."""
    for path in [*root.rglob("*"), root]:
        if not path.is_symlink():
            # Modules are imported, though some of the standard library would run as well.
            runs = path.stat().st_mode & 0o100 and path.suffix != ".py"
            path.chmod(0o755 if runs or path.is_dir() else 0o644)
    if (root / "tmp").is_dir():
        (root / "tmp").chmod(_STICKY)
    for path in [*root.rglob("*"), root]:
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def _skeleton(root: Path) -> None:
    for name in _EMPTY_FOLDERS:
        (root / name).mkdir(parents=True)
    for name, text in _FILES.items():
        (root / name).write_text(text)
    for name in debian.MERGED:
        (root / "usr" / name).mkdir()
    for name, target in _LINKS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)


def _trust(root: Path) -> None:
    authorities = root / "usr/share/ca-certificates"
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    bundle.parent.mkdir(parents=True)
    bundle.write_text("".join(path.read_text() for path in sorted(authorities.rglob("*.crt"))))
    shutil.rmtree(authorities)


def _libraries(made_from: Source, name: str, lock: str, root: Path) -> None:
    tags = wheels.tags(made_from.architecture)
    wheels.install(lock, _fetched(made_from, name, lock, tags), root / LIBRARIES, tags)
    wheels.prune(root / LIBRARIES, needed.of_wheels)


def _fetched(made_from: Source, name: str, lock: str, tags: Sequence[str] = ()) -> Path:
    """The folder with the wheels that a lock names."""

    def fetch(place: Path) -> None:
        made_from.cache.downloads(f"{name}'s wheels")
        wheels.fetch(lock, place, tags)

    recipe = kept.recipe(lock, *(tags or [sys.version]))
    return made_from.cache.folder(f"{name}-wheels", recipe, fetch)


def _inventory(root: Path, part: str, **packages: Mapping[str, str]) -> None:
    folder = root / INVENTORY
    folder.mkdir(parents=True)
    text = json.dumps(packages, indent=2, sort_keys=True)
    (folder / f"{part}.json").write_text(f"{text}\n")
