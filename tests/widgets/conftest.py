"""Fixtures for the tests in a browser: a page, and a JupyterLab server."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOKEN = "only-on-this-machine"


@pytest.fixture(autouse=True)
def _a_small_city(monkeypatch):
    """Let the app begin with fewer invented records, which are drawn sooner."""
    monkeypatch.setattr("snhkit.widgets.app._N", 1_000)


def watched(chromium: Any) -> Iterator:
    """Yield a page of 1280 by 800; its errors and its requests to the network fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    wrong = []
    # Notebook 7 reads settings of plugins before they are loaded; these errors are ignored.
    own = "/static/notebook/"
    page.on(
        "pageerror",
        lambda error: None if own in (error.stack or "") else wrong.append(f"error: {error}"),
    )
    page.on(
        "request",
        lambda ask: (
            wrong.append(f"asked for {ask.url[:120]}")
            if ask.url.startswith(("http", "ws")) and "//127.0.0.1" not in ask.url[:20]
            else None
        ),
    )
    yield page
    context.close()
    assert not wrong


window = pytest.fixture(watched)
shared_window = pytest.fixture(watched, scope="module")


class Lab:
    """A JupyterLab server on this machine, in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder, self.runtime = folder / "notebooks", folder / "runtime"
        self.folder.mkdir()
        settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        quiet = json.dumps({"fetchNews": "false", "checkForUpdates": False})
        (settings / "notification.jupyterlab-settings").write_text(quiet, encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        places = {
            "JUPYTER_RUNTIME_DIR": self.runtime,
            "JUPYTER_CONFIG_DIR": folder / "config",
            "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
            "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
            "IPYTHONDIR": folder / "ipython",
        }
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.open_browser": False,
            "ServerApp.allow_root": True,
            "ServerApp.root_dir": self.folder,
            "IdentityProvider.token": TOKEN,
            "LabApp.expose_app_in_browser": True,
            "JupyterNotebookApp.expose_app_in_browser": True,
        }
        self.log = folder / "server.log"
        with self.log.open("wb") as log:
            self.server = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "jupyterlab",
                    *(f"--{key}={value}" for key, value in options.items()),
                ],
                stdout=log,
                stderr=log,
                env={**os.environ, **{name: str(path) for name, path in places.items()}},
                start_new_session=True,
            )

    def wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and self.server.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)
        pytest.fail(f"JupyterLab did not start:\n{self.log.read_text(encoding='utf-8')[-2000:]}")

    def url(self, notebook: str, front_end: str = "lab/tree") -> str:
        return f"http://127.0.0.1:{self.port}/{front_end}/{notebook}?reset&token={TOKEN}"

    def stop(self) -> None:
        self.server.terminate()  # the server ends its kernels
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait(20)


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Iterator[Lab]:
    """Start one JupyterLab server for all tests of a run."""
    server = Lab(tmp_path_factory.mktemp("lab"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()
