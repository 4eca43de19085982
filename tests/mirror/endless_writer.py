"""A writer without end, made to be killed: `python -m mirror.endless_writer DIRECTORY`.

Each line read forks a child that publishes one generation after another, every server of one
carrying the same number; the child's process id is printed once it has begun.
"""

import os
import sys
from itertools import count
from pathlib import Path

from mirror.published import document
from pointsman_mirror import layout
from pointsman_mirror.disk import Directory
from pointsman_mirror.layout import Published

SERVERS = 25


def numbered(number: int, servers: int = SERVERS) -> layout.Generation:
    """A generation all of whose documents carry `number`."""
    pad = "x" * 2000
    return layout.build(
        Published(f"o{at}", "tools", f"s{at}", document("tools", f"s{at}", number=number, pad=pad))
        for at in range(servers)
    )


def write_without_end(directory: Path) -> None:
    """Publish until the process ends."""
    target = Directory(directory)
    print(os.getpid(), flush=True)
    for number in count(os.getpid() * 1_000_000):
        target.publish(numbered(number))


def main() -> None:
    """Fork one writer per line of standard input."""
    directory = Path(sys.argv[1])
    for _ in sys.stdin:
        if (child := os.fork()) == 0:
            write_without_end(directory)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
