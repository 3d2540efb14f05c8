"""The first notebook in JupyterLab, in Chromium, with no network: what the page shows is what
the kernel computed."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

pytestmark = [
    pytest.mark.browser,
    # Playwright's and the kernel client's sockets are closed when their garbage is collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_explore.ipynb"
TOKEN = "only-on-this-machine"
ANSWERS = """
import json as _json
_told = explorer._session.region, *([box[k] for box in explorer.map.boxes] for k in range(4))
_boxes = snh.RangeQueries.from_degrees(*_told) if explorer.map.boxes else None
print(_json.dumps({
    "boxes": explorer.map.boxes,
    "answers": {
        name: [] if _boxes is None else release.answer(_boxes).tolist()
        for name, release in explorer.releases.items()
    },
    "spent": float(explorer.dataset.ledger.spent),
}))
"""

# As if all methods had been built: the page must hold them side by side.
ALL_METHODS = """
_session = explorer._session
for _method in snh.METHODS.values():
    for _built in (_session.releases, _session.surfaces):
        _built.setdefault(_method.title, _built["UG"])
explorer._show_all()
print("null")
"""


class Lab:
    """A JupyterLab server on this machine, in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder, self.runtime = folder / "notebooks", folder / "runtime"
        shutil.copytree(NOTEBOOK.parent, self.folder)
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

    def url(self, notebook: str) -> str:
        return f"http://127.0.0.1:{self.port}/lab/tree/{notebook}?reset&token={TOKEN}"

    def stop(self) -> None:
        self.server.terminate()  # it shuts its kernels down
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait(20)


@pytest.fixture(scope="module")
def lab(tmp_path_factory, chromium):
    server = Lab(tmp_path_factory.mktemp("lab"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture
def ask(lab):
    """Runs code in the page's own kernel, through a second client, and reads its JSON."""
    clients = []

    def asked(code: str):
        if not clients:
            (file,) = lab.runtime.glob("kernel-*.json")
            client = BlockingKernelClient(connection_file=str(file))
            client.load_connection_file()
            client.start_channels()
            client.wait_for_ready(timeout=30)
            clients.append(client)
        said = []
        reply = clients[0].execute_interactive(
            code,
            store_history=False,
            timeout=60,
            output_hook=lambda message: said.append(message["content"].get("text", "")),
        )
        assert reply["content"]["status"] == "ok", reply["content"]
        return json.loads("".join(said))

    yield asked
    for client in clients:
        client.stop_channels()


class Page:
    """The explorer as a person sees it."""

    def __init__(self, window):
        self.window = window
        self.explorer = window.locator(".snhkit-explorer").first
        self.explorer.wait_for(timeout=120_000)
        frame = self.explorer.locator("iframe").element_handle().content_frame()
        frame.wait_for_selector(".leaflet-draw-draw-rectangle", state="attached")
        self.frame = frame

    def rows(self) -> list[list[str]]:
        return self.explorer.locator(".snhkit-answers").evaluate(
            "(table) => [...table.rows].map((row) => [...row.cells].map((c) => c.innerText))"
        )

    def numbers(self) -> list[list[float]]:
        """The released counts shown, a list a box."""
        rows = [row for row in self.rows()[1:] if len(row) > 1]
        return [[float(cell.replace(",", "")) for cell in row[2:]] for row in rows]

    def wait_rows(self, count: int) -> None:
        self.window.wait_for_function(
            "(n) => document.querySelectorAll('.snhkit-answers tbody th').length === n",
            arg=count,
            timeout=10_000,
        )

    def button(self, name: str):
        return self.explorer.get_by_role("button", name=name, exact=True)

    def drag(self, *points: tuple[float, float]) -> None:
        mouse = self.window.mouse
        mouse.move(*points[0])
        mouse.down()
        for point in points[1:]:
            mouse.move(*point, steps=4)
        mouse.up()

    def draw(self, *corners: tuple[float, float]) -> None:
        """Draw a box between two places, as shares of the map's width and height."""
        self.frame.locator(".leaflet-draw-draw-rectangle").click()
        at = self.frame.locator(".leaflet-container").bounding_box()
        first, last = ((at["x"] + u * at["width"], at["y"] + v * at["height"]) for u, v in corners)
        middle = ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2)
        self.drag(first, middle, last)

    def place(self, u: float, v: float) -> list[float]:
        """Latitude and longitude of a place on the map, by Leaflet's reckoning."""
        return self.frame.evaluate(
            "([u, v]) => { const map = window[Object.keys(window).find((k) =>"
            " /^map_[0-9a-f]{32}$/.test(k))], size = map.getSize();"
            " const at = map.containerPointToLatLng([u * size.x, v * size.y]);"
            " return [at.lat, at.lng]; }",
            [u, v],
        )

    def act(self, text: str) -> None:
        links = self.frame.locator(".leaflet-draw-actions a", has_text=text)
        links.locator("visible=true").first.click()


def agrees(page: Page, ask) -> dict:
    """The page's table is what the kernel computes anew from its boxes and releases."""
    told = ask(ANSWERS)
    assert page.rows()[0][2:] == [f"{name}, ε = 0.2" for name in told["answers"]]
    wanted = list(zip(*told["answers"].values(), strict=True))
    shown = page.numbers()
    assert len(shown) == len(wanted) == len(told["boxes"])
    for row, counts in zip(shown, wanted, strict=True):
        assert row == pytest.approx(counts, abs=0.0501)
    return told


def test_a_person_draws_a_box_and_reads_what_python_computed(lab, window, ask):
    window.goto(lab.url(NOTEBOOK.name), timeout=90_000)
    window.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    window.wait_for_function(
        "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.isReady"
    )
    window.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page = Page(window)
    window.locator(".jp-OutputArea-output", has_text="spent 0.4").last.wait_for(timeout=120_000)
    page.wait_rows(1)
    agrees(page, ask)

    page.explorer.scroll_into_view_if_needed()
    page.draw((0.35, 0.3), (0.5, 0.6))
    page.wait_rows(2)
    told = agrees(page, ask)
    drawn = told["boxes"][1]
    (north, west), (south, east) = page.place(0.35, 0.3), page.place(0.5, 0.6)
    pixel = (east - west) / 0.15 / 500
    assert drawn == pytest.approx([south, west, north, east], abs=3 * pixel)
    assert max(page.numbers()[1]) > 0

    size = page.rows()[2][1]
    page.frame.locator(".leaflet-draw-edit-edit").click()
    at = page.frame.locator(".leaflet-edit-resize").last.bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    page.drag((x, y), (x + 10, y + 10), (x + 25, y + 20))
    page.act("Save")
    window.wait_for_function(
        "(old) => document.querySelector('.snhkit-answers tbody tr:nth-child(2) td').innerText"
        " !== old",
        arg=size,
    )
    assert agrees(page, ask)["boxes"][1] != drawn

    page.frame.locator(".leaflet-draw-edit-remove").click()
    page.frame.locator("path.snhkit-box").last.click()
    page.act("Save")
    page.wait_rows(1)
    assert agrees(page, ask)["boxes"] == told["boxes"][:1]

    typed = page.explorer.get_by_label("Type a box")
    typed.fill("37.75, -122.45, 37.76, -122.44")
    typed.press("Tab")
    window.keyboard.press("Enter")
    page.wait_rows(2)
    assert agrees(page, ask)["boxes"][1] == [37.75, -122.45, 37.76, -122.44]

    page.explorer.get_by_label("SNH").uncheck()
    page.button("Build").click()
    page.explorer.get_by_text("spent 0.8, left 2.2").wait_for(timeout=30_000)
    page.button("Build").wait_for()
    assert agrees(page, ask)["spent"] == pytest.approx(0.8)

    ask(ALL_METHODS)
    page.explorer.get_by_role("columnheader", name="DP-SGD").wait_for()
    too_wide = page.explorer.evaluate("(e) => e.scrollWidth - e.clientWidth")
    assert too_wide <= 0
    picture = page.frame.locator("img.leaflet-image-layer")
    assert picture.evaluate("(image) => image.complete && image.naturalWidth > 100")
