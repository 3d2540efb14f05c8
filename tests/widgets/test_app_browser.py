"""``snhkit explore`` as a person starts and ends it, and the app's page in Chromium with no
network: a whole visit without a line of code."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Ctrl-C goes to a process group"),
    # Playwright's pipes and sockets are closed when its garbage is collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
START = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); " + (
    "from snhkit.cli import main; main()"
)


class Server:
    """``snhkit explore`` with options, from the moment that it prints its address."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.log = folder / "server.log"
        homes = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR")
        places = {name: str(folder / name) for name in (*homes, "IPYTHONDIR")}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, "explore", "--no-browser", *options],
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**os.environ, **places},
                start_new_session=True,  # so that Ctrl-C reaches this group alone
            )
        until = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/\S*token=\w+", self.said())):
            assert time.monotonic() < until, self.said()
            assert self.process.poll() is None, self.said()
            time.sleep(0.1)
        self.url = found[0]
        self.home = re.match(r"http://[^/]*/", self.url)[0]
        self.token = self.url.partition("token=")[2]

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def get(self, path: str) -> tuple[str, str]:
        """Where a request ended, and what came."""
        for _ in range(50):  # the address may be printed before it is open
            try:
                with urllib.request.urlopen(self.home + path, timeout=60) as answer:
                    return answer.url, answer.read().decode()
            except urllib.error.HTTPError as refusal:
                return str(refusal.code), ""
            except urllib.error.URLError:
                time.sleep(0.1)
        raise AssertionError(self.said())

    def kernels(self) -> list[str]:
        """Processes that this server started."""
        told = ["pgrep", "-P", str(self.process.pid), "-f", "ipykernel"]
        return subprocess.run(told, capture_output=True, text=True, check=False).stdout.split()

    def interrupted(self) -> int:
        """Ctrl-C, as a terminal sends it; the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(30)

    def killed(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


def gone(pid: str) -> bool:
    for _ in range(50):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


def test_the_lab_asks_for_its_token_and_ends_on_ctrl_c(tmp_path):
    server = Server(tmp_path, "--folder", str(tmp_path / "notebooks"))
    try:
        assert server.get("api/kernels")[0] == server.get("api/kernels?token=wrong")[0] == "403"
        assert server.get(f"api/kernels?token={server.token}")[1].strip() == "[]"
        assert (tmp_path / "notebooks" / "01_explore.ipynb").is_file()
        assert server.interrupted() == 0
    finally:
        server.killed()


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("app"), "--app")
    yield server
    server.killed()


def test_the_app_asks_for_its_token(app):
    for path in ("", "?token=wrong"):
        where, page = app.get(path)
        assert "/login" in where
        assert "snhkit" not in page
    assert app.get("api/kernels/0-0-0-0-0")[0] in ("403", "404")


def test_the_apps_page_refers_to_nothing_elsewhere(app):
    _, page = app.get(f"?token={app.token}")
    assert "application/vnd.jupyter.widget-view+json" in page
    assert "Traceback" not in page
    names = re.compile(r'xmlns(:\w+)?="[^"]*"|rdf:(about|resource)="[^"]*"')  # name, load nothing
    assert not re.search(r"(https?:)?//[\w-]+(\.[\w-]+)+\.?", names.sub("", page))
    assert "explore()" not in page  # no code
