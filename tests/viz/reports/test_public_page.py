import base64
import json
import re
from dataclasses import replace
from functools import cache

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import snhkit as snh
from snhkit.cli.main import app
from snhkit.data import city
from snhkit.districts.districts import Districts, LocalDistricts
from snhkit.errors import InputError
from snhkit.markup import count_texts, number
from snhkit.privacy import PrivacyUnit
from snhkit.release.estimates import Estimates
from snhkit.viz.maps.districts import answers
from snhkit.viz.reports.counts import Counts, ground
from snhkit.viz.reports.public_page import Imprint, _counts, _on_scale, _rows, public_html

CITY = city("fargo").region
HALVES = [shapely.box(-96.9, 46.8, -96.8, 47), shapely.box(-96.8, 46.8, -96.7, 47)]


@cache
def records() -> snh.Points:
    return snh.synthetic_points("fargo", 5_003)


@pytest.fixture(scope="module")
def release():
    data = snh.PrivateDataset(records(), budget=10, unit="record")
    return data.release(snh.Identity(cell_m=500), epsilon=1)


def districts() -> LocalDistricts:
    south, west, north, east = CITY.bounds
    middle = (west + east) / 2
    corner = shapely.box(west, south, west + 0.005, south + 0.003)  # hardly anybody
    shapes = [shapely.box(west, south, middle, north), corner, shapely.box(0, 0, 1, 1)]
    names = ["West <b>", "Corner", "Elsewhere"]
    frame = gpd.GeoDataFrame({"name": names}, geometry=shapes, crs=4326)
    return Districts.of(frame, "name").inside(CITY)


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page, flags=re.DOTALL)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]


def test_it_holds_what_was_released_and_loads_nothing(release):
    page = public_html(release, districts(), Imprint("Trips & taxis"))
    assert "<h1>Trips &amp; taxis" in page
    assert "West <b>" not in page.replace("West &lt;b&gt;", "")
    assert "What you may and may not conclude" in page
    assert "5003" not in page.replace(",", "")
    assert not re.search(r'(src|href)="(https?:)?//', page)


def test_the_commands_beside_a_download_work_without_the_owner(release, tmp_path):
    page = public_html(release, None, Imprint("Trips"))
    (file,) = re.findall(r'download="release.snh" href="data:[^"]*base64,([^"]*)"', page)
    (tmp_path / "release.snh").write_bytes(base64.b64decode(file))
    (tmp_path / "boxes.csv").write_text("south,west,north,east\n46.87,-96.80,46.88,-96.79\n")
    said = []
    for command in re.findall("<code>snhkit (.*?)</code>", page):
        words = [str(tmp_path / w) if (tmp_path / w).exists() else w for w in command.split()]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        said.append(done.output)
    (checksum,) = re.findall("sha256:[0-9a-f]{64}", page)
    assert len(said) == 2
    assert checksum.removeprefix("sha256:") in said[0]


@pytest.mark.parametrize(
    ("n_public", "sure"),
    [(False, "62.2 %"), (True, "73.1 %")],  # 1 / (1 + exp(-0.5)); a replacement costs it twice
)
def test_how_sure_an_attacker_can_be_follows_from_epsilon(n_public, sure):
    data = snh.PrivateDataset(records(), budget=1, unit="record", n_public=n_public)
    page = public_html(data.release(snh.UniformGrid(), epsilon="0.5"), None, Imprint("Trips"))
    assert sure in page
    assert ("<dd>number of records (5%); counts of " in page) is not n_public


def test_epsilon_has_its_place_on_a_logarithmic_scale():
    found = [_on_scale(epsilon) for epsilon in (0.001, 0.01, 0.1, 10, 99)]
    assert found == pytest.approx([0, 0, 1 / 3, 1, 1])


def test_the_ground_reaches_beyond_the_region_on_all_sides():
    rings = [np.reshape(ring, (-1, 2)) for shape in ground(CITY)["land"] for ring in shape if ring]
    xy, beyond = np.concatenate(rings), 0.02 * CITY.side_m
    assert xy.min(axis=0).tolist() == pytest.approx([-beyond] * 2, abs=1)
    assert xy.max(axis=0).tolist() == pytest.approx([CITY.side_m + beyond] * 2, abs=1)


def test_no_number_is_given_where_the_interval_reaches_to_nobody(release):
    told = districts()
    found = cells(public_html(release, told, Imprint("x")))
    rows = {row[0].partition(" (")[0]: row[1:] for row in found if len(row) == 5}
    frame = answers(release, told)
    assert list(rows)[-3:] == ["West &lt;b&gt;", "Corner", "Elsewhere"]
    count, low, high = frame.loc[0, ["count", "low", "high"]]
    assert rows["West &lt;b&gt;"][:2] == list(count_texts(count, low, high))
    if frame.low[1] == 0:
        assert rows["Corner"][0] == f"below about {number(frame.high[1])}"
        assert rows["Corner"][1].startswith("0 to ")
        assert rows["Corner"][3] == ""  # a density would tell the count
    assert rows["Elsewhere"] == ["not counted", "", "", ""]


def test_an_interval_that_is_not_known_has_its_reason(release, monkeypatch):
    monkeypatch.setattr(Estimates, "bounds", lambda self, _: np.full((len(self), 2), np.nan))
    told = "not known: because."
    monkeypatch.setattr("snhkit.release.estimates.meaning", lambda *_, **__: told)
    text = public_html(release, districts(), Imprint("x"))
    rows = {row[0].partition(" (")[0]: row[1:] for row in cells(text) if len(row) == 5}
    assert rows["West &lt;b&gt;"][1] == "not known"
    assert told in text
    frame = pd.DataFrame({"count": [-3.0, 40, 0], "low": np.nan, "high": np.nan})
    bars = [(row.name.partition(" ")[0], row.low, row.high) for row in _rows(districts(), frame)]
    assert bars == [("Corner", 100, 100), ("West", 0, 0), ("Elsewhere", 0, 0)]


def test_counts_in_boxes_are_rounded_to_a_quarter_of_the_noise_of_a_record(release, monkeypatch):
    monkeypatch.setattr(Counts, "of", lambda _: None)
    assert _counts(release).unit == 1 / 4
    assert _counts(replace(release, unit=PrivacyUnit("user", 5))).unit == 5 / 4


def test_a_page_is_saved_with_what_its_owner_says(release, tmp_path):
    frame = gpd.GeoDataFrame({"name": ["left", "right"]}, geometry=HALVES, crs=4326)
    said = {"subject": "trip", "owner": "us", "period": "May", "contact": "ask@example.org"}
    path = snh.save_page(
        release, tmp_path / "p.html", title="Trips", districts=frame, label="name", **said
    )
    shown = Districts.of(frame, "name").inside(release.region)
    assert path == tmp_path / "p.html"
    assert path.read_text(encoding="utf-8") == public_html(release, shown, Imprint("Trips", **said))
    with pytest.raises(InputError, match="needs a title"):
        snh.save_page(release, tmp_path / "q.html", title=" ")
    assert not (tmp_path / "q.html").exists()


def test_what_must_not_be_published_is_refused():
    data = snh.PrivateDataset(records(), budget=1, unit="record", n_public=True)
    seeded = data.release(snh.UniformGrid(), epsilon=1, seed=1)
    with pytest.raises(InputError, match="must not be published"):
        public_html(seeded, None, Imprint("x"))


@pytest.fixture(scope="module")
def week():
    data = snh.PrivateDataset(records(), budget=10, unit="record")
    return data.release(snh.Identity(cell_m=500), epsilon=1, by=snh.By.weekday())


def test_the_page_of_strata_has_a_picture_of_each(week):
    page = public_html(week, districts(), Imprint("Trips"))
    assert "<h2>By weekday</h2>" in page
    (pictures,) = re.findall(r"const pictures = (\[.*?\]), at", page)
    assert len({*json.loads(pictures)}) == 7
    assert json.dumps(list(week)) in page
    assert re.search(r'class="all">\s*<figure', page)  # the maps of all days are side by side
    total = answers(week.total(), districts())["count"][0]
    assert number(total) in dict(row[:2] for row in cells(page) if len(row) == 5).values()


@pytest.fixture(scope="module")
def window(chromium):
    """One page for all tests, and a list of its errors and of what it asked for."""
    page, wrong = chromium.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda ask: wrong.append(ask.url) if "page.html" not in ask.url else None)
    yield page, wrong
    page.close()


@pytest.fixture
def shown(window, tmp_path):
    """Return the function that opens a public page on a screen."""
    page, wrong = window

    def show(text: str, size: tuple[int, int] = (1280, 800), theme: str = "light"):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=theme)
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector("html.live")
        return page

    yield show
    assert not wrong


@pytest.mark.browser
def test_the_days_of_a_week_are_chosen_and_played(week, shown):
    page = shown(public_html(week, None, Imprint("Trips")))
    label, frame = page.locator("#label"), page.locator("#frame")
    assert label.inner_text() == "Mon"
    first = frame.get_attribute("src")
    page.locator("#stratum").press("ArrowRight")
    assert label.inner_text() == "Tue"
    assert frame.get_attribute("src") != first
    page.get_by_role("button", name="Play").click()
    page.get_by_text("Wed", exact=True).wait_for()
    page.get_by_role("button", name="Pause").click()
    assert page.get_by_role("button", name="Play").is_visible()
    box = json.loads(page.locator("#answer").get_attribute("data-box"))
    day = page.locator("figure[data-labels]")
    asked = snh.RangeQueries(week.total().region, *np.reshape(box, (4, 1)).astype(float))
    counts = np.maximum(week.estimate(asked)["count"], 0).tolist()
    assert json.loads(day.get_attribute("data-counts")) == pytest.approx(counts)
    assert f"for {list(week)[int(np.argmax(counts))]}." in day.inner_text()


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("size", "theme"),
    [((1280, 800), "light"), ((1920, 1080), "dark"), ((390, 844), "dark"), ((1024, 768), "light")],
)
def test_an_official_counts_in_boxes_as_python_does(release, shown, size, theme):
    imprint = Imprint("Trips", "start of a trip", "City office", "May 2026", "data@city.example")
    page = shown(public_html(release, districts(), imprint), size, theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    boxes = np.random.default_rng(1).integers([0, 0, 10, 10], [9_000, 9_000, 3_000, 3_000], (9, 4))
    found = page.evaluate("(boxes) => boxes.map(snhkitPublicOpen.answer)", boxes.tolist())
    queries = snh.RangeQueries(CITY, *boxes.astype(float).T)
    np.testing.assert_allclose(found, release.answer(queries), rtol=0, atol=1e-6)
    at = page.locator("#map").bounding_box()
    page.mouse.move(at["x"] + 0.3 * at["width"], at["y"] + 0.3 * at["height"])
    page.mouse.down()
    page.mouse.move(at["x"] + 0.6 * at["width"], at["y"] + 0.7 * at["height"], steps=4)
    page.mouse.up()
    said = page.locator("#answer")
    x, y, width, height = json.loads(said.get_attribute("data-box"))
    (count,) = release.answer(snh.RangeQueries(CITY, [x], [y], [width], [height]))
    assert said.inner_text() == (
        f"In this box of {width} by {height} m: about {number(max(count, 0))}."
    )
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(prefer_css_page_size=True))) <= 2


@pytest.mark.parametrize(("epsilon", "blank"), [("1", False), ("0.002", True)])
def test_cells_wider_than_a_smoothed_square_have_no_colour_either(shown, epsilon, blank):
    data = snh.PrivateDataset(records(), budget=10, unit="record")
    made = data.release(snh.Identity(cell_m=500), epsilon=epsilon)
    page = shown(public_html(made, None, Imprint("Trips")))
    reddish = page.evaluate(
        """() => {
          const map = document.getElementById("map");
          const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
          let found = 0;
          for (let k = 0; k < data.length; k += 4) found += data[k] - data[k + 2] > 60;
          return found;
        }"""
    )
    assert (reddish == 0) is blank
    assert ("No square has more in this release." in page.inner_text("body")) is blank


def test_what_a_publisher_says_holds_no_control_characters():
    assert Imprint("Trips\x1b[31m\nof \u202e2026").title == "Trips\ufffd[31m of \ufffd2026"
