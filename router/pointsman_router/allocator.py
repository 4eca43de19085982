"""What the process does with memory that large answers took."""

import ctypes

# From malloc.h of the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Memory that is given back, and fetched anew for the next answer, costs more than all else that is
# done with a large one. Eight of the largest answers fit into what is kept; none is over the
# second bound, beyond which each gets memory of its own.
_KEPT_BYTES = 32 * 1024 * 1024
_OF_ITS_OWN_BYTES = 8 * 1024 * 1024


def keep() -> None:
    """Keep what was freed for the next answer, up to a bound; other C libraries do as they do."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _OF_ITS_OWN_BYTES)
