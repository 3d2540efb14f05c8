"""The explorer's response times in a browser: python benchmarks/explorer.py [app] [lab] [--help].

``app`` starts the app (Voila) and Chromium without any programs compiled before, and measures the
time from the command to the first picture of the story, and from pressing Build to the last release
of the default methods. ``lab`` starts JupyterLab, and builds five methods.

Both then measure, with the clock of the page, the time from releasing the mouse button after
drawing a box, from the last of 30 steps of dragging it, and from pressing an arrow key, to the card
with its answers, and the time from choosing another release, or another hour of maps by hour, to
its picture of 400 by 400 cells on the map. The last column is the time that processors worked, from
an action until a second after its answer, in the browser, the server and the kernel.
"""

import argparse
import os
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import nbformat
import psutil
from playwright.sync_api import Browser, Locator, sync_playwright

APP = (
    "import sys; sys.argv[1:] = ['explore', '--app', '--no-browser']; "
    "from snhkit.cli.main import main; main()"
)
METHODS = ("ug", "identity", "ag", "privtree", "quadtree")
CODE = f"""
import snhkit as snh
square = snh.Region.around(lat=37.764, lon=-122.43, side_m=8_000)  # shown in cells of 20 m
city = snh.synthetic_points("san_francisco")
xy = square.to_xy(*city.region.to_latlon(city.xy))
inside = square.contains(xy)
points = snh.Points(square, xy[inside], time=city.time[inside])
explorer = snh.explore(points, budget=5, methods={METHODS})
explorer
"""
WATCHED = """() => {
  const acted = (e) => { if (e.type !== 'pointermove' || e.buttons) window.acted = Date.now(); };
  for (const kind of ['pointermove', 'mouseup', 'keydown']) {
    document.addEventListener(kind, acted, true);
  }
  new MutationObserver(() => {
    const card = document.querySelector('.snhkit-card')?.textContent;
    if (card !== window.card) [window.card, window.answered] = [card, Date.now()];
  }).observe(document.body, { subtree: true, childList: true });
}"""
CHANGED = "() => document.addEventListener('input', () => { window.chose = Date.now(); }, true)"
LOADED = (
    "() => document.addEventListener('load', (e) => { if (e.target.matches?.("
    "'img.leaflet-image-layer')) window.loaded = Date.now(); }, true)"
)


@contextmanager
def app(browser: Browser, folder: Path) -> Iterator[Locator]:
    """Yield the app's explorer with releases of the default methods; print the times of both."""
    homes = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JAX_COMPILATION_CACHE_DIR")
    log, began = folder / "app.log", time.perf_counter()
    with log.open("wb") as told:
        server = subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-c", APP],
            env={**os.environ, **{name: str(folder / name) for name in homes}},
            stdout=told,
            stderr=told,
        )
    try:
        while not (found := re.search(r"http://\S+token=\w+", log.read_text())):
            if server.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.1)
        window = browser.new_page(viewport={"width": 1280, "height": 800})
        window.set_default_timeout(180_000)
        window.goto(found[0], wait_until="commit")  # the page is sent while the kernel starts
        explorer = window.locator(".snhkit-explorer")
        window.frame_locator(".snhkit-story-page").locator("html[data-ready]").wait_for()
        print(f"{'seconds from the command to the picture':44} {time.perf_counter() - began:6.1f}")
        explorer.get_by_role("button", name="Play with a budget").click()
        began = time.perf_counter()
        build(explorer)
        print(f"{'seconds of the first build, five methods':44} {time.perf_counter() - began:6.1f}")
        yield explorer
    finally:
        server.terminate()
        server.wait(30)


def build(explorer: Locator) -> None:
    """Press Build, and wait until the first releases are built."""
    explorer.get_by_role("button", name="Build", exact=True).click()
    explorer.locator(".snhkit-built", has_text="spent 1, left").wait_for()


@contextmanager
def lab(browser: Browser, folder: Path) -> Iterator[Locator]:
    """Yield the explorer in JupyterLab, with releases of five methods."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    cell = nbformat.v4.new_code_cell(CODE.strip())
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), folder / "a.ipynb")
    token = secrets.token_hex(16)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = jupyter(folder, port, token)
    try:
        window = browser.new_page(viewport={"width": 1280, "height": 1600})
        window.set_default_timeout(180_000)
        window.goto(f"http://127.0.0.1:{port}/lab/tree/a.ipynb?reset&token={token}")
        window.locator(".jp-Notebook .jp-Cell").first.wait_for()
        window.wait_for_function("() => jupyterapp.shell.currentWidget?.sessionContext.isReady")
        window.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        explorer = window.locator(".snhkit-explorer")
        build(explorer)
        yield explorer
    finally:
        server.terminate()
        server.wait(30)


def jupyter(folder: Path, port: int, token: str) -> subprocess.Popen:
    """Start JupyterLab in ``folder``, and return its process once the server answers."""
    options = [
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={token}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.allow_root=True",
        "--ServerApp.open_browser=False",
        "--LabApp.expose_app_in_browser=True",
    ]
    places = {f"JUPYTER_{what}_DIR": str(folder / what) for what in ("RUNTIME", "CONFIG")}
    places |= {f"JUPYTERLAB_{what}_DIR": str(folder / what) for what in ("SETTINGS", "WORKSPACES")}
    server = subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-m", "jupyterlab", *options],
        env={**os.environ, **places},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=5).close()
            return server
        except OSError:
            time.sleep(0.2)
    raise SystemExit("JupyterLab did not start.")


def worked() -> float:
    """Return the seconds that processors have worked for this program's browser and servers."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


class Times:
    """Milliseconds until answers, and seconds of processors, by what was done."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[int, float]]] = {}

    def add(self, what: str, answered: Callable[[], int]) -> None:
        """Call ``answered``, which does something and returns the milliseconds to its answer."""
        before = worked()
        took = answered()
        self.found.setdefault(what, []).append((took, worked() - before))

    def __str__(self) -> str:
        lines = [f"{'milliseconds':44} {'first':>6} {'median':>7} {'worst':>6} {'worked':>7}"]
        for what, found in self.found.items():
            (first, _), *later = found
            took, work = zip(*later, strict=True)
            median, effort = statistics.median(took), 1_000 * statistics.median(work)
            lines.append(f"{what:44} {first:6} {median:7.0f} {max(took):6} {effort:7.0f}")
        return "\n".join(lines)


class Reader:
    """A person before the explorer, whose map is one and without boxes."""

    def __init__(self, explorer: Locator) -> None:
        self.explorer, self.window = explorer, explorer.page
        handle = explorer.locator("iframe").element_handle()
        frame = handle.content_frame() if handle else None
        assert frame is not None
        frame.wait_for_selector(".leaflet-draw-draw-rectangle")
        self.frame = frame
        for menu in ("beside it", "and"):
            explorer.get_by_label(menu, exact=True).select_option("—")
        self.window.wait_for_timeout(3_000)
        frame.evaluate(WATCHED)
        self.window.evaluate(CHANGED)
        frame.evaluate(LOADED)

    def answered(self) -> int:
        """Return the milliseconds from the last action on the map to the last change of a card."""
        self.frame.wait_for_function("() => window.card && window.answered >= window.acted")
        self.window.wait_for_timeout(1_000)
        return self.frame.evaluate("window.answered - window.acted")

    def boxes(self, times: Times) -> None:
        """Draw a box, drag it and nudge it."""
        # The card of the box before could lie where this one is drawn.
        self.explorer.get_by_role("button", name="Clear").press("Enter")
        self.frame.wait_for_function("() => !window.card")
        self.frame.locator(".leaflet-draw-draw-rectangle").click()
        at, mouse = self.frame.locator(".leaflet-container").first.bounding_box(), self.window.mouse
        assert at is not None
        x, y = at["x"] + 240, at["y"] + 90

        def drawn() -> int:
            mouse.move(x, y)
            mouse.down()
            mouse.move(x + 50, y + 60, steps=5)
            mouse.up()
            return self.answered()

        def dragged() -> int:
            mouse.move(x + 25, y + 30)
            mouse.down()
            for k in range(30):
                mouse.move(x + 25 + k, y + 30 + k)
                self.window.wait_for_timeout(16)
            return self.answered()

        def nudged() -> int:
            self.window.keyboard.press("ArrowRight")
            return self.answered()

        times.add("a box that was drawn, to its card", drawn)
        times.add("a box that was dragged, to its card", dragged)
        mouse.up()
        times.add("a box that was nudged, to its card", nudged)

    def picture(self, times: Times, what: str, choose: Callable[[], object]) -> None:
        """Call ``choose``, and wait for the map."""

        def shown() -> int:
            choose()
            chose = self.window.evaluate("window.chose")
            self.frame.wait_for_function("(chose) => window.loaded >= chose", arg=chose)
            self.window.wait_for_timeout(1_000)
            return self.frame.evaluate("window.loaded") - chose

        times.add(what, shown)

    def measure(self, count: int) -> Times:
        """Do everything ``count`` times, and once before."""
        times = Times()
        for _ in range(count + 1):
            self.boxes(times)
        menu = self.explorer.get_by_label("On the map", exact=True)
        names = menu.locator("option").all_inner_texts()[:-1]
        for k in range(count + 1):
            shown = menu.input_value()
            name = next(name for name in names[k % 4 :] if name != shown)
            self.picture(times, "a layer of 400 by 400 cells", partial(menu.select_option, name))
        self.explorer.get_by_label("Maps", exact=True).select_option("by hour")
        for slow in ("SNH", "Denoised grid"):  # minutes for 24 maps
            self.explorer.get_by_label(slow, exact=True).uncheck()
        self.explorer.get_by_role("button", name="Build", exact=True).click()
        menu.locator("option", has_text="by hour").first.wait_for(state="attached")
        menu.select_option(menu.locator("option", has_text="by hour").first.get_attribute("value"))
        slider = self.explorer.get_by_role("slider", name="hour")
        slider.focus()
        self.window.wait_for_timeout(3_000)
        for _ in range(count + 1):
            self.picture(times, "an hour of 400 by 400 cells", lambda: slider.press("ArrowRight"))
        return times


def main(places: list[str], chromium: str, count: int) -> None:
    """Measure the response times in each place, and print them as a table."""
    for place in places or ["app", "lab"]:
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            print(f"{place}; processes that run or wait, a minute's mean: {os.getloadavg()[0]:.1f}")
            with {"app": app, "lab": lab}[place](browser, Path(folder)) as explorer:
                print(Reader(explorer).measure(count))
                print(f"at the end: {os.getloadavg()[0]:.1f}")
                browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Response times of the explorer.")
    parser.add_argument("places", nargs="*", choices=["app", "lab"])
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    parser.add_argument("--count", type=int, default=7)
    main(**vars(parser.parse_args()))
