"""What the process does with memory that large answers took."""

import ctypes

# From malloc.h of the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Given back and fetched anew for each answer, memory costs more than all else that is done with a
# large one. Eight of the largest answers, and no single one of them, go without.
_KEPT_BYTES = 32 * 1024 * 1024
_OF_ITS_OWN_BYTES = 8 * 1024 * 1024


def keep() -> None:
    """Keep what was freed for the next answer, up to a bound; other C libraries do as they do."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _OF_ITS_OWN_BYTES)
