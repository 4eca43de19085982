"""Which Debian packages there are, and what each brings."""

import hashlib
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pointsman_image import step

_ELSEWHERE = "Elsewhere than on Debian 12, the Containerfile makes the same image."
_IS_STALE = "Does apt know of the newest packages? `apt-get update` tells it."
_SUITE = "bookworm"
# apt would give its work to a user who may not write into the cache.
_APT = ("apt-get", "--quiet", "--option", "APT::Sandbox::User=root", "download")
_DESCRIBED = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+) \d+ SHA256:(?P<sha256>[0-9a-f]{64})")
# Debian 12 has these only as links into /usr, which its packages do not bring.
MERGED = ("bin", "lib", "lib64", "sbin")


@dataclass(frozen=True, slots=True)
class Package:
    """One package file: what apt would install now."""

    file: str
    sha256: str

    @property
    def name(self) -> str:
        """The package's name."""
        return self.file.split("_")[0]

    @property
    def version(self) -> str:
        """Its version."""
        return unquote(self.file.split("_")[1])


def names(listing: Path) -> tuple[str, ...]:
    """The names in a list with one a line."""
    lines = (line.partition("#")[0].strip() for line in listing.read_text().splitlines())
    return tuple(line for line in lines if line)


def architecture() -> str:
    """The machine's architecture, as Debian calls it."""
    absent = [name for name in ("apt-get", "dpkg", "dpkg-deb") if shutil.which(name) is None]
    if absent:
        raise step.NotHere(f"{', '.join(absent)}: not there. {_ELSEWHERE}")
    return step.output(["dpkg", "--print-architecture"]).strip()


def resolve(wanted: Iterable[str]) -> tuple[Package, ...]:
    """The newest version of each package, in order of their names."""
    release = Path("/etc/os-release")
    if not release.is_file() or f"VERSION_CODENAME={_SUITE}" not in release.read_text():
        raise step.NotHere(f"This machine does not run Debian 12. {_ELSEWHERE}")
    described = step.output([*_APT, "--print-uris", *wanted], helps=_IS_STALE)
    found = (Package(each["file"], each["sha256"]) for each in _DESCRIBED.finditer(described))
    packages = tuple(sorted(found, key=lambda package: package.name))
    if unknown := set(wanted) - {package.name for package in packages}:
        raise step.StepFailed(f"apt knows no file of {', '.join(sorted(unknown))}. {_IS_STALE}")
    return packages


def missing(packages: Iterable[Package], folder: Path) -> list[Package]:
    """The packages whose files are not in the folder, or not what apt promises."""
    return [package for package in packages if not _is_there(package, folder)]


def fetch(packages: Sequence[Package], folder: Path) -> None:
    """Download packages' files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        (folder / package.file).unlink(missing_ok=True)
    wanted = [f"{package.name}={package.version}" for package in packages]
    step.output([*_APT, *wanted], cwd=folder, helps=_IS_STALE)
    if damaged := missing(packages, folder):
        raise step.StepFailed(f"not what apt promised: {damaged}")


def unpack(archive: Path, root: Path, needs: Callable[[str], bool]) -> int:
    """Put the files that are needed under the root; return the time of the newest."""
    newest = 0
    with (
        subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE
        ) as reading,
        tarfile.open(fileobj=reading.stdout, mode="r|") as members,
    ):
        for member in members:
            path = _merged(member.name.removeprefix("./"))
            if member.isdir() or not needs(path):
                continue
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            newest = max(newest, int(member.mtime))
            if member.issym():
                target.symlink_to(member.linkname)
            elif member.islnk():
                shutil.copy2(root / _merged(member.linkname.removeprefix("./")), target)
            elif (content := members.extractfile(member)) is not None:
                with target.open("wb") as file:
                    shutil.copyfileobj(content, file)
                target.chmod(0o755 if member.mode & 0o100 else 0o644)
    if reading.returncode:
        raise step.StepFailed(f"dpkg-deb cannot read {archive.name}")
    return newest


def control(archive: Path) -> str:
    """What a package says of itself: its name, its version, its source."""
    return step.output(["dpkg-deb", "--field", archive])


def _merged(path: str) -> str:
    return f"usr/{path}" if path.partition("/")[0] in MERGED else path


def _is_there(package: Package, folder: Path) -> bool:
    path = folder / package.file
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == package.sha256
