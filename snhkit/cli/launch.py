"""Serving the notebooks in JupyterLab, or the explorer as an app, on this machine only."""

import importlib.util
import json
import os
import tempfile
import webbrowser
from pathlib import Path

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.teaching.sources import lectures

__all__ = ["copy_notebooks", "explore_in_jupyter", "explore_in_voila"]

_HERE = Path(__file__).parent
_ONLY_HERE = "127.0.0.1"
_CELLS = ["import snhkit as snh\n\nsnh.explore()"]


def copy_notebooks(folder: Path) -> Path:
    """Copy the notebooks into a folder, without replacing notebooks that it holds, and return it.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in lectures():
            if not (folder / notebook.name).exists():
                write_whole(folder / notebook.name, notebook.read_bytes())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from None
    return folder


def explore_in_jupyter(folder: Path, *, browser: bool) -> None:
    """Serve the notebooks in JupyterLab on the loopback address, with a token, until Ctrl-C.

    Parameters
    ----------
    folder : Path
        The folder for the copy of the notebooks.
    browser : bool
        Whether to open a browser.

    Raises
    ------
    InputError
        If JupyterLab is not installed, or the folder cannot be written.
    """
    _require("jupyterlab")
    from jupyterlab.labapp import LabApp

    place = copy_notebooks(folder).resolve()
    words = ["-y", f"--ServerApp.root_dir={place}", f"--ServerApp.ip={_ONLY_HERE}"]
    words += ["--LabApp.default_url=/lab/tree/01_explore.ipynb"]
    words += [] if browser else ["--no-browser"]
    if getattr(os, "geteuid", lambda: 1)() == 0:
        words += ["--allow-root"]  # usual in a container; only this machine can connect
    LabApp.launch_instance(words)


def explore_in_voila(*, browser: bool) -> None:
    """Serve the explorer as an app without code (Voila) on the loopback address, with a token.

    Voila runs as its own server, not as an extension of Jupyter's: the page can talk to its
    widgets, but the server accepts no code from the page.

    Parameters
    ----------
    browser : bool
        Whether to open a browser.

    Raises
    ------
    InputError
        If Voila is not installed.
    """
    _require("voila")
    templates = str(_HERE / "_jupyter")  # templates that load nothing from the network
    others = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = os.pathsep.join([templates, others] if others else [templates])
    from voila.app import Voila

    class Snhkit(Voila):
        """Voila that opens the browser with the token, but not on a command line.

        All users of the machine can read command lines, so the address is passed in a file.
        """

        def launch_browser(self) -> None:
            page = Path(self.root_dir) / "open.html"
            page.write_text(f"<meta http-equiv='refresh' content='0;url={self.display_url}'>")
            webbrowser.open(page.as_uri())

    with tempfile.TemporaryDirectory(prefix="snhkit-") as folder:
        notebook = Path(folder) / "snhkit.ipynb"
        notebook.write_text(json.dumps(_notebook()), encoding="utf-8")
        words = [str(notebook), "--token", f"--Voila.ip={_ONLY_HERE}"]
        words += ["--VoilaConfiguration.template=snhkit"]
        Snhkit.launch_instance(words if browser else [*words, "--no-browser"])


def _require(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise InputError(f'{module} is not installed: pip install "snhkit[lab,offline]".')


def _notebook() -> dict:
    """Return a notebook that shows the explorer alone."""
    cells = [
        {"cell_type": "code", "id": f"cell-{k}", "source": code, "metadata": {}, "outputs": [],
         "execution_count": None}
        for k, code in enumerate(_CELLS)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}
