"""Serving the notebooks in JupyterLab, or the explorer as an app, on this machine only."""

import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.teaching.copies import lectures

if TYPE_CHECKING:
    from snhkit.widgets.own_file import OwnFile

_HERE = Path(__file__).parent
_ONLY_HERE = "127.0.0.1"
_FOLDER = "snhkit-app-"  # and the id of the process
# A kernel then needs a quarter less memory; memory of large arrays is returned at once.
_LEAN = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# The kernel of a visitor who has left without a word, such as by a closed laptop, ends.
_LEAVERS = [
    "--MappingKernelManager.cull_interval=60",
    "--MappingKernelManager.cull_idle_timeout=300",
]


def copy_notebooks(folder: Path) -> Path:
    """Copy the notebooks into a folder and return the folder; existing files are kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in lectures():
            if not (folder / notebook.name).exists():
                write_whole(folder / notebook.name, notebook.read_bytes())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from None
    return folder


def explore_in_jupyter(folder: Path, *, browser: bool, file: "OwnFile | None" = None) -> None:
    """Serve the notebooks in JupyterLab on the loopback address, with a token, until Ctrl-C."""
    _require("jupyterlab")
    from jupyterlab.labapp import LabApp

    place = copy_notebooks(folder).resolve()
    words = ["-y", f"--ServerApp.root_dir={place}", f"--ServerApp.ip={_ONLY_HERE}"]
    name = "01_explore.ipynb" if file is None else _write_notebook(place, file)
    words += [f"--LabApp.default_url=/lab/tree/{name}"]
    words += [] if browser else ["--no-browser"]
    if getattr(os, "geteuid", lambda: 1)() == 0:
        words += ["--allow-root"]  # root is usual in a container; only this machine can connect
    LabApp.launch_instance(words)


def explore_in_voila(
    *,
    browser: bool,
    file: "OwnFile | None" = None,
    visitors: bool = False,
    background: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Serve the explorer alone on the loopback address, with a token, by Voila's own server."""
    _require("voila")
    _add_to_path(_HERE / "_jupyter")  # templates that load nothing from the network
    # Voila's import would compile a grammar of addresses for 3 s, and nothing here uses it.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type] - stops its import
    from traitlets.config import Config

    from snhkit.cli.voila_app import ExplorerApp
    from snhkit.viz.reports.story import shipped_story, story_html

    _remove_left_behind()
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-") as folder:
        notebook = Path(folder) / "snhkit.ipynb"
        content = _notebook([_app(file, visitors=visitors, background=background)])
        notebook.write_text(json.dumps(content), encoding="utf-8")
        notebook.chmod(0o600)
        words = [str(notebook), "--token", f"--Voila.ip={_ONLY_HERE}"]
        words += ["--VoilaConfiguration.template=snhkit"]
        # An address could otherwise name a template that loads parts from the network.
        words += ["--VoilaConfiguration.allow_template_override=NO"]
        if visitors:
            words += _LEAVERS
            os.environ.update(_LEAN | os.environ)
        story = {} if file else {"story": story_html(shipped_story())}
        told = Config({"VoilaConfiguration": {"resources": story}})
        ExplorerApp.launch_instance(words if browser else [*words, "--no-browser"], config=told)


def _remove_left_behind() -> None:
    """Remove the folders of apps that were killed, which name the files that the apps opened."""
    import psutil  # which Jupyter's kernels need as well

    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        pid = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _require(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise InputError(f'{module} is not installed: pip install "snhkit[lab,offline]".')


def _add_to_path(folder: Path) -> None:
    """Put a folder first in the list of folders that Jupyter searches."""
    others = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(folder), *([others] if others else [])])


def _app(
    file: "OwnFile | None",
    *,
    visitors: bool,
    background: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the Python code of the app, which the app's page does not show."""
    told = "" if file is None else f"OwnFile(**{asdict(file)!r})"
    given = [told] if told else []
    given += ["opens_files=False"] if visitors else []
    given += [f"{name}={text!r}" for name, text in background.items()]
    lines = ["from snhkit.widgets.app import explore_app"]
    lines += ["from snhkit.widgets.own_file import OwnFile"] if told else []
    return "\n".join([*lines, "", f"explore_app({', '.join(given)})"])


def _write_notebook(folder: Path, file: "OwnFile") -> str:
    """Write a notebook for a file of private records, beside any that exist; return its name."""
    from snhkit.experiment.code import account

    districts = "".join(
        f", {name}={value!r}"
        for name, value in (("districts", file.districts), ("label", file.label))
        if value is not None
    )
    title = f", title={file.title!r}" if file.title else ""
    content = _notebook(
        [
            f"import snhkit as snh\n\n{file.source}",
            account(file.unit, f"ledger={str(file.account)!r},", n_public=file.n_public),
            f"snh.explore(data, public=public{title}{districts})",
        ]
    )
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    stem, k = re.sub(r"[^\w.-]+", "-", Path(file.path).stem), 1
    name = f"explore-{stem}.ipynb"
    while (folder / name).exists() and (folder / name).read_text(encoding="utf-8") != text:
        k += 1
        name = f"explore-{stem}-{k}.ipynb"
    write_whole(folder / name, text)
    return name


def _notebook(codes: Sequence[str]) -> dict:
    """Return a notebook with one code cell for each of ``codes``."""
    cells = [
        {"cell_type": "code", "id": f"cell-{k}", "source": code, "metadata": {}, "outputs": [],
         "execution_count": None}
        for k, code in enumerate(codes)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}
