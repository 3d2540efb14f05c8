"""The story of epsilon: what the page answers equals Python's answers, to the digit."""

import json
import math
import os
import re

import numpy as np
import pytest

from snhkit.data import synthetic_points
from snhkit.geometry import Points, RangeQueries, exact_counts
from snhkit.viz.reports import story, story_data
from snhkit.viz.reports.counts import Counts
from snhkit.viz.reports.rendering import packed, unpacked

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("story") / "story.html"
    file.write_text(story.story_html(story.shipped_story()), encoding="utf-8")
    return file


def test_arrays_come_back_as_they_went_in():
    arrays = {
        "a": np.array([-3, 120]),
        "b": np.array([[0.5, 1e9], [2, 3]]),
        "c": np.array([0, 70_000]),
    }
    header, found = unpacked(packed({"x": "é"}, arrays))
    assert header == {"x": "é"}
    assert [found[name].dtype.itemsize for name in "abc"] == [1, 8, 4]
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array.ravel())


def test_rounded_counts_lose_nothing_along_a_row():
    """A thousand cells of 0.2 are not a thousand cells of 0."""
    from snhkit.geometry import Grid
    from snhkit.models import GridModel

    grid = Grid(synthetic_points("fargo", 1).region, 100)
    counts = Counts.rounded(GridModel(grid, np.full((100, 100), 0.2)), 100, 1.0)
    np.testing.assert_allclose(counts.values.sum(axis=1), 20, atol=0.5)


def layers_of(data: bytes) -> tuple[dict, list[Counts]]:
    """Return the header of a story and its releases, as the page's script reads them."""
    header, arrays = unpacked(data)
    found = []
    for told in header["layers"]:
        values = arrays[told["values"]]
        if "m" in told:
            found.append(Counts(values.reshape(told["m"], told["m"]), told["unit"]))
        else:
            edges = arrays[told["edges"]].reshape(4, -1).T * told["step"]
            found.append(Counts(values, told["unit"], edges))
    return header, found


def test_the_shipped_story_is_what_its_command_makes_from_its_seeds():
    data = story.shipped_story()
    header, layers = layers_of(data)
    here = story_data._City.called(story.SHIPPED, header["n"])
    for at, key in ((4, "ug"), (8 + 2, "privtree")):  # the quick methods
        epsilon = story_data.STOPS[at % len(story_data.STOPS)]
        made = story_data._layer(here, key, epsilon, seed=at)
        np.testing.assert_array_equal(made.values, layers[at].values.astype(int))
        told = story_data._measured(here, layers[at])
        assert told["errors"] == pytest.approx(header["layers"][at]["errors"], rel=1e-3)
        assert told["found"] == header["layers"][at]["found"]
    assert len(story.story_html(data)) <= 3_000_000


def test_the_best_of_the_story_is_the_best_by_python():
    """The page says which method errs least at an epsilon, from errors that it holds."""
    header, _ = layers_of(story.shipped_story())
    errors = np.array([layer["errors"][0] for layer in header["layers"]]).reshape(4, -1)
    assert (np.diff(errors[0]) < 0.02).all()  # UG: a larger epsilon does not err more
    assert errors[0].min() > errors[3, 2:].max()  # the denoised grid from 0.05 on beats all of UG


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs Chromium")
@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((1280, 800), "light"),
        ((1920, 1080), "dark"),
        ((390, 844), "dark"),
        ((1024, 768), "light"),
    ],
)
def test_a_reader_sees_the_numbers_of_python(chromium, page, size, theme):
    context = chromium.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme
    )
    window, wrong = context.new_page(), []
    window.on("pageerror", lambda error: wrong.append(str(error)))
    window.on("request", lambda ask: wrong.append(ask.url) if "story.html" not in ask.url else None)
    window.goto(page.as_uri())
    window.wait_for_selector("html[data-ready]")
    assert window.evaluate("document.documentElement.scrollWidth") <= size[0]
    header, layers = layers_of(story.shipped_story())
    records = synthetic_points(story.SHIPPED, header["n"])
    records = Points(records.region, np.floor(records.xy))
    boxes = np.random.default_rng(1).integers([0, 0, 10, 10], [12_000, 12_000, 900, 900], (12, 4))
    queries = RangeQueries(records.region, *boxes.astype(float).T)
    for stop in (1, 6):
        window.locator("#epsilon").evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", stop
        )
        window.wait_for_selector(f"html[data-stop='{stop}']")
        sure = 100 / (1 + math.exp(-story_data.STOPS[stop]))
        assert window.locator("#sure").inner_text() == f"{sure:.3g} %"
        shown = np.array(window.evaluate("(b) => b.map(snhkitStoryOpen.answer)", boxes.tolist()))
        np.testing.assert_array_equal(shown[:, 0], exact_counts(records, queries))
        for k in range(4):
            model = layers[k * len(story_data.STOPS) + stop].model(records.region)
            np.testing.assert_allclose(shown[:, 1 + k], model.answer(queries), rtol=0, atol=1e-6)
    canvas = window.locator("#release").bounding_box()
    x, y = canvas["x"] + 0.3 * canvas["width"], canvas["y"] + 0.7 * canvas["height"]
    window.mouse.move(x, y)
    window.mouse.down()
    window.mouse.move(x + 60, y + 40, steps=4)
    window.mouse.up()
    card = window.locator("#card")
    box, answers = (json.loads(card.get_attribute(f"data-{of}")) for of in ("box", "answers"))
    drawn = RangeQueries(records.region, *([float(side)] for side in box))
    assert answers[0] == exact_counts(records, drawn)[0]
    truth = f"{answers[0]:,}" if answers[0] < 1000 else f"{float(f'{answers[0]:.3g}'):,.0f}"
    assert f"{box[2]} × {box[3]} m" in card.inner_text()
    assert truth in card.inner_text()
    window.keyboard.press("ArrowRight")
    assert json.loads(card.get_attribute("data-box"))[0] == box[0] + 10
    window.locator("#methods").get_by_text("Denoised grid").click()
    said = window.locator("#said").inner_text().replace("\xa0", " ")
    error = header["layers"][3 * len(story_data.STOPS) + 6]["errors"][0]
    assert re.search(rf"Denoised grid loses \d+ .* off by {float(f'{100 * error:.2g}'):g} %", said)
    window.get_by_role("button", name="Compare all methods").click()
    assert window.locator("#errors tbody tr").count() == 4
    context.close()
    assert not wrong
