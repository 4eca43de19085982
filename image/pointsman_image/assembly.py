"""An image put together from its layers, of which those that seldom change are kept."""

import json
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pointsman_image import archive, kept, layer, parts
from pointsman_image.archive import Config
from pointsman_image.layer import Layer
from pointsman_image.parts import EXAMPLES, LIBRARIES, Source

USER = "65532:65532"
ENTRYPOINT = ("/usr/bin/python3", "-m")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin",
    "PYTHONPATH": f"/{LIBRARIES}",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
EXAMPLES_ENVIRONMENT = {**ENVIRONMENT, "PYTHONPATH": f"/{LIBRARIES}:/{EXAMPLES}"}
# gzip's own: beyond it a layer hardly gets smaller.
LEVEL = 6
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Made:
    """What became of it."""

    digest: str
    compressed_mib: float


def make(source: Source, out: Path, name: str, *, examples: bool, epoch: int) -> Made:
    """Write the archive of one image."""
    with source.cache.alone(), tempfile.TemporaryDirectory() as scratch:
        base = _base(source)
        code = Path(scratch) / "code"
        code.mkdir()
        parts.code(source, code, base, epoch)
        layers = [_packed(base), layer.pack(code, Path(scratch) / "code.tar.gz", LEVEL)]
        if examples:
            layers.append(_packed(_examples(source, base)))
        config = Config(
            user=USER,
            entrypoint=ENTRYPOINT,
            environment=EXAMPLES_ENVIRONMENT if examples else ENVIRONMENT,
            labels=labels(source.project),
            architecture=source.architecture,
            epoch=epoch,
        )
        digest = archive.write(out, name, config, layers)
    return Made(digest, sum(each.size for each in layers) / _MIB)


def labels(project: Path) -> dict[str, str]:
    """What an image says of itself, as the project does."""
    about = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    return {
        "org.opencontainers.image.title": about["name"],
        "org.opencontainers.image.description": about["description"],
        "org.opencontainers.image.licenses": about["license"],
        "org.opencontainers.image.version": about["version"],
    }


def _base(source: Source) -> Path:
    recipe = kept.recipe(
        source.architecture, repr(source.packages), source.lock("image"), files=_own_modules()
    )
    return source.cache.folder("base", recipe, lambda root: parts.base(source, root))


def _examples(source: Source, base: Path) -> Path:
    shown = [path for path in (source.project / "examples").rglob("*.*") if path.suffix != ".pyc"]
    lock = source.lock("examples-image")
    recipe = kept.recipe(base.parent.name, lock, files=[*_own_modules(), *shown])
    return source.cache.folder("examples", recipe, lambda root: parts.examples(source, root, base))


def _packed(root: Path) -> Layer:
    """A kept folder's layer, which is kept beside it."""
    path, described = (root.with_name(f"layer.{kind}") for kind in ("tar.gz", "json"))
    if not described.is_file():
        made = layer.pack(root, path, LEVEL)
        described.write_text(json.dumps([made.digest, made.content_digest, made.size]))
    return Layer(path, *json.loads(described.read_text()))


def _own_modules() -> list[Path]:
    return list(Path(__file__).parent.glob("*.py"))
