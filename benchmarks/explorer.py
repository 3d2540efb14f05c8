"""The explorer's response times in a browser: python benchmarks/explorer.py [--help].

Starts the app (Voila) and Chromium without any programs compiled before. Measures the time from the
command to the first picture of the story, and from pressing Build to the last release of the
default methods.

Then starts JupyterLab and builds five methods. Measures, with the clock of the page, the time from
releasing the mouse button after drawing a box, from the last of ten steps of dragging it, and from
pressing an arrow key, to the card with its answers, and the time from choosing another release, or
another hour of maps by hour, to its picture of 400 by 400 cells on the map.
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
from collections.abc import Callable
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Frame, Locator, Page, sync_playwright

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


def first_visit(browser: Browser, folder: Path) -> None:
    """Open the app in a browser, build the default methods, and print the times of both."""
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
        explorer.get_by_role("button", name="Build", exact=True).click()
        explorer.locator(".snhkit-built", has_text="spent 1, left 2").wait_for()
        print(f"{'seconds of the first build, five methods':44} {time.perf_counter() - began:6.1f}")
        window.close()
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


def answered(window: Page, frame: Frame) -> int:
    """Return the milliseconds from the last action on the map to the last change of a card."""
    frame.wait_for_function("() => window.card && window.answered >= window.acted")
    window.wait_for_timeout(1_000)
    return frame.evaluate("window.answered - window.acted")


def boxes(window: Page, frame: Frame, explorer: Locator, count: int) -> dict[str, list[int]]:
    """Draw, drag and nudge boxes; return the milliseconds from the end of each to its counts."""
    found: dict[str, list[int]] = {"drawn": [], "dragged": [], "nudged": []}
    mouse = window.mouse
    for _ in range(count):
        # The card of the box before could lie where this one is drawn.
        explorer.get_by_role("button", name="Clear").press("Enter")
        frame.wait_for_function("() => !window.card")
        frame.locator(".leaflet-draw-draw-rectangle").click()
        at = frame.locator(".leaflet-container").first.bounding_box()
        assert at is not None
        x, y = at["x"] + 240, at["y"] + 90
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + 50, y + 60, steps=5)
        mouse.up()
        found["drawn"].append(answered(window, frame))
        mouse.move(x + 25, y + 30)
        mouse.down()
        mouse.move(x + 45, y + 50, steps=10)
        found["dragged"].append(answered(window, frame))
        mouse.up()
        window.keyboard.press("ArrowRight")
        found["nudged"].append(answered(window, frame))
    return found


def pictures(window: Page, frame: Frame, choose: Callable[[int], None], count: int) -> list[int]:
    """Call ``choose`` with 0, 1, ..., and return the milliseconds from each choice to its map."""
    found = []
    for k in range(count):
        choose(k)
        chose = window.evaluate("window.chose")
        frame.wait_for_function("(chose) => window.loaded >= chose", arg=chose)
        found.append(frame.evaluate("window.loaded") - chose)
        window.wait_for_timeout(500)
    return found


def layers(window: Page, frame: Frame, explorer: Locator, count: int) -> list[int]:
    """Choose layers, and return the milliseconds from choosing each to its picture."""
    menu = explorer.get_by_label("On the map", exact=True)
    names = menu.locator("option").all_inner_texts()[:-1]

    def choose(k: int) -> None:
        shown = menu.input_value()
        menu.select_option(next(name for name in names[k % 4 :] if name != shown))

    return pictures(window, frame, choose, count)


def hours(window: Page, frame: Frame, explorer: Locator, count: int) -> list[int]:
    """Build maps by hour, and return the milliseconds from choosing each hour to its picture."""
    explorer.get_by_label("Maps", exact=True).select_option("by hour")
    explorer.get_by_role("button", name="Build", exact=True).click()
    explorer.locator(".snhkit-built", has_text="spent 2, left 3").wait_for()
    menu = explorer.get_by_label("On the map", exact=True)
    menu.select_option(menu.locator("option", has_text="by hour").first.get_attribute("value"))
    slider = explorer.get_by_role("slider", name="hour")
    slider.focus()
    window.wait_for_timeout(3_000)
    return pictures(window, frame, lambda _: slider.press("ArrowRight"), count)


def told(what: str, times: list[int]) -> str:
    """Return a line of the table: the first time, and the median and largest of all later times."""
    first, *later = times
    return f"{what:44} {first:6} {statistics.median(later):7.0f} {max(later):6}"


def main(chromium: str, count: int) -> None:
    """Measure the response times, and print them as a table."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as play:
        folder, token = Path(place), secrets.token_hex(16)
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        cell = nbformat.v4.new_code_cell(CODE.strip())
        nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), folder / "a.ipynb")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        first_visit(browser, folder)
        server = jupyter(folder, port, token)
        try:
            window = browser.new_page(viewport={"width": 1280, "height": 1600})
            window.set_default_timeout(180_000)
            window.goto(f"http://127.0.0.1:{port}/lab/tree/a.ipynb?reset&token={token}")
            window.locator(".jp-Notebook .jp-Cell").first.wait_for()
            window.wait_for_function("() => jupyterapp.shell.currentWidget?.sessionContext.isReady")
            window.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
            explorer = window.locator(".snhkit-explorer")
            handle = explorer.locator("iframe").element_handle()
            frame = handle.content_frame() if handle else None
            assert frame is not None
            frame.wait_for_selector(".leaflet-draw-draw-rectangle")
            explorer.get_by_role("button", name="Build", exact=True).click()
            explorer.locator(".snhkit-built", has_text="spent 1, left 4").wait_for()
            for menu in ("beside it", "and"):  # so that one map is shown
                explorer.get_by_label(menu, exact=True).select_option("—")
            window.wait_for_timeout(3_000)
            frame.evaluate(WATCHED)
            window.evaluate(CHANGED)
            frame.evaluate(LOADED)
            print(f"{'milliseconds':44} {'first':>6} {'median':>7} {'worst':>6}")
            for done, times in boxes(window, frame, explorer, count).items():
                print(told(f"a box that was {done}, to its card", times))
            print(told("a layer of 400 by 400 cells", layers(window, frame, explorer, count)))
            print(told("an hour of 400 by 400 cells", hours(window, frame, explorer, count)))
        finally:
            browser.close()
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Response times of the explorer.")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    parser.add_argument("--count", type=int, default=7)
    main(**vars(parser.parse_args()))
