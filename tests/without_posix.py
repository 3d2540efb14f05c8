"""Python as on Windows, as far as a process on Linux or macOS can be so.

``pytest -p without_posix`` (with ``PYTHONPATH=tests``) runs tests with it, and
``tests/test_platforms.py`` runs commands with it. Modules that Windows lacks cannot be imported,
functions of ``os`` that it lacks are gone (but for those that other packages call wherever Windows
is not), and portalocker locks as it does there. The lock itself, which a stand-in for ``msvcrt``
takes, is one of this system.
"""

import contextlib
import fcntl
import importlib
import os
import sys
import types

import portalocker  # with the modules of the standard library that it imports
import psutil  # which needs resource on Linux, and not on Windows

with contextlib.suppress(ImportError):  # is a part of Dask
    import locket  # noqa: F401  # which needs fcntl here, and the kernel's own locks on Windows

MODULES = ("fcntl", "grp", "posix_ipc", "pty", "pwd", "readline", "resource", "syslog", "termios")
FUNCTIONS = (
    "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork", "forkpty",
    "getpgid", "killpg", "lchown", "mkfifo", "pread", "pwrite",
    "sched_getaffinity", "setsid", "sysconf", "wait3", "wait4",
)  # fmt: skip


def _msvcrt() -> types.ModuleType:
    """Return a stand-in for the module of Windows that locks a part of an open file."""
    module, flock = types.ModuleType("msvcrt"), fcntl.flock
    unlock, block, once = 0, 1, 2
    module.LK_UNLCK, module.LK_LOCK, module.LK_NBLCK = unlock, block, once  # pyright: ignore
    kinds = {unlock: fcntl.LOCK_UN, block: fcntl.LOCK_EX, once: fcntl.LOCK_EX | fcntl.LOCK_NB}

    def locking(descriptor: int, mode: int, count: int) -> None:
        module.calls += 1
        if mode == block and module.calls % 5 == 0:
            raise OSError(36, "Resource deadlock avoided")  # as after ten seconds of waiting
        flock(descriptor, kinds[mode])

    module.locking, module.calls = locking, 0  # pyright: ignore
    return module


def block() -> None:
    """Take away what Windows does not have."""
    sys.modules["msvcrt"] = _msvcrt()
    own = portalocker.__name__
    for name in [name for name in sys.modules if name.partition(".")[0] == own]:
        del sys.modules[name]
    known, os.name = os.name, "nt"
    try:
        importlib.import_module("portalocker")  # chooses its kind of lock now
    finally:
        os.name = known
        del sys.modules["msvcrt"]  # others would take this system for Windows
    psutil._psplatform.os = types.SimpleNamespace(**vars(os))  # pyright: ignore  # Linux's own
    for name in FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    for name in MODULES:
        sys.modules[name] = None  # pyright: ignore


block()
