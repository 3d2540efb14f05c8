"""The report: one page that loads nothing, says whose it is, and shows what was measured."""

import base64
import importlib.util
import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import snhkit as snh
from snhkit.experiment import OWNER_ONLY
from snhkit.experiment.compare import Comparison, Plan, run
from snhkit.methods import METHODS
from snhkit.viz.reports.page import maps
from snhkit.viz.reports.report import report_html, terminal_tables

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
LOADING = {"src", "href", "data", "action", "srcset", "poster", "background", "formaction", "ping"}


class Page(HTMLParser):
    """What a page holds; refuses tags that do not match and anything that would be loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.cells: list[str] = []
        self.inner: list[Page] = []
        self.images: list[bytes] = []
        self.frames: list[dict[str, str | None]] = []
        self.names_a_row = False
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        # url(data:...) and url(#...) are inside the page
        for kind, content in self.texts:
            if kind == "style":
                for at in re.findall(r"url\(\s*['\"]?([^'\")]{0,40})", content):
                    assert at.startswith(("data:", "#")), at
                assert "@import" not in content

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        assert len(named) == len(attrs), f"an attribute twice in {tag}"
        for name in LOADING & named.keys():
            assert (named[name] or "").startswith(("data:", "#")), f"{tag} {name}={named[name]}"
        assert not (named.get("style") and "url(" in named["style"])
        self.names_a_row = named.get("scope") == "row"
        if tag == "img":
            self.images.append(base64.b64decode(named["src"].partition("base64,")[2]))
        if tag == "iframe":
            self.frames.append(named)
            self.inner.append(Page(named["srcdoc"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID, f"<{tag}/> is left open in HTML"
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            inside = self.open[-1] if self.open else ""
            self.texts.append((inside, data.strip()))
            if inside == "td" or (inside == "th" and self.names_a_row):
                self.cells.append(data.strip())

    def of(self, tag: str) -> list[str]:
        return [text for inside, text in self.texts if inside == tag]


@pytest.fixture(scope="module")
def found() -> Comparison:
    city = snh.Region.around(lat=43.04, lon=-87.91, side_m=1_000)
    records = snh.Points(city, np.random.default_rng(1).normal(500, 100, (2_000, 2)))
    boxes = snh.RangeQueries.sample(records, 20)
    return run(records, None, boxes, Plan(("ug", "identity"), ("0.1", "1"), cell_m=50))


@pytest.fixture(scope="module")
def text(found) -> str:
    return report_html(found, title="Trips <b> & more", about="From a file.")


@pytest.fixture(scope="module")
def parsed(text) -> Page:
    return Page(text)


def test_the_first_thing_said_is_whose_eyes_it_is_for(parsed):
    body = [text for inside, text in parsed.texts if inside not in ("title", "style")]
    assert body[0] == OWNER_ONLY


def test_the_title_is_text_and_not_markup(parsed):
    assert parsed.of("title") == parsed.of("h1") == ["Trips <b> & more"]
    assert parsed.of("b") == []


def test_numbers_are_those_of_the_table(parsed, found):
    assert len(found.table) == 4
    shown = np.reshape(parsed.cells[: 4 * 9], (4, 9))
    for cells, row in zip(shown, found.table.to_dict("records"), strict=True):
        assert cells[0] == METHODS[row["method"]].title
        numbers = [float(cell.replace(",", "")) for cell in cells[1:]]
        exact = [
            row[k]
            for k in ("epsilon", "rel_error", "abs_error", "abs_error_anywhere", "adds_up",
                      "build_s", "query_us")
        ]  # fmt: skip
        assert numbers[:-1] == pytest.approx(exact, abs=0.05)
        assert numbers[1] == round(row["rel_error"], 3)
        assert numbers[-1] == row["bytes"]


def test_errors_by_size_are_those_of_the_comparison(parsed, found):
    shown = np.reshape(parsed.cells[4 * 9 : 4 * 9 + 4 * 8], (4, 8))  # three bands fit into 1 km
    for k, cells in enumerate(shown):
        rows = found.sizes[3 * k : 3 * k + 3]
        assert cells[0] == METHODS[rows["method"].iloc[0]].title
        numbers = [float(cell.replace(",", "")) for cell in cells[1:]]
        assert numbers[1:4] == pytest.approx(list(rows["rel_error"]), abs=6e-4)
        assert numbers[4:] == pytest.approx(list(rows["abs_error_anywhere"]), rel=0.06)
    heads = parsed.of("th")
    assert [heads.count(size) for size in ("25-100 m", "100-300 m", "300-1,000 m")] == [2, 2, 2]
    assert "1-5 km" not in heads


def test_a_region_smaller_than_every_band_and_a_seed_that_is_a_second_warning(text):
    city = snh.Region.around(lat=43.04, lon=-87.91, side_m=90)
    records = snh.Points(city, np.random.default_rng(1).uniform(0, 90, (200, 2)))
    boxes = snh.RangeQueries.sample(records, 5, (5, 10))
    tiny = run(records, None, boxes, Plan(("ug",), (1,), seed=3))
    page = Page(report_html(tiny, title="T", about="A"))
    assert "smaller than the squares of every range of sizes" in " ".join(page.of("p"))
    assert "by the length of their sides" not in terminal_tables(tiny)
    assert tiny.rows()[0]["sizes"] == []
    assert "came from a seed" not in text
    assert page.of("p")[0] == OWNER_ONLY
    assert "came from a seed" in page.of("p")[1]


def test_a_terminal_of_80_columns_shows_it_all(found):
    text = terminal_tables(found)
    assert max(map(len, text.splitlines())) <= 80
    for row in found.table.to_dict("records"):
        assert f"{row['rel_error']:.3f}" in text
        assert f"{row['adds_up']:.3f}" in text
        assert f"{row['bytes']:,}" in text
    for row in found.sizes.to_dict("records"):
        assert f"{row['rel_error']:.3f}" in text
        assert row["size"] in text


def test_the_longest_title_and_large_numbers_fit_into_80_columns(found):
    key = "snh-paper"
    releases = {(key, 0.125): found.releases["ug", 1.0]}
    wide = Comparison(
        found.table[:1].assign(
            method=key, epsilon=0.125, rel_error=123.4567, abs_error=123456.0,
            abs_error_anywhere=123456.0, adds_up=1234.5, build_s=1234.5, query_us=12345.6,
            bytes=10**9,
        ),
        pd.DataFrame(
            {
                "method": key, "epsilon": 0.125, "rel_error": 123.4567,
                "abs_error_anywhere": 1_234_567.0,
                "size": ["25-100 m", "100-300 m", "300-1,000 m", "1-5 km"],
            }
        ),
        releases,
        found.dataset,
    )  # fmt: skip
    assert max(map(len, terminal_tables(wide).splitlines())) <= 80


def test_the_ledger_is_shown(parsed):
    budget, neighbours = parsed.of("caption")
    assert budget == "Privacy budget: epsilon 2.2, spent 2.2, left 0"
    assert "one record replaced by another, at twice its epsilon" in neighbours
    assert parsed.cells[4 * 9 :].count("UniformGrid") == 2


def test_the_map_shows_the_largest_epsilon_and_every_method_in_a_sandbox(parsed):
    (inner,) = parsed.inner
    assert parsed.frames[0]["sandbox"] == "allow-scripts"
    assert "Released counts, at epsilon 1" in parsed.of("h2")
    script = "".join(inner.of("script"))
    for name in ("UG", "Identity"):
        assert f'"{name}"' in script
    assert "records per hectare" in script
    # Scripts may name addresses as text; that none is asked for is a rule the browser enforces.
    assert "default-src 'none'" in (parsed.frames[0]["srcdoc"] or "")


def test_pictures_are_whole(parsed):
    assert len(parsed.images) == 4  # errors, around records, anywhere, sums of all tiles
    for plot in parsed.images:
        assert imread(io.BytesIO(plot)).shape[2] == 4


def test_without_offline_maps_there_is_a_picture(found, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "offlinefolium" else there(name)
    )
    shown = Page(maps({"UG": found.releases["ug", 1.0]}))
    (picture,) = shown.images
    assert not shown.frames
    assert len(np.unique(imread(io.BytesIO(picture))[..., :3].reshape(-1, 3), axis=0)) > 50
