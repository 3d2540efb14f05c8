"""Opening the notebooks in Jupyter, on this machine only."""

import contextlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from snhkit.errors import InputError
from snhkit.files import write_whole

__all__ = ["copy_notebooks", "explore_in_jupyter"]


def copy_notebooks(folder: Path) -> Path:
    """Put a writable copy of the notebooks into ``folder``; what is there already stays.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    package = Path(__file__).parent
    installed = package / "_notebooks"
    source = installed if installed.is_dir() else package.parent / "notebooks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in sorted(source.glob("*.ipynb")):
            if not (folder / notebook.name).exists():
                write_whole(folder / notebook.name, notebook.read_bytes())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from None
    return folder


def explore_in_jupyter(folder: Path, *, app: bool, browser: bool) -> int:
    """Serve the notebooks on the loopback address, with a token, until Ctrl-C.

    Parameters
    ----------
    folder : Path
        Where the notebooks are copied to.
    app : bool
        Show the explorer as an app without code (Voila) instead of JupyterLab.
    browser : bool
        Open a browser.

    Returns
    -------
    int
        Jupyter's exit code.

    Raises
    ------
    InputError
        If Jupyter is not installed.
    """
    for module in ("jupyterlab", "voila"):
        if importlib.util.find_spec(module) is None:
            raise InputError(f'{module} is not installed: pip install "snhkit[lab,offline]".')
    place = copy_notebooks(folder).resolve()
    page = "/voila/render/01_explore.ipynb" if app else "/lab/tree/01_explore.ipynb"
    command = [sys.executable, "-m", "jupyterlab", "-y", f"--ServerApp.root_dir={place}"]
    command += ["--ServerApp.ip=127.0.0.1", f"--LabApp.default_url={page}"]
    command += [] if browser else ["--no-browser"]
    if getattr(os, "geteuid", lambda: 1)() == 0:
        command += ["--allow-root"]  # in a container everyone is; only this machine can connect
    process = subprocess.Popen(command)  # noqa: S603 - our own interpreter and words
    while True:
        # Ctrl-C reaches Jupyter as well, which then shuts its kernels down.
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()
