"""A process that has imported the explorer, and forks one kernel for each visitor of a server.

The kernels share the memory of all imported modules, but no widget, record or budget. The process
is ``python -m snhkit.cli.kernel_nest SOCKET PARENT``, where PARENT is the process id of the server.
Linux only.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from snhkit.cli.shared_worker import Line, keep_serving
from snhkit.errors import InputError

__all__ = ["KERNEL", "hatch", "nest"]

KERNEL = "snhkit-visitor"
"""Name, in a notebook's metadata, of the kernels that this module's process forks."""

# The program that Jupyter starts as a kernel. The real kernel is forked from this file's process;
# when one of the two ends, the connection between them closes, and the other ends too.
_DOOR = """\
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
line.sendall(sys.argv[2].encode() + b"\\n")
line.recv(1)
"""
_IMPORTED = (
    "IPython.core.debugger", "IPython.extensions.storemagic", "ipykernel.debugger", "psutil",
)  # fmt: skip
# Environment variables with which a kernel needs less memory.
_LEAN = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",  # memory of large arrays is returned to the system at once
    "OPENBLAS_NUM_THREADS": "1",
}


@contextlib.contextmanager
def nest(folder: Path) -> Iterator[Path]:
    """Run the process that forks kernels, and yield a folder for JUPYTER_PATH.

    Parameters
    ----------
    folder : Path
        A private folder, for the socket and Jupyter's kernel specification.

    Yields
    ------
    Path
        The folder with the kernel specification, to be added to JUPYTER_PATH.
    """
    at = folder / "nest.sock"
    place = folder / "jupyter" / "kernels" / KERNEL
    place.mkdir(parents=True)
    told = {
        "argv": [sys.executable, "-I", "-S", "-c", _DOOR, str(at), "{connection_file}"],
        "display_name": "Visitor",
        "language": "python",
        "interrupt_mode": "message",
    }
    (place / "kernel.json").write_text(json.dumps(told), encoding="utf-8")
    words = [sys.executable, "-m", "snhkit.cli.kernel_nest", str(at), str(os.getpid())]
    with subprocess.Popen(  # noqa: S603 - our own program
        words, stdout=subprocess.PIPE, env=os.environ | _LEAN
    ) as process:
        try:
            # The process prints a line as soon as it listens.
            if process.stdout is None or not process.stdout.readline():
                raise InputError(
                    "The kernels of visitors cannot be started; the reason is printed above."
                )
            yield folder / "jupyter"
        finally:
            process.terminate()


def hatch(at: str) -> None:
    """Import the explorer, listen on a socket, and fork a kernel for every connection.

    Each connection sends one line: the path of the kernel's connection file, which Jupyter made.

    Parameters
    ----------
    at : str
        Path of the socket.
    """
    from snhkit.neural import elsewhere

    launch = _imported()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the server reacts to Ctrl-C
    gc.collect()
    gc.freeze()  # garbage collections would write to memory that the kernels share
    lines = [Line(Path(at).with_name(f"{name}.sock")) for name in elsewhere.Elsewhere._fields]
    for line in lines:
        keep_serving(line.at)
    elsewhere.send(elsewhere.Elsewhere(*lines))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended kernels leave no zombie processes
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(at)
    listening.listen(64)
    print("listening", flush=True)
    while True:
        door, _ = listening.accept()
        if os.fork():
            door.close()
            continue
        listening.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        path = door.makefile(encoding="utf-8").readline().rstrip("\n")
        threading.Thread(target=_end_with, args=(door,), daemon=True).start()
        launch(argv=["-f", path, "--HistoryManager.enabled=False"])
        os._exit(0)


def _imported() -> Callable[..., object]:
    """Import every module that a kernel needs, so that all kernels share the modules' memory.

    Returns
    -------
    callable
        A function that turns this process into a kernel; its ``argv`` is a list of arguments.
    """
    sys.modules["debugpy"] = None  # type: ignore[assignment] - visitors do not debug
    for name in _IMPORTED:
        importlib.import_module(name)
    import ipykernel.kernelapp
    import ipywidgets

    from snhkit.widgets.app import explore_app

    ipywidgets.register_comm_target()  # as an import in a kernel does
    explore_app(opens_files=False).build("ug", "privtree")  # imports what only a build imports
    ipywidgets.Widget.close_all()  # a visitor's page would show all widgets that exist
    return ipykernel.kernelapp.launch_new_instance


def _end_with(line: socket.socket) -> None:
    """End this kernel when the process that Jupyter started closes the connection."""
    line.recv(1)
    os._exit(0)


if __name__ == "__main__":
    # The process ends with the server, even if the server is killed.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() == int(sys.argv[2]):  # otherwise the server has ended already
        hatch(sys.argv[1])
