import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from snhkit.errors import InputError
from snhkit.viz.figures.panels import method_panels
from snhkit.viz.figures.style import method_styles

TABLE = pd.DataFrame(
    {
        "method": ["UG", "UG", "SNH", "SNH"] * 2,
        "epsilon": [0.1, 1.0] * 4,
        "size": ["25-100 m"] * 4 + ["1-5 km"] * 4,
        "error": [4.0, 3.0, 2.0, 1.0, 0.4, 0.3, 0.2, 0.1],
    }
)


def test_a_panel_for_each_band_and_a_row_for_each_method():
    figure = method_panels(TABLE, "error", label="records", panel="size")
    assert [axis.get_title() for axis in figure.axes] == ["25-100 m", "1-5 km"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["UG", "SNH"]
    for axis, scale in zip(figure.axes, (1, 0.1), strict=True):
        ug, snh = (marks.get_offsets() for marks in axis.collections)
        np.testing.assert_allclose(ug, [[4 * scale, 0], [3 * scale, 0]])
        np.testing.assert_allclose(snh, [[2 * scale, 1], [1 * scale, 1]])
        assert axis.get_xscale() == "log"
        for marks, method in zip(axis.collections, ("UG", "SNH"), strict=True):
            wanted = method_styles([method])[method].colour.lower()
            assert to_hex(marks.get_facecolor()[0]) == wanted


def test_a_larger_epsilon_has_a_larger_mark_and_the_legend_says_so():
    figure = method_panels(TABLE, "error", label="records", panel="size")
    small, large = figure.axes[0].collections[0].get_sizes()
    assert small < large
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ε = 0.1", "ε = 1"]
    one = method_panels(TABLE[TABLE["epsilon"] == 1], "error", label="records")
    assert not one.legends


def test_names_are_no_formulas():
    figure = method_panels(TABLE.replace("UG", "$5 to $\\foo{"), "error", label="records")
    figure.savefig(io.BytesIO(), format="png", dpi=40)


@pytest.mark.parametrize("values", [[0.0, 5.0], [-1.0, 5.0], [0.99, 1.01], [1.0, 1.0]])
def test_values_that_are_not_positive_or_alike_have_a_linear_axis(values):
    table = TABLE[:2].assign(error=values)
    (axis,) = method_panels(table, "error", label="sum / n", right=1.0).axes
    assert axis.get_xscale() == "linear"
    low, high = axis.get_xlim()
    assert low <= min(*values, 1)
    assert high >= max(*values, 1)


@pytest.mark.parametrize(
    ("table", "told"),
    [(TABLE.drop(columns="size"), "lacks the column size"), (TABLE[:0], "no rows")],
    ids=["column", "row"],
)
def test_what_cannot_be_drawn_is_told(table, told):
    with pytest.raises(InputError, match=told):
        method_panels(table, "error", label="records", panel="size")
