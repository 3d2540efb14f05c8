import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from snhkit.errors import InputError
from snhkit.viz.figures.curves import (
    against_truth,
    count_bars,
    error_curves,
    theme_svg,
)

COUNTS = pd.DataFrame(
    {
        "box": [1, 2, 1, 2],
        "method": ["UG", "UG", "SNH", "SNH"],
        "count": [10.0, 20.0, 12.0, 21.0],
        "low": [7.0, 14.0, np.nan, np.nan],
        "high": [15.0, 21.0, np.nan, np.nan],
    }
)
ERRORS = pd.DataFrame(
    {
        "method": ["UG", "AG", "UG", "UG"],
        "epsilon": [1.0, 0.1, 0.1, 0.1],
        "rel_error": [0.1, 0.3, 0.4, 0.6],
    }
)


def test_counts_carry_their_error_bars_where_these_are_known():
    figure = count_bars(COUNTS)
    (axis,) = figure.axes
    assert axis.get_position().max.max() < 1
    ug, snh = axis.containers
    assert [segment[:, 1].tolist() for segment in ug[2][0].get_segments()] == [[7, 15], [14, 21]]
    assert np.ptp([segment[:, 1] for segment in snh[2][0].get_segments()], axis=1).tolist() == [
        0,
        0,
    ]
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == ["UG", "SNH"]
    assert "truth" in str(count_bars(COUNTS.assign(truth=9)).axes[0].get_legend().get_texts()[-1])


def test_error_curves_are_means_in_order():
    (axis,) = error_curves(ERRORS, "epsilon", label="epsilon").axes
    lines = {line.get_label(): line.get_xydata() for line in axis.lines}
    assert lines["UG"] == pytest.approx(np.array([[0.1, 0.5], [1, 0.1]]))
    assert lines["AG"] == pytest.approx(np.array([[0.1, 0.3]]))
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")


def test_released_against_true_has_a_panel_a_method():
    table = COUNTS.assign(truth=[9, 20, 9, 20])
    axes = [axis for axis in against_truth(table).axes if axis.axison]
    assert [axis.get_title() for axis in axes] == ["UG", "SNH"]
    assert axes[1].lines[1].get_xydata().tolist() == [[9, 12], [20, 21]]
    assert axes[0].get_xscale() == "symlog"


def test_released_against_true_shows_the_counts_that_are_asked_for():
    (axis, _) = against_truth(COUNTS.assign(truth=[9, 2_000, 9, 2_000]), top=20).axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("linear", "linear")
    assert axis.get_xlim() == pytest.approx((-1, 21))


NAMES = [
    f"{title}, ε = {epsilon}"
    for epsilon in ("0.04", "0.2")
    for title in ("UG", "SNH (paper's network)", "Denoised grid")
]


@pytest.mark.parametrize("figure", ["bars", "curves", "scatter"])
def test_at_two_epsilons_all_points_show_and_no_name_is_cut(figure):
    rows = pd.DataFrame({"method": np.repeat(NAMES, 3), "box": [1, 2, 3] * 6, "truth": 50})
    rows = rows.assign(count=[20.0, 40, 60] * 6, low=10, high=90, side_m=[25, 50, 100] * 6)
    made = {
        "bars": lambda: count_bars(rows),
        "curves": lambda: error_curves(rows.assign(rel_error=0.2), "side_m", label="m"),
        "scatter": lambda: against_truth(rows),
    }[figure]()
    lines = [
        line for axis in made.axes for line in axis.lines if str(line.get_marker()) not in "_|None"
    ]
    points = [line for line in lines if len(line.get_xdata()) == 3]
    assert len(points) == len(NAMES)
    for line in points:
        edge = line.get_markeredgewidth() if line.get_markeredgecolor() != "none" else 0
        assert edge > 0 or line.get_markerfacecolor() != "none"
    canvas = FigureCanvasAgg(made)
    canvas.draw()
    renderer = canvas.get_renderer()
    whole = made.get_tightbbox(renderer).padded(0.01)
    found = [text for text in made.findobj(Text) if text.get_text() and text.get_visible()]
    said = {text.get_text().replace("\n", ", ") for text in found}
    assert set(NAMES) <= said
    places = [text.get_window_extent(renderer) for text in found if "ε" in text.get_text()]
    for k, place in enumerate(places):
        inches = place.transformed(made.dpi_scale_trans.inverted())
        assert whole.x0 <= inches.x0 < inches.x1 <= whole.x1
        assert not any(place.overlaps(other) for other in places[:k])


def test_a_themed_figure_has_the_pages_ink_and_refers_to_nothing():
    drawn = theme_svg(count_bars(COUNTS.assign(truth=9)), '"counts" <b>')
    root = ET.fromstring(drawn)
    assert root.get("aria-label") == '"counts" <b>'
    assert root.get("role") == "img"
    assert root.get("height") is None
    assert "currentColor" in drawn
    assert "#010203" not in drawn
    assert not re.search(r"stroke: #000|fill: #000", drawn)
    assert not re.findall(r'(?:href|src)="(?!#|data:)', drawn)


@pytest.mark.parametrize("figure", [count_bars, against_truth])
def test_what_is_missing_is_named(figure):
    with pytest.raises(InputError, match="lacks the column"):
        figure(pd.DataFrame({"method": ["UG"]}))
    with pytest.raises(InputError, match="has no rows"):
        figure(COUNTS.assign(truth=1)[:0])
