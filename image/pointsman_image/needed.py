"""Which files of a Debian package or of a wheel the image needs."""

import re
from fnmatch import fnmatchcase

# Of a Debian package only this: whatever else it brings (a program, a script, a configuration
# that some other program reads) would be one more thing to attack.
DEBIAN = (
    "usr/bin/python3.11",
    "usr/lib/python3.11/*",
    "usr/lib/*-linux-gnu/*.so",
    "usr/lib/*-linux-gnu/*.so.*",
    "usr/lib/ld-linux-*",
    "usr/lib64/ld-linux-*",
    "usr/lib/os-release",
    "usr/share/ca-certificates/*.crt",
    "usr/share/common-licenses/*",
    "usr/share/doc/*/copyright",
)
# A package whose licence is another one's.
_LICENCE_OF_ANOTHER = re.compile(r"usr/share/doc/[^/]+")
NOT_OF_DEBIAN = (
    # Character sets, hardware engines and old ciphers that Python never asks for.
    "usr/lib/*-linux-gnu/audit/*",
    "usr/lib/*-linux-gnu/engines-3/*",
    "usr/lib/*-linux-gnu/gconv/*",
    "usr/lib/*-linux-gnu/ossl-modules/*",
    # The standard library's tests, its windows, its installers, and a crash reporter's hook.
    "usr/lib/python3.11/config-3.11-*",
    "usr/lib/python3.11/ensurepip/*",
    "usr/lib/python3.11/idlelib/*",
    "usr/lib/python3.11/lib2to3/*",
    "usr/lib/python3.11/lib-dynload/_ctypes_test.*",
    "usr/lib/python3.11/lib-dynload/_test*",
    "usr/lib/python3.11/lib-dynload/_xxtestfuzz.*",
    "usr/lib/python3.11/lib-dynload/xxlimited*",
    "usr/lib/python3.11/pydoc_data/*",
    "usr/lib/python3.11/sitecustomize.py",
    "usr/lib/python3.11/test/*",
    "usr/lib/python3.11/tkinter/*",
    "usr/lib/python3.11/turtle*",
    "usr/lib/python3.11/venv/*",
    # Modules whose shared libraries would have to come along: terminals, databases, NIS, sound.
    "usr/lib/python3.11/crypt.py",
    "usr/lib/python3.11/curses/*",
    "usr/lib/python3.11/lib-dynload/_crypt.*",
    "usr/lib/python3.11/lib-dynload/_curses*",
    "usr/lib/python3.11/lib-dynload/_dbm.*",
    "usr/lib/python3.11/lib-dynload/nis.*",
    "usr/lib/python3.11/lib-dynload/ossaudiodev.*",
    "usr/lib/python3.11/lib-dynload/readline.*",
)
NOT_OF_WHEELS = (
    # Scripts that start with the path of the interpreter that installed them.
    "bin/*",
    # What only compilers and type checkers read.
    "*.c",
    "*.h",
    "*.pxd",
    "*.pxi",
    "*.pyi",
    "*.pyx",
    "*/include/*",
    "*-stubs/*",
    # The packages' own tests.
    "*/test/*",
    "*/tests/*",
    # The installer's notes: where the files came from, and what they were before this list.
    "*.dist-info/INSTALLER",
    "*.dist-info/RECORD",
    "*.dist-info/REQUESTED",
    "*.dist-info/direct_url.json",
    "*/__pycache__/*",
)


def of_debian(path: str) -> bool:
    """Whether the image takes this file, named from the root, of a Debian package."""
    if _LICENCE_OF_ANOTHER.fullmatch(path):
        return True
    return _is_one_of(DEBIAN, path) and not _is_one_of(NOT_OF_DEBIAN, path)


def of_wheels(path: str) -> bool:
    """Whether the image takes this file, named from the folder of the libraries."""
    return not _is_one_of(NOT_OF_WHEELS, path)


def _is_one_of(patterns: tuple[str, ...], path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
