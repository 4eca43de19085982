"""What lies in the directory at one moment: every document in it, opened without trust."""

import errno
import hashlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from pointsman_contract import meta, strictjson, view
from pointsman_contract.labels import DATA_KEY as META
from pointsman_contract.labels import VIEW_DATA_KEY as VIEW
from pointsman_contract.meta import InvalidMeta
from pointsman_contract.report import printable
from pointsman_contract.view import InvalidView
from pointsman_router.reading import Absent, Bad, Broken, File, Folders, Good, GoodView, Seen

LINK = "..data"
COMPLETE = ".complete"
# What the mirror calls its generations; only these carry the mark of completeness.
GENERATION = "..gen-"
# The mark holds two numbers.
COMPLETE_MAX_BYTES = 1024
# A reader that loses ten races in a row is not read to the end by an eleventh: the next poll is.
ATTEMPTS_MAX = 10
# Two writes within one tick of a filesystem's clock (two seconds on the coarsest) leave the same
# stamp: only a file at rest for longer is known by it.
RESTLESS_NS = 2_000_000_000
# Every fresh ext filesystem has one, readable for its owner alone: no server, and no fault.
_NEVER_A_SERVER = frozenset(["lost+found"])

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC
# A pipe or a device put in a file's place must neither be followed nor waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_LOG = logging.getLogger(__name__)


class _Moved(Exception):
    """What was being read is not what the directory names now."""


_Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as it was read last: an equal stamp spares the read, an equal digest the parsing."""

    stamp: _Stamp | None
    digest: bytes
    file: File


class MetaFiles:
    """The documents in one directory, each read again only when it changed."""

    def __init__(self, directory: str, *, restless_ns: int = RESTLESS_NS) -> None:
        self._directory = directory
        self._restless_ns = restless_ns
        self._link: str | None = None
        self._known: dict[tuple[str, str], _Known] = {}

    @property
    def is_linked(self) -> bool:
        """Whether the directory, when last looked at, named a generation by its link."""
        return self._link is not None

    def look(self, *, unless_linked_as_before: bool = False) -> Seen | None:
        """Return what lies there, all of it from one generation.

        None where the link names the generation of the last look, and that is no news.
        """
        before = self._link if unless_linked_as_before else None
        try:
            for _ in range(ATTEMPTS_MAX):
                with _opened(self._directory, _DIRECTORY) as top:
                    link = _link(top)
                    if link is not None and link == before:
                        return None
                    self._link = link
                    try:
                        return self._folders(top) if link is None else self._linked(top, link)
                    except _Moved:
                        continue
        except OSError as exc:
            return Broken(f"{self._directory}: {_reason(exc)}")
        return Broken(f"{self._directory}: keeps changing while it is read")

    def _linked(self, top: int, link: str) -> Seen:
        try:
            seen = self._generation(top, link)
        except OSError as exc:
            seen = Broken(f"{self._directory}/{LINK}: names what cannot be read: {_reason(exc)}")
        if _link(top) != link:
            raise _Moved
        return seen

    def _generation(self, top: int, link: str) -> Seen:
        if "/" in link or link in ("", ".", ".."):
            return Broken(f"{self._directory}/{LINK}: must name a folder beside it")
        with _opened(link, _DIRECTORY | os.O_NOFOLLOW, top) as generation:
            folders = _names(generation)
            complete = link.startswith(GENERATION)
            if complete and (problem := _incompleteness(generation, len(folders))):
                return Broken(f"{self._directory}/{link}: {problem}")
            return self._all(generation, folders, complete=complete)

    def _folders(self, top: int) -> Seen:
        before = os.fstat(top).st_mtime_ns
        if any(name.startswith(GENERATION) for name in os.listdir(top)):
            return Broken(f"{self._directory}: no generation is finished: {LINK} is missing")
        seen = self._all(top, _names(top), complete=False)
        if os.fstat(top).st_mtime_ns != before:
            raise _Moved
        return seen

    def _all(self, parent: int, folders: list[str], *, complete: bool) -> Folders:
        files = {folder: self._folder(parent, folder) for folder in folders}
        self._known = {key: known for key, known in self._known.items() if key[0] in files}
        return Folders(files, complete)

    def _folder(self, parent: int, name: str) -> File:
        try:
            with _opened(name, _DIRECTORY | os.O_NOFOLLOW, parent) as folder:
                for _ in range(ATTEMPTS_MAX):
                    link = _link(folder)
                    if link is None:
                        return self._file(folder, name)
                    file = self._mounted(folder, link, name)
                    if _link(folder) == link:
                        return file
        except FileNotFoundError:
            return Absent("the folder is gone")
        except OSError as exc:
            if exc.errno in (errno.ELOOP, errno.ENOTDIR):
                return Bad(
                    "the folder is a link, which is not followed: put the folder itself there"
                )
            return Bad(f"the folder cannot be read: {_reason(exc)}")
        return Bad("the folder keeps changing while it is read")

    def _mounted(self, folder: int, link: str, name: str) -> File:
        if "/" in link:
            return Bad(f"{LINK} must name a folder beside it")
        try:
            with _opened(link, _DIRECTORY | os.O_NOFOLLOW, folder) as inner:
                return self._file(inner, name)
        except FileNotFoundError:
            return Absent(f"{LINK} leads nowhere")
        except OSError as exc:
            return Bad(f"{LINK} cannot be read: {_reason(exc)}")

    def _file(self, folder: int, name: str) -> File:
        of_server, of_view = self._document(folder, name, META), self._document(folder, name, VIEW)
        if isinstance(of_view, Absent):
            return of_server
        if isinstance(of_server, Absent):
            return of_view
        return Bad(f"the folder holds {META} and {VIEW}: give each a folder of its own")

    def _document(self, folder: int, name: str, document: str) -> File:
        bad = partial(Bad, of_view=document == VIEW)
        try:
            status = os.stat(document, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return bad(
                    f"{document} is a link, which is not followed: put the file itself there"
                )
            if not stat.S_ISREG(status.st_mode):
                return bad(f"{document} is no regular file")
            known = self._known.get((name, document))
            if known and known.stamp == _stamp(status):
                return known.file
            with _opened(document, _FILE, folder) as file:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    return bad(f"{document} is no regular file")
                data = _read(file, max(meta.MAX_BYTES, view.MAX_BYTES))
                stamp = self._stamp_at_rest(os.fstat(file))
        except FileNotFoundError:
            return Absent(f"{document} is missing")
        except OSError as exc:
            return bad(f"{document} cannot be read: {_reason(exc)}")
        digest = hashlib.sha256(data).digest()
        same = known.file if known and known.digest == digest else None
        found = _Known(stamp, digest, same or _parsed(data, name, document))
        self._known[name, document] = found
        return found.file

    def _stamp_at_rest(self, status: os.stat_result) -> _Stamp | None:
        written_ns = max(status.st_mtime_ns, status.st_ctime_ns)
        return _stamp(status) if written_ns < time.time_ns() - self._restless_ns else None


def _parsed(data: bytes, folder: str, document: str) -> File:
    of_view = document == VIEW
    try:
        if of_view:
            return GoodView(view.load(data, folder=folder))
        return Good(meta.load(data, folder=folder))
    except (InvalidMeta, InvalidView) as exc:
        return Bad(f"{document}: {exc}", of_view)
    except Exception:  # whatever one file brings, it costs that one server or view
        _LOG.exception("a file could not be judged", extra={"folder": printable(folder)})
        return Bad(f"{document}: cannot be judged by this router; its log says why", of_view)


def _incompleteness(generation: int, folders: int) -> str | None:
    try:
        with _opened(COMPLETE, _FILE, generation) as file:
            mark = strictjson.loads(_read(file, COMPLETE_MAX_BYTES), max_bytes=COMPLETE_MAX_BYTES)
    except FileNotFoundError:
        return f"the generation is not finished: {COMPLETE} is missing"
    except strictjson.NotStrictJSON as exc:
        return f"{COMPLETE} {exc}"
    said = mark if isinstance(mark, dict) else {}
    servers, views = said.get("servers"), said.get("views", 0)
    if type(servers) is not int or type(views) is not int:
        return f"{COMPLETE} must say how many servers and views there are"
    if servers + views != folders:
        return f"{COMPLETE} speaks of {servers} servers and {views} views, and {folders} are there"
    return None


def _names(directory: int) -> list[str]:
    """Return the folders of servers and views; a link counts: someone meant it to be one."""
    with os.scandir(directory) as entries:
        return [
            entry.name
            for entry in entries
            if not entry.name.startswith(".")
            and entry.name not in _NEVER_A_SERVER
            and (entry.is_symlink() or entry.is_dir(follow_symlinks=False))
        ]


def _link(directory: int) -> str | None:
    """Return what the link names; an empty text where it is something else than a link."""
    try:
        return os.readlink(LINK, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as exc:
        if exc.errno == errno.EINVAL:
            return ""
        raise


@contextmanager
def _opened(path: str, flags: int, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(file: int, max_bytes: int) -> bytes:
    """Return the file's content, but never more than one byte over the limit."""
    parts: list[bytes] = []
    wanted = max_bytes + 1
    while wanted and (part := os.read(file, wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def _stamp(status: os.stat_result) -> _Stamp:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _reason(exc: OSError) -> str:
    name = errno.errorcode.get(exc.errno or 0, "EIO")
    return f"{printable(exc.strerror or 'input/output error')} ({name})"
