"""A program that ends when whoever started it is gone, by whatever death.

`python -m pointsman.tether MODULE_OR_SCRIPT [ARGUMENT…]` runs the program with its standard input
held by the one who started it. The kernel closes that pipe also for a process that was killed
outright; so this needs nobody's cooperation, and no facility of one operating system alone.
"""

import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Sequence

# How long a program that has been left alone may take to end, and to end what it started itself.
END_TIMEOUT_S = 10.0


def command(program: str, *arguments: str) -> list[str]:
    """Return the command that runs `program`, a module's name or a script's path, tethered.

    Whoever runs it gives it a pipe as standard input. The folder it is run in adds no modules.
    """
    return [sys.executable, "-P", "-m", "pointsman.tether", program, *arguments]


def main(arguments: Sequence[str]) -> None:
    """Run the program that `arguments` name in this process."""
    threading.Thread(target=_end_with_starter, name="tether", daemon=True).start()
    program = arguments[0]
    sys.argv = list(arguments)
    if program.endswith(".py"):
        sys.path.insert(0, os.path.dirname(program))
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _end_with_starter() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_TIMEOUT_S)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
