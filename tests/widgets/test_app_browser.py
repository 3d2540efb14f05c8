"""``snhkit explore`` as a person starts and ends it, and the app's page in Chromium with no
network: a whole visit without a line of code."""

import asyncio
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

import geopandas as gpd
import pandas as pd
import pytest
from on_page import MapOnPage
from tornado.httpclient import HTTPError
from tornado.websocket import websocket_connect

import snhkit as snh
from snhkit.markup import count_texts, number

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Ctrl-C goes to a process group"),
    # Playwright's pipes and sockets are closed when its garbage is collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
START = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); " + (
    "from snhkit.cli.main import main; main()"
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
    for _ in range(300):
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


def test_one_visitor_cannot_stop_the_others(app):
    """Voila reads the first protocol as the second; Jupyter believes how many parts are stated."""
    kernel = re.search(r'"kernelId": "([^"]+)"', app.get(f"?token={app.token}")[1])[1]
    place = f"{app.home.replace('http', 'ws')}api/kernels/{kernel}/channels?token={app.token}"
    protocol = "v1.kernel.websocket.jupyter.org"

    async def visited() -> str | bytes | None:
        with pytest.raises(HTTPError, match="400"):
            await websocket_connect(place)
        line = await websocket_connect(place, subprotocols=[protocol])
        assert line.selected_subprotocol == protocol
        await line.write_message(b"\xff" * 80, binary=True)
        while (told := await line.read_message()) is not None:
            pass
        line.close()
        return told

    assert asyncio.run(asyncio.wait_for(visited(), 60)) is None
    assert app.get("login")[1]


SCREENS = [(1280, 800, "light"), (1920, 1080, "dark"), (1024, 768, "dark"), (390, 844, "light")]


class Visit(MapOnPage):
    """The app as a person sees it, on a screen of a width, a height and a theme."""

    def __init__(self, window, url: str, screen: tuple[int, int, str] = SCREENS[0]) -> None:
        width, height, theme = screen
        window.set_viewport_size({"width": width, "height": height})
        window.emulate_media(color_scheme=theme)
        self.page = window.goto(url, timeout=90_000).text()
        self.explorer = window.locator(".snhkit-explorer").first
        super().__init__(window, self.explorer)
        self.attach()
        if width < 760:
            self.explorer.get_by_role("button", name="Controls").click()

    def attach(self) -> None:
        story = self.window.locator(".snhkit-story-page")
        story.content_frame.locator("html[data-ready]").wait_for()
        self.explorer.get_by_role("button", name="Play with a budget").click(timeout=90_000)
        self.explorer.locator(".snhkit-body").wait_for()
        story.wait_for(state="hidden")
        self.hold()

    def legend(self, title: str) -> None:
        self.frame.locator(".snhkit-legend-title", has_text=re.compile(f"^{title}$")).wait_for()

    def saved(self, button: str, folder: Path) -> Path:
        with self.window.expect_download(timeout=60_000) as download:
            # A click right after scrolling may still reach the map's frame; keys do not.
            self.explorer.get_by_role("button", name=button, exact=True).press("Enter")
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path


def refers_to_nothing_elsewhere(page: str) -> None:
    names = re.compile(r'xmlns(:\w+)?="[^"]*"|rdf:(about|resource)="[^"]*"')  # name, load nothing
    assert "application/vnd.jupyter.widget-view+json" in page
    assert not re.search(r"(https?:)?//[\w-]+(\.[\w-]+)+\.?", names.sub("", page))


@pytest.mark.browser
@pytest.mark.parametrize("screen", SCREENS)
def test_a_whole_visit_and_what_is_taken_home(app, window, tmp_path, screen):
    visit = Visit(window, app.url, screen)
    refers_to_nothing_elsewhere(visit.page)
    assert "snh.explore" not in visit.page  # no code
    explorer = visit.explorer
    explorer.get_by_label("City").select_option(label="Fargo")
    explorer.get_by_role("heading", name="Fargo").wait_for(timeout=30_000)
    visit.hold()
    slider = explorer.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")  # from 0.2 to 0.3
    explorer.get_by_text("1.82 times as likely").wait_for()
    wanted = ("UG", "Identity", "AG")
    for name in (*wanted, "PrivTree", "SNH", "Denoised grid"):
        explorer.get_by_label(name, exact=True).set_checked(name in wanted)
    explorer.get_by_role("button", name="Build", exact=True).press("Enter")
    explorer.locator(".snhkit-built", has_text="spent 0.9, left 2.1").wait_for(timeout=40_000)
    visit.legend("UG, ε = 0.3")

    visit.rows(12)  # the first glance: boxes of the sizes built for
    explorer.locator(".snhkit-verdict tbody tr").nth(2).wait_for()
    explorer.get_by_role("button", name="Clear").press("Enter")
    visit.rows(0)  # or the kernel's answer would clear the next box as well
    visit.draw((0.35, 0.3), (0.5, 0.6))
    visit.rows(1)
    visit.draw((0.55, 0.45), (0.7, 0.7))
    head, *rows = visit.rows(2)
    assert head[2:] == ["Truth", "UG, ε = 0.3"]
    explorer.get_by_label("On the map").select_option("AG, ε = 0.3")
    visit.legend("AG, ε = 0.3")
    explorer.get_by_role("columnheader", name="AG, ε = 0.3").wait_for()
    explorer.get_by_label("All releases").press("Space")
    explorer.get_by_role("columnheader", name="Identity, ε = 0.3").wait_for()
    head, *rows = visit.rows(2)
    explorer.get_by_role("button", name="Save and publish").press("Enter")

    table = pd.read_csv(visit.saved("Boxes as CSV", tmp_path))
    again = gpd.read_file(visit.saved("Boxes as GeoJSON", tmp_path))
    explorer.get_by_label("Release to save").select_option("Identity, ε = 0.3")
    release = snh.load(visit.saved("Save release", tmp_path))
    boxes = snh.RangeQueries.of(release.region, again[again.release == "Identity, ε = 0.3"])
    counts = {name: of["count"].to_numpy() for name, of in table.groupby("release")}
    assert release.answer(boxes) == pytest.approx(counts["Identity, ε = 0.3"], abs=6e-4)
    for name, told in counts.items():
        column = head.index(name)
        shown = [row[column].partition("\n")[0] for row in reversed(rows)]
        assert shown == [number(count) for count in told]
    explorer.get_by_role("button", name="Page", exact=True).press("Enter")
    title = explorer.get_by_placeholder("what was counted, where and when")
    assert title.input_value() == "Fargo, synthetic"
    explorer.get_by_label("Published by").fill("City office")
    page = visit.saved("Page", tmp_path).read_text(encoding="utf-8")
    assert "What you may and may not conclude" in page
    assert "City office" in page
    report = visit.saved("Report", tmp_path).read_text(encoding="utf-8")
    assert "<h1>Fargo" in report
    explorer.get_by_role("button", name="Copy code").press("Enter")
    program = explorer.get_by_role("textbox", name="Code").input_value()
    assert 'snh.synthetic_points("fargo"' in program


@pytest.mark.browser
@pytest.mark.parametrize("screen", SCREENS)
def test_an_analyst_opens_a_file_by_questions(app, window, tmp_path, screen):
    points = snh.synthetic_points("fargo", 2_000)
    lat, lon = points.region.to_latlon(points.xy)
    file = tmp_path / "trips.csv"
    rows = pd.DataFrame({"lat": lat, "lon": lon, "rider_id": points.user})
    rows.to_csv(file, index=False)
    visit = Visit(window, app.url, screen)
    explorer = visit.explorer

    def press(name: str) -> None:
        explorer.get_by_role("button", name=name, exact=True).press("Enter")

    at = explorer.get_by_role("button", name="Open a file of your own").bounding_box()
    assert at["y"] + at["height"] <= screen[1]  # found without scrolling
    press("Open a file of your own")
    explorer.get_by_label("File", exact=True).fill(str(file))
    press("Next")
    typed = explorer.get_by_label("Centre")
    typed.fill("46.877, -96.7")
    explorer.get_by_label("Side, km").fill("8")
    earth = explorer.locator(".snhkit-open iframe").content_frame
    earth.locator(".snhkit-name", has_text=re.compile("Fargo|Moorhead")).first.wait_for()
    square = earth.locator("path.snhkit-box")
    square.wait_for()
    square.click()
    for _ in range(20):
        window.keyboard.press("ArrowLeft")
    moved = "(e) => Number(e.value.split(',')[1]) < -96.71"
    window.wait_for_function(moved, arg=typed.element_handle())
    window.wait_for_timeout(500)  # until the last step has come to the kernel
    assert float(typed.input_value().split(",")[0]) == pytest.approx(46.877, abs=1e-3)
    typed.fill("46.877, -96.789")
    press("Next")
    people = explorer.get_by_label("People")
    people.wait_for()
    assert people.input_value() == "rider_id"
    explorer.get_by_label("At most").fill("3")
    press("Next")
    explorer.get_by_label("Roughly").fill("2000")
    explorer.get_by_label("Roughly").press("Tab")
    explorer.get_by_text("Expected errors of squares").wait_for()
    explorer.get_by_label("Budget ε").fill("1")
    press("Next")
    press("Open")
    explorer.get_by_text("snhkit explore --app").wait_for(timeout=30_000)
    explorer.get_by_role("heading", name="Counts of private records").wait_for()
    visit.hold()
    explorer.get_by_label("Denoised grid", exact=True).uncheck()
    explorer.get_by_label("UG", exact=True).check()
    explorer.get_by_role("button", name="Build", exact=True).press("Enter")
    explorer.locator(".snhkit-built", has_text="spent 0.2, left 0.8").wait_for(timeout=40_000)
    visit.rows(12)
    explorer.get_by_label("Type a box").fill("46.87, -96.80, 46.89, -96.77")
    explorer.get_by_label("Type a box").press("Enter")
    head, newest, *_ = visit.rows(13)
    assert head[2:] == ["UG, ε = 0.2"]  # and no truth
    explorer.locator("tr:has([data-box='12'])").click()
    card = visit.frame.locator(".snhkit-card", has_text="Box 13: ")
    card.wait_for()
    (kept,) = (tmp_path / "trips.csv.releases").glob("*.snh")
    release = snh.load(kept)
    box = snh.RangeQueries.from_degrees(
        release.region, south=46.87, west=-96.80, north=46.89, east=-96.77
    )
    told = release.estimate(box).iloc[0]
    texts = list(count_texts(told["count"], told["low"], told["high"]))
    assert newest[2].split("\n") == texts
    words = ["records, at most 3 of one person", "UG", *texts]
    assert card.inner_text().split("\n")[1:] == words


FAULTS = """(explorer) => {
  const found = [], shown = (e) => e.getClientRects().length > 0;
  const panel = explorer.querySelector(".snhkit-panel").getBoundingClientRect();
  if (explorer.scrollWidth > explorer.clientWidth) found.push("the page is too wide");
  for (const part of explorer.querySelectorAll(".snhkit-panel table, .snhkit-plots svg")) {
    const { left, right } = part.getBoundingClientRect();
    if (shown(part) && (left < panel.left - 1 || right > panel.right + 1)) {
      found.push(`${part.className.baseVal ?? part.className} is cut: ${right} > ${panel.right}`);
    }
  }
  for (const e of [explorer, ...explorer.querySelectorAll("*")]) {
    const scrolls = /auto|scroll/.test(getComputedStyle(e).overflowY);
    if (scrolls && e.scrollHeight > e.clientHeight + 1 && shown(e) && e !== explorer) {
      found.push(`a second scroller: ${e.className}`);
    }
  }
  for (const e of explorer.querySelectorAll(".snhkit-methods .widget-checkbox")) {
    if (shown(e) && e.scrollHeight > e.clientHeight + 1) found.push(`${e.innerText} is cut`);
  }
  const typed = explorer.querySelector(".snhkit-entry input").getBoundingClientRect();
  if (typed.width < 140) found.push(`the field of a box is ${typed.width} wide`);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((c) => {
      const share = c / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = light(getComputedStyle(document.body).backgroundColor);
  for (const e of explorer.querySelectorAll("h1, h2, td, .snhkit-soft, .widget-label")) {
    const ink = light(getComputedStyle(e).color);
    const contrast = (Math.max(ink, behind) + 0.05) / (Math.min(ink, behind) + 0.05);
    if (shown(e) && contrast < 4.5) found.push(`${e.className || e.tagName}: contrast ${contrast}`);
  }
  return [...new Set(found)];
}"""
IN_VIEW = """() => {
  const map = document.querySelector(".leaflet-container").getBoundingClientRect();
  const inside = (a) => a.left >= map.left && a.right <= map.right && a.top >= map.top
    && a.bottom <= map.bottom;
  const tool = document.querySelector(".leaflet-draw-draw-rectangle").getBoundingClientRect();
  const top = document.elementFromPoint((tool.left + tool.right) / 2, (tool.top + tool.bottom) / 2);
  const card = document.querySelector(".snhkit-card").getBoundingClientRect();
  return top?.matches(".leaflet-draw-draw-rectangle") && inside(card);
}"""


@pytest.mark.browser
def test_at_two_epsilons_nothing_is_cut_on_any_screen_in_any_theme(app, window):
    visit = Visit(window, app.url)
    explorer = visit.explorer
    explorer.get_by_label("City").select_option(label="Fargo")
    explorer.get_by_role("heading", name="Fargo").wait_for(timeout=30_000)
    explorer.get_by_label("Records", exact=True).select_option("1,000")
    visit.hold()
    for name in ("PrivTree", "SNH", "Denoised grid"):
        explorer.get_by_label(name, exact=True).uncheck()
    for left in ("2.6", "2"):
        explorer.get_by_role("button", name="Build", exact=True).press("Enter")
        explorer.locator(".snhkit-built", has_text=f"left {left}").wait_for(timeout=40_000)
        explorer.get_by_role("slider").first.press("ArrowRight")
    visit.rows(12)
    visit.frame.locator("path.snhkit-box").nth(11).wait_for(state="attached")
    # Picks the box on the map; a mouse's click may miss the row while the page below still grows.
    explorer.locator("tr:has([data-box='3'])").dispatch_event("click")
    visit.frame.locator(".snhkit-card", has_text="Box 4: ").wait_for()
    explorer.get_by_role("button", name="Figures").press("Enter")
    for figure in ("Counts in the boxes", "Error against box size", "Released against true"):
        explorer.get_by_role("button", name=figure).press("Enter")
        explorer.get_by_role("img", name=figure).wait_for(timeout=20_000)
        for theme in ("light", "dark"):
            window.emulate_media(color_scheme=theme)
            for width, height in ((1280, 800), (1920, 1080), (390, 844), (1024, 768)):
                window.set_viewport_size({"width": width, "height": height})
                window.wait_for_timeout(500)
                where = f"{figure}, {theme}, {width} by {height}"
                assert explorer.evaluate(FAULTS) == [], where
                if figure == "Counts in the boxes":  # the map is the same beside each figure
                    visit.frame.wait_for_function(IN_VIEW, timeout=10_000)


@pytest.mark.browser
def test_a_reload_offers_to_go_on(app, window):
    visit = Visit(window, app.url)
    explorer = visit.explorer
    for name in ("PrivTree", "Identity", "SNH", "Denoised grid"):  # UG stays
        explorer.get_by_label(name, exact=True).uncheck()
    explorer.get_by_role("button", name="Build", exact=True).press("Enter")
    explorer.locator(".snhkit-built", has_text="spent 0.2, left 2.8").wait_for(timeout=40_000)
    before = visit.rows(12)
    kernel = app.kernels()[-1]

    window.reload(timeout=90_000)
    assert gone(kernel)  # the kernel of a page that was closed
    explorer.get_by_text("with 1 release and 12 boxes").wait_for(timeout=40_000)
    assert explorer.locator(".snhkit-built").count() == 0
    explorer.get_by_role("button", name="Go on").click()
    explorer.locator(".snhkit-built", has_text="spent 0.2, left 2.8").wait_for(timeout=40_000)
    assert [row[:2] for row in visit.rows(12)] == [row[:2] for row in before]
    assert not explorer.get_by_role("button", name="Go on").is_visible()

    window.reload(timeout=90_000)
    explorer.get_by_role("button", name="Start over").click(timeout=40_000)
    window.wait_for_function("() => !Object.keys(localStorage).some((k) => /snhkit/.test(k))")
    window.reload(timeout=90_000)
    explorer.get_by_role("button", name="Play with a budget").wait_for(timeout=40_000)
    assert not explorer.get_by_role("button", name="Go on").is_visible()


def test_ctrl_c_ends_the_app_and_its_kernels(app):
    app.get(app.url.removeprefix(app.home))  # a visitor, for whom a kernel is started
    kernels = app.kernels()
    assert kernels
    assert app.interrupted() == 0
    assert all(map(gone, kernels))
