"""Processes that compute for the kernels of many visitors, so that only these processes hold JAX.

A kernel sends a function with its arguments over a socket in a private folder, and gets progress
messages and the result back. A process serves one request after the other. If a kernel closes its
connection, the process ends, so a cancelled computation stops at once. A new process then replaces
the old one.
"""

import contextlib
import ctypes
import os
import signal
import socket
import threading
from collections.abc import Callable
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from snhkit import progress
from snhkit.errors import InputError
from snhkit.progress import Step

__all__ = ["Line", "keep_serving"]

_LOOK_S = 1.0  # seconds between two checks of whether the user has cancelled
_MOST_MB = 700  # memory with compiled programs; above it, a new process replaces this one


class Line:
    """Calls functions in the process at the other end of a socket, and returns their results.

    Parameters
    ----------
    at : Path
        The path of the socket.
    """

    def __init__(self, at: Path) -> None:
        self.at = at

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return ``function(*args)``, computed by the process that serves the socket.

        Steps of progress are passed to the function given to ``progress.watched``, which cancels
        the computation if it raises an exception.

        Raises
        ------
        InputError
            If the process ends before its answer.
        """
        step = Step("waiting for other visitors", 0, 1)
        kind: str = ""
        sent: Any = None
        try:
            with Client(str(self.at), "AF_UNIX") as line:
                while kind not in ("done", "failed"):
                    while not line.poll(_LOOK_S):
                        progress.told(step)
                    kind, sent = line.recv()
                    if kind == "ready":
                        line.send((function, args))
                    elif kind == "step":
                        step = sent
                        progress.told(step)
        except (EOFError, OSError):
            raise InputError(
                "The server's process for learned methods ended early, because memory ran out or "
                "the server stopped. Try again; the epsilon of an interrupted build stays spent."
            ) from None
        if kind == "failed":
            raise sent
        return sent


def keep_serving(at: Path) -> None:
    """Fork a process that serves a socket, and return; if that process ends, it is replaced.

    Parameters
    ----------
    at : Path
        The path of the socket, which this function creates.
    """
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(at))
    listening.listen(64)
    if os.fork():
        listening.close()
        return
    _end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        if child := os.fork():
            os.waitpid(child, 0)
        else:
            _end_with_parent()
            _serve(listening)


def _serve(listening: socket.socket) -> None:
    while _resident_mb() < _MOST_MB:
        accepted, _ = listening.accept()
        with Connection(accepted.detach()) as line, contextlib.suppress(EOFError, ConnectionError):
            _serve_one(line)
    os._exit(0)


def _serve_one(line: Connection) -> None:
    line.send(("ready", None))
    function, args = line.recv()
    over = threading.Event()
    threading.Thread(target=_end_with_line, args=(line, over), daemon=True).start()
    try:
        with progress.watched(lambda step: line.send(("step", step))):
            answer = "done", function(*args)
    except Exception as error:
        answer = "failed", error
    over.set()
    line.send(answer)


def _end_with_line(line: Connection, over: threading.Event) -> None:
    """End this process if the kernel closes the connection before ``over`` is set."""
    with contextlib.suppress(OSError, EOFError):
        line.poll(None)
    if not over.is_set():
        os._exit(0)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _resident_mb() -> float:
    status = Path("/proc/self/statm").read_text()
    return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
