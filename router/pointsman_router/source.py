"""The directory as it is now: looked at again and again, settled to what is in force."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pointsman_router.metafiles import MetaFiles
from pointsman_router.reading import Reading, settle

# Where one link names everything, one readlink (two microseconds) tells whether anything is new.
LINK_POLL_S = 0.1
# Where every folder has to be asked; an edit by hand is live within a second, its reading included.
FILES_POLL_S = 0.5
# How often the log repeats why there is nothing to serve yet.
REMIND_S = 60.0

_LOG = logging.getLogger(__name__)


class Source:
    """Yields what is in force each time it changed; reads beside the event loop, never in it."""

    def __init__(
        self,
        directory: str,
        *,
        link_poll_s: float = LINK_POLL_S,
        files_poll_s: float = FILES_POLL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = MetaFiles(directory)
        # Not the loop's own threads: names that resolve slowly may occupy all of those.
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="directory")
        self._link_poll_s = link_poll_s
        self._files_poll_s = files_poll_s
        self._clock = clock
        self._reading = Reading()
        self._looked_at_s: float | None = None
        self._reminded_at_s = 0.0

    async def next(self) -> Reading:
        """Return the next reading that differs from the one before; the first as soon as it can.

        A directory that cannot be read is a reading too: its fault says so.
        """
        while True:
            if self._looked_at_s is not None:
                await asyncio.sleep(self._pause_s)
            reading = await asyncio.get_running_loop().run_in_executor(self._beside, self._look)
            self._log(reading)
            if reading is not self._reading:
                self._reading = reading
                return reading

    @property
    def _pause_s(self) -> float:
        return self._link_poll_s if self._files.is_linked else self._files_poll_s

    def _look(self) -> Reading:
        """Look once: at the link alone where that can tell, else at everything."""
        now_s = self._clock()
        due_s = (self._looked_at_s or 0.0) + self._files_poll_s
        whole = self._is_troubled and now_s >= due_s
        seen = self._files.look(unless_linked_as_before=not whole)
        if seen is None:
            return self._reading
        self._looked_at_s = now_s
        reading = settle(self._reading, seen)
        return self._reading if reading == self._reading else reading

    @property
    def _is_troubled(self) -> bool:
        """Whether something was wrong that may heal without a new generation."""
        reading = self._reading
        return reading.fault is not None or any(entry.fault for entry in reading.folders.values())

    def _log(self, reading: Reading) -> None:
        before, now_s = self._reading, self._clock()
        overdue = not reading.loaded and now_s - self._reminded_at_s >= REMIND_S
        if reading.fault and (reading.fault != before.fault or overdue):
            self._reminded_at_s = now_s
            stance = "the last good set is held" if reading.loaded else "nothing is served yet"
            _LOG.warning("directory: %s", stance, extra={"detail": reading.fault})
        if before.fault and not reading.fault:
            _LOG.info("directory: readable again")
        known = before.folders
        for folder, entry in reading.folders.items():
            if entry.fault and entry.fault != (known[folder].fault if folder in known else None):
                kind = "view" if folder in reading.views else "server"
                _LOG.warning(
                    "a %s's file is not in force",
                    kind,
                    extra={kind: entry.id, "detail": entry.fault},
                )
