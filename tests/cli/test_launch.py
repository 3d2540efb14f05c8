"""Notebooks are copied once, and Jupyter is kept to this machine."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from snhkit.cli.launch import copy_notebooks, explore_in_jupyter, explore_in_voila
from snhkit.errors import InputError
from snhkit.widgets.own_file import OwnFile


def test_notebooks_are_copied_and_what_is_there_stays(tmp_path):
    folder = copy_notebooks(tmp_path / "a" / "b")
    notebook = folder / "01_explore.ipynb"
    assert json.loads(notebook.read_text(encoding="utf-8"))["nbformat"] == 4
    assert {path.suffix for path in folder.iterdir()} == {".ipynb"}
    notebook.write_text("mine")
    copy_notebooks(folder)
    assert notebook.read_text() == "mine"


def test_a_copy_that_is_cut_short_leaves_no_half_notebook(tmp_path, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy_notebooks(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(InputError, match="a: cannot be written"):
        copy_notebooks(tmp_path / "a")


@pytest.fixture
def lab(monkeypatch) -> list[list[str]]:
    """What JupyterLab is started with."""
    started: list[list[str]] = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", started.append)
    return started


def test_the_lab_listens_to_this_machine_only(tmp_path, lab):
    explore_in_jupyter(tmp_path / "n", browser=False)
    (words,) = lab
    assert "--ServerApp.ip=127.0.0.1" in words
    assert f"--ServerApp.root_dir={tmp_path / 'n'}" in words
    assert "--LabApp.default_url=/lab/tree/01_explore.ipynb" in words
    assert "--no-browser" in words
    for door in ("token", "password", "allow_origin", "allow_remote", "disable_check_xsrf"):
        assert door not in " ".join(words)


def test_a_browser_is_opened_when_asked(tmp_path, lab):
    explore_in_jupyter(tmp_path, browser=True)
    assert "--no-browser" not in lab[0]


@pytest.mark.parametrize(("uid", "allowed"), [(0, True), (1000, False)])
def test_root_as_in_a_container_is_allowed(tmp_path, lab, monkeypatch, uid, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: uid, raising=False)
    explore_in_jupyter(tmp_path, browser=False)
    assert ("--allow-root" in lab[0]) is allowed


def test_the_app_is_one_notebook_that_leaves_nothing_behind(monkeypatch):
    seen = {}

    def launched(kind, words, config):
        seen.update(
            config, words=words, notebook=nbformat.read(words[0], as_version=4), path=words[0]
        )
        app = SimpleNamespace(root_dir=Path(words[0]).parent, display_url="http://here/?token=abc")
        kind.launch_browser(app)

    monkeypatch.setattr("voila.app.Voila.launch_instance", classmethod(launched))
    monkeypatch.setenv("JUPYTER_PATH", "/somewhere")
    opened = []
    monkeypatch.setattr(
        "webbrowser.open", lambda url: opened.append((url, Path(url[7:]).read_text("utf-8")))
    )
    explore_in_voila(browser=True)
    nbformat.validate(seen["notebook"])
    assert "What does epsilon do" in seen["VoilaConfiguration"]["resources"]["story"]
    assert "explore_app()" in seen["notebook"].cells[0].source
    assert {"--token", "--Voila.ip=127.0.0.1"} < set(seen["words"])
    assert "--VoilaConfiguration.allow_template_override=NO" in seen["words"]
    assert not Path(seen["path"]).parent.exists()
    ((url, page),) = opened
    assert "token" not in url  # which other users can read in the list of processes
    assert "url=http://here/?token=abc" in page
    ours, theirs = os.environ["JUPYTER_PATH"].split(os.pathsep)
    assert (Path(ours) / "voila" / "templates" / "snhkit" / "index.html.j2").is_file()
    assert theirs == "/somewhere"


def test_a_class_opens_no_files_and_its_kernels_end_and_are_lean(monkeypatch):
    seen = {}

    def launched(kind, words, config):
        code = nbformat.read(words[0], as_version=4).cells[0].source
        seen.update(words=words, code=code, arenas=os.environ.get("MALLOC_ARENA_MAX"))

    monkeypatch.setattr("voila.app.Voila.launch_instance", classmethod(launched))
    monkeypatch.setattr(os, "environ", dict(os.environ) | {"OMP_NUM_THREADS": "3"})
    explore_in_voila(browser=False, visitors=True)
    assert "explore_app(opens_files=False)" in seen["code"]
    assert "--MappingKernelManager.cull_idle_timeout=300" in seen["words"]
    assert seen["arenas"] == "2"
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_the_folder_of_a_killed_app_is_removed_at_the_next_start(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("voila.app.Voila.launch_instance", classmethod(lambda *_, config: None))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (f"app-{ended.pid}-a", f"app-{os.getpid()}-b", "app-x-c", "other"):
        (tmp_path / f"snhkit-{name}").mkdir()
        (tmp_path / f"snhkit-{name}" / "snhkit.ipynb").write_text("/data/trips.csv")
    explore_in_voila(browser=False)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [f"snhkit-app-{os.getpid()}-b", "snhkit-app-x-c", "snhkit-other"]


FILE = OwnFile("/data/my trips.csv", 37.76, -122.43, 13_000, districts="/data/wards.geojson")


def test_a_file_is_explored_in_a_notebook_that_is_kept(tmp_path, lab):
    for _ in range(2):
        explore_in_jupyter(tmp_path, browser=False, file=FILE)
    name = "explore-my-trips.ipynb"
    assert f"--LabApp.default_url=/lab/tree/{name}" in lab[1]
    notebook = nbformat.read(tmp_path / name, as_version=4)
    nbformat.validate(notebook)
    source = "\n".join(cell.source for cell in notebook.cells)
    assert "snh.read_points('/data/my trips.csv', region)" in source
    assert "ledger='/data/my trips.csv.ledger'" in source
    assert "budget" not in source  # the ledger holds the budget: never a fresh one
    assert "districts='/data/wards.geojson'" in source
    compile(source, name, "exec")
    (tmp_path / name).write_text("mine", encoding="utf-8")
    explore_in_jupyter(tmp_path, browser=False, file=FILE)
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"
    assert "--LabApp.default_url=/lab/tree/explore-my-trips-2.ipynb" in lab[2]


@pytest.mark.parametrize(
    ("missing", "start"),
    [
        ("jupyterlab", lambda folder: explore_in_jupyter(folder, browser=False)),
        ("voila", lambda folder: explore_in_voila(browser=False)),
    ],
)
def test_without_jupyter_it_says_how_to_get_it(tmp_path, lab, monkeypatch, missing, start):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else found(name)
    )
    with pytest.raises(InputError, match=rf"{missing} is not installed: pip install .*lab"):
        start(tmp_path / "n")
    assert not lab
    assert not (tmp_path / "n").exists()
