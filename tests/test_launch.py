"""Notebooks are copied once, and Jupyter is kept to this machine."""

import importlib.util
import json
import os
import subprocess

import pytest

from snhkit.errors import InputError
from snhkit.launch import copy_notebooks, explore_in_jupyter


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


class Jupyter:
    """A process that ends with code 3 after one Ctrl-C."""

    commands: list[list[str]]

    def __init__(self, command: list[str]) -> None:
        self.commands.append(command)
        self.interrupted = False

    def wait(self) -> int:
        if not self.interrupted:
            self.interrupted = True
            raise KeyboardInterrupt
        return 3


@pytest.fixture
def jupyter(monkeypatch):
    monkeypatch.setattr(Jupyter, "commands", [], raising=False)
    monkeypatch.setattr(subprocess, "Popen", Jupyter)
    return Jupyter


@pytest.mark.parametrize(
    ("app", "page"), [(False, "/lab/tree/01_explore.ipynb"), (True, "/voila/render/")]
)
def test_jupyter_listens_to_this_machine_only_and_ctrl_c_waits_for_it(tmp_path, jupyter, app, page):
    assert explore_in_jupyter(tmp_path / "n", app=app, browser=False) == 3
    (command,) = jupyter.commands
    words = " ".join(command)
    assert "--ServerApp.ip=127.0.0.1" in words
    assert f"--ServerApp.root_dir={tmp_path / 'n'}" in words
    assert page in words
    assert "--no-browser" in words
    for door in ("token", "password", "allow_origin", "allow_remote", "disable_check_xsrf"):
        assert door not in words


def test_a_browser_is_opened_when_asked(tmp_path, jupyter):
    explore_in_jupyter(tmp_path, app=False, browser=True)
    assert "--no-browser" not in jupyter.commands[0]


@pytest.mark.parametrize("missing", ["jupyterlab", "voila"])
def test_without_jupyter_it_says_how_to_get_it(tmp_path, jupyter, monkeypatch, missing):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else found(name)
    )
    with pytest.raises(InputError, match=rf"{missing} is not installed: pip install .*lab"):
        explore_in_jupyter(tmp_path / "n", app=False, browser=False)
    assert not jupyter.commands
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize(("uid", "allowed"), [(0, True), (1000, False)])
def test_root_as_in_a_container_is_allowed(tmp_path, jupyter, monkeypatch, uid, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: uid, raising=False)
    explore_in_jupyter(tmp_path, app=False, browser=False)
    assert ("--allow-root" in jupyter.commands[0]) is allowed
