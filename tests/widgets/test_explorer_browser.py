"""The explorer in JupyterLab, in Chromium, with no network: what the page shows is what the kernel
computed."""

import json

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from on_page import MapOnPage

from snhkit.markup import count_texts, number

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    # Playwright's and the kernel client's sockets are closed when their garbage is collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
OPEN = """
import snhkit as snh
first = snh.explore(city="fargo", n=5_000, budget=1, methods=["ug", "identity", "privtree"])
first
"""
OTHER = 'other = snh.explore(city="fargo", n=1_000, methods=["ug"], height=600)\nother'
ANSWERS = """
import json as _json
_boxes = NAME.boxes
_found = {} if _boxes is None else NAME._session.estimates(_boxes)
_answers = {name: one.frame() for name, one in _found.items()}
print(_json.dumps({
    "boxes": NAME.map.boxes,
    "counts": {name: told["count"].tolist() for name, told in _answers.items()},
    "bounds": {name: told[["low", "high"]].to_numpy().tolist() for name, told in _answers.items()},
    "truth": NAME._session.truth(_boxes).tolist()
    if NAME._session.invented and _boxes is not None else [],
    "spent": str(NAME.dataset.ledger.spent),
}))
"""
# As if all methods had been built: the page must hold them side by side.
ALL_METHODS = """
from dataclasses import replace as _replace
_one = next(iter(first._session.built.values()))
for _method in snh.METHODS.values():
    first._session.keep(_replace(_one, title=_method.title))
first._show_all()
print("null")
"""
MAP = (
    "const map = window[Object.keys(window).find((k) => /^map_[0-9a-f]{32}$/.test(k))];"
    " const size = map.getSize();"
)


@pytest.fixture
def ask(lab):
    """Runs code in the page's own kernel, through a second client, and reads its JSON."""
    clients = []

    def asked(code: str):
        if not clients:
            file = max(lab.runtime.glob("kernel-*.json"), key=lambda path: path.stat().st_mtime)
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


class Page(MapOnPage):
    """An explorer as a person sees it."""

    def __init__(self, window, which=0):
        self.explorer = window.locator(".snhkit-explorer").nth(which)
        super().__init__(window, self.explorer)
        self.hold()

    def button(self, name: str):
        return self.explorer.get_by_role("button", name=name, exact=True)

    def choose(self, label: str, option: str) -> None:
        self.explorer.get_by_label(label, exact=True).select_option(option)

    def place(self, u: float, v: float) -> list[float]:
        """Latitude and longitude of a place on the map, by Leaflet's reckoning."""
        return self.frame.evaluate(
            f"([u, v]) => {{ {MAP} const at = map.containerPointToLatLng([u * size.x, v * size.y]);"
            " return [at.lat, at.lng]; }",
            [u, v],
        )

    def view(self) -> list[float]:
        return self.frame.evaluate(
            f"() => {{ {MAP} const at = map.getCenter(); return [at.lat, at.lng, map.getZoom()]; }}"
        )

    def settle(self) -> None:
        """Wait until the map fills its place and has stopped to move."""
        self.frame.wait_for_function(
            f"() => {{ {MAP} const now = JSON.stringify([map.getCenter(), map.getZoom(), size]);"
            " const settled = now === window.before && size.x === map.getContainer().clientWidth;"
            " window.before = now; return settled; }",
            polling=500,
        )

    def drawer(self, title: str) -> None:
        """Open a drawer below the numbers."""
        self.button(title).press("Enter")

    def pictures(self) -> list[str]:
        return self.frame.locator("img.leaflet-image-layer").evaluate_all(
            "(images) => images.map((image) => image.src)"
        )

    def titles(self) -> list[str]:
        return self.frame.locator(".snhkit-legend-title").all_inner_texts()


def agrees(page: Page, ask, name: str = "first") -> dict:
    """The page's table is what the kernel computes anew from its boxes and releases."""
    page.window.wait_for_timeout(500)  # until the last change of a box has come to the kernel
    told = ask(ANSWERS.replace("NAME", name))
    head, *rows = page.rows()
    shown = [title for title in head if title in told["counts"]]
    assert shown
    assert [row[0] for row in rows] == [str(k + 1) for k in range(len(told["boxes"]))][::-1]
    for k, row in enumerate(reversed(rows)):
        cells = dict(zip(head, row, strict=True))
        for title in shown:
            count, ends = count_texts(told["counts"][title][k], *told["bounds"][title][k])
            assert cells[title].split("\n") == [count, ends or "interval not known"]
        assert "Truth" not in cells or cells["Truth"] == number(told["truth"][k])
    return told


@pytest.fixture
def two(lab, request) -> str:
    """Name of the notebook of two explorers: the test's own, so that its kernel is the newest."""
    name = f"{request.node.name}.ipynb"
    cells = [nbformat.v4.new_code_cell(code.strip()) for code in (OPEN, OTHER)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / name)
    return name


@pytest.fixture
def notebook(lab, two, window):
    """The notebook of two explorers, opened and run in JupyterLab."""
    window.goto(lab.url(two), timeout=90_000)
    run_all(window)
    return window


def run_all(window) -> None:
    window.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    window.wait_for_function(
        "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.isReady"
    )
    window.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")


def test_the_story_of_a_user(notebook, ask):
    page, other = Page(notebook), Page(notebook, 1)
    page.explorer.scroll_into_view_if_needed()

    page.choose("City", "Milwaukee")
    page.explorer.get_by_role("heading", name="Milwaukee, synthetic").wait_for(timeout=60_000)
    page.hold()

    page.explorer.get_by_role("slider", name="Epsilon").press("ArrowRight")
    page.explorer.get_by_text("1.82 times as likely").wait_for()  # of 0.3
    assert page.explorer.get_by_text("spends ε = 0.9 of the 1 left").is_visible()
    assert ask(ANSWERS.replace("NAME", "first"))["spent"] == "0"
    page.button("Build").click()
    page.explorer.locator(".snhkit-built", has_text="spent 0.9, left 0.1").wait_for(timeout=60_000)
    page.rows(12)
    agrees(page, ask)
    page.button("Clear").press("Enter")
    page.rows(0)
    page.choose("beside it", "—")  # one map
    page.choose("and", "—")
    page.frame.wait_for_function(
        "() => document.querySelectorAll('.leaflet-container').length === 1"
    )
    page.settle()

    for count, corners in enumerate((((0.35, 0.3), (0.5, 0.6)), ((0.55, 0.5), (0.6, 0.6))), 1):
        page.draw(*corners)
        page.rows(count)
    told = agrees(page, ask)
    (north, west), (south, east) = page.place(0.35, 0.3), page.place(0.5, 0.6)
    pixel = (east - west) / 0.15 / 500
    assert told["boxes"][0] == pytest.approx([south, west, north, east], abs=3 * pixel)

    size = page.rows()[1][1]  # of box 2, which is picked and newest
    card = page.frame.locator(".snhkit-card")
    assert card.locator(".snhkit-card-size").inner_text().startswith("Box 2: ")
    told = ask(ANSWERS.replace("NAME", "first"))
    counts = card.locator(".snhkit-card-number").all_inner_texts()
    wanted = [told["truth"][1], *(count[1] for count in told["counts"].values())]
    assert counts == [number(count) for count in wanted]
    marked = "(row) => [...row.cells].map((cell) => getComputedStyle(cell).backgroundColor)"
    rows = page.explorer.locator(".snhkit-answers tbody tr")
    assert not {*rows.nth(0).evaluate(marked)} & {*rows.nth(1).evaluate(marked)}
    at = page.frame.locator(".snhkit-grip").nth(2).bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    page.drag((x, y), (x + 10, y + 10), (x + 25, y + 20))
    notebook.wait_for_function(
        "(old) => document.querySelector('.snhkit-answers tbody tr td').innerText !== old", arg=size
    )
    page.settle()
    assert agrees(page, ask)["boxes"][0] == told["boxes"][0]
    page.frame.locator(".leaflet-container").first.press("Delete")
    page.rows(1)
    typed = page.explorer.get_by_label("Type a box")
    typed.fill("43.03, -87.95, 43.04, -87.93")
    typed.press("Enter")
    page.rows(2)
    assert agrees(page, ask)["boxes"] == [told["boxes"][0], [43.03, -87.95, 43.04, -87.93]]

    view, (before,) = page.view(), page.pictures()
    assert page.titles() == ["UG, ε = 0.3"]
    page.choose("On the map", "PrivTree, ε = 0.3")
    page.frame.wait_for_function(
        "(old) => document.querySelector('img.leaflet-image-layer').src !== old", arg=before
    )
    assert page.titles() == ["PrivTree, ε = 0.3"]
    assert page.view() == view

    page.explorer.get_by_text("true counts are shown").wait_for()
    told = agrees(page, ask)
    page.explorer.get_by_label("All releases").press("Space")
    page.explorer.get_by_role("columnheader", name="Identity, ε = 0.3").wait_for()
    agrees(page, ask)
    page.choose("beside it", "Truth")
    page.frame.wait_for_selector(".leaflet-container >> nth=1")
    assert page.titles() == ["PrivTree, ε = 0.3", "Truth"]
    page.drawer("Figures")
    page.button("Error against box size").press("Enter")  # as people do without a mouse
    page.explorer.get_by_role("img", name="Error against box size").wait_for(timeout=10_000)

    page.button("Build").press("Enter")
    refusal = page.explorer.get_by_role("alert")
    refusal.wait_for(timeout=20_000)
    assert "are built already" in refusal.inner_text()
    page.button("Build again").press("Enter")
    page.explorer.get_by_text("would spend ε = 0.9, and 0.1 is left. Nothing was spent").wait_for()
    assert page.explorer.get_by_text("refused as a whole").is_visible()
    assert page.button("Build").is_enabled()
    assert agrees(page, ask)["spent"] == "9/10"

    page.explorer.get_by_label("UG", exact=True).press("Space")
    refusal.wait_for(state="detached")  # it goes with its cause

    assert "No box yet" in other.rows()[1][0]
    assert other.pictures() == []
    assert ask(ANSWERS.replace("NAME", "other"))["spent"] == "0"

    assert page.explorer.locator("[title=null]:visible, [title=undefined]:visible").count() == 0
    page.explorer.get_by_text("What each method does").click()
    assert page.explorer.get_by_text("cleans one noisy grid").is_visible()
    page.explorer.get_by_text("What each method does").click()

    ask(ALL_METHODS)
    page.explorer.get_by_role("columnheader", name="DP-SGD").wait_for()
    assert page.explorer.evaluate("(e) => e.scrollWidth - e.clientWidth") <= 0


def test_a_reloaded_page_goes_on_and_a_restarted_kernel_says_so(lab, two, notebook, ask):
    other = Page(notebook, 1)
    other.explorer.scroll_into_view_if_needed()
    ask('other.build(); other.map.boxes = [[46.87, -96.80, 46.88, -96.78]]; print("null")')
    other.rows(1)
    notebook.evaluate("jupyterapp.commands.execute('docmanager:save')")
    notebook.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    notebook.goto(lab.url(two), timeout=90_000)
    other = Page(notebook, 1)
    other.rows(1)
    agrees(other, ask, "other")
    other.explorer.scroll_into_view_if_needed()
    ask('other._layers.choices[1].value = "—"; print("null")')  # one map, wide enough to draw on
    other.frame.wait_for_function(
        "() => document.querySelectorAll('.leaflet-container').length === 1"
    )
    other.draw((0.2, 0.3), (0.4, 0.6))
    other.rows(2)
    agrees(other, ask, "other")

    notebook.evaluate("jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    gone = "getComputedStyle(document.querySelector('.snhkit-explorer'), '::before').content"
    notebook.wait_for_function(f"() => {gone}.includes('Run its cell again')", timeout=30_000)
    run_all(notebook)
    notebook.wait_for_function(f"() => {gone} === 'none'", timeout=60_000)
    assert "No box yet" in Page(notebook).rows()[1][0]


def test_notebook_7_shows_the_same(lab, two, window, ask):
    window.goto(lab.url(two, "notebooks"), timeout=90_000)
    run_all(window)
    page = Page(window)
    page.explorer.scroll_into_view_if_needed()
    page.button("Build").press("Enter")
    page.explorer.locator(".snhkit-built", has_text="spent 0.6, left 0.4").wait_for(timeout=60_000)
    page.rows(12)
    agrees(page, ask)
    page.button("Clear").press("Enter")
    page.rows(0)
    typed = page.explorer.get_by_label("Type a box")
    south, west, north, east = ask("print(list(first.dataset.region.bounds))")
    typed.fill(f"{south + 0.01}, {west + 0.01}, {north - 0.01}, {east - 0.01}")
    typed.press("Enter")
    page.rows(1)
    assert len(agrees(page, ask)["boxes"]) == 1


TRIPS = """
import numpy as np
import pandas as pd
import snhkit as snh

city = snh.Region.around(lat=46.877, lon=-96.789, side_m=12_000)
rng = np.random.default_rng(1)
lat, lon = city.to_latlon(rng.normal(6_000, 900, (4_000, 2)).clip(0, 11_999))
hour = np.where(rng.random(4_000) < 0.7, 8, rng.integers(0, 24, 4_000))
started = pd.Timestamp("2026-03-02") + pd.to_timedelta(hour * 60 + 30, unit="min")
table = pd.DataFrame({"lat": lat, "lon": lon, "rider": rng.integers(0, 2_000, 4_000),
                      "started": started})
trips = snh.PrivateDataset.scan(table, city, 1, unit="user", max_per_user=2, user="rider",
                                time="started")
first = snh.explore(trips, title="Trips", methods=["identity"])
first
"""


def test_the_trips_of_an_analyst_by_hour(lab, window, ask, tmp_path):
    cell = nbformat.v4.new_code_cell(TRIPS.strip())
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = nbformat.v4.new_notebook(cells=[cell], metadata=kernel)
    nbformat.write(book, lab.folder / "trips.ipynb")
    window.goto(lab.url("trips.ipynb"), timeout=90_000)
    run_all(window)
    page = Page(window)
    page.explorer.scroll_into_view_if_needed()
    page.choose("Maps", "by hour")
    page.button("Build").press("Enter")
    page.explorer.locator(".snhkit-built", has_text="left 0.8").wait_for(timeout=60_000)
    name = "Identity by hour, ε = 0.2"
    assert page.titles() == [name]
    agrees(page, ask)

    slider = page.explorer.get_by_role("slider", name="hour")
    (whole,) = page.pictures()
    slider.fill("9")  # of "all", 00, 01, ...
    page.frame.locator(".snhkit-legend-title", has_text=f"{name} · 08").wait_for()
    assert page.pictures() != [whole]
    slider.press("ArrowRight")
    page.frame.locator(".snhkit-legend-title", has_text=f"{name} · 09").wait_for()
    page.button("Play").press("Enter")
    page.frame.locator(".snhkit-legend-title", has_text=f"{name} · 11").wait_for()
    page.button("Pause").press("Enter")
    chosen = page.explorer.locator(".snhkit-frames output").inner_text().removeprefix("hour ")
    page.frame.locator(".snhkit-legend-title", has_text=f"{name} · {chosen}").wait_for()

    page.button("Clear").press("Enter")
    page.rows(0)
    page.choose("beside it", "—")
    page.settle()
    page.draw((0.3, 0.3), (0.7, 0.7))
    page.rows(1)
    line = page.frame.locator(".snhkit-card-line")
    line.wait_for()
    counts = ask(
        "_day = first._session.built[first._layers.names[0]].strata.estimate(first.boxes)\n"
        'import json; print(json.dumps(_day["count"].tolist()))'
    )
    assert len(counts) == 24
    busiest = counts.index(max(counts))
    assert f"most in {busiest:02}: {number(counts[busiest])}" in line.inner_text()
    points = line.locator("polyline").get_attribute("points").split()
    heights = [40 - float(point.split(",")[1]) for point in points]
    shown = [max(count, 0) / max(counts) for count in counts]  # the line ends at 0
    assert [height / max(heights) for height in heights] == pytest.approx(shown, abs=0.01)

    page.drawer("Figures")
    page.button("Side by side").press("Enter")
    page.explorer.locator(".snhkit-strata img").nth(23).wait_for()
    page.drawer("Save and publish")
    page.button("Page").press("Enter")
    with window.expect_download(timeout=30_000) as download:
        page.button("Page").press("Enter")
    file = tmp_path / "trips.html"
    download.value.save_as(file)
    window.goto(file.as_uri())
    window.get_by_role("slider", name="hour").fill("8")
    assert window.locator("#label").inner_text() == "08"
    assert window.get_by_role("heading", name="Trips").is_visible()
