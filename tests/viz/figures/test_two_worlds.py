import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.viz.figures.two_worlds import two_worlds

ANSWERS = np.arange(4)
WITH = np.array([0.1, 0.2, 0.3, 0.4])
WITHOUT = np.array([0.2, 0.2, 0.2, 0.4])


def bars(figure):
    top = figure.axes[0]
    return {b.get_label(): [bar.get_height() for bar in b] for b in top.containers}


def points(figure):
    """The quotients that are drawn, by their marker."""
    return {line.get_marker(): line.get_xydata() for line in figure.axes[1].lines}


def test_bars_are_the_probabilities_of_each_world():
    drawn = bars(two_worlds(ANSWERS, WITH, WITHOUT, epsilon=1))
    assert drawn == {"without the record": WITHOUT.tolist(), "with the record": WITH.tolist()}


def test_quotients_stand_against_the_band_that_epsilon_allows():
    figure = two_worlds(ANSWERS, WITH, WITHOUT, epsilon=0.5)
    np.testing.assert_allclose(points(figure)["o"], [[0, 0.5], [1, 1], [2, 1.5], [3, 1]])
    band = figure.axes[1].patches[0].get_extents().transformed(figure.axes[1].transData.inverted())
    np.testing.assert_allclose([band.y0, band.y1], np.exp([-0.5, 0.5]))
    assert "X" not in points(figure)


def test_what_one_file_alone_can_answer_breaks_the_promise():
    figure = two_worlds(ANSWERS, [0, 0.5, 0.5, 0], [0.5, 0.5, 0, 0], epsilon=0.5)
    assert points(figure)["o"].tolist() == [[1, 1]]
    (x, y), (other_x, other_y) = points(figure)["X"]
    assert (x, other_x) == (0, 2)  # and at 3, which neither can answer, there is nothing
    assert y < np.exp(-0.5) < np.exp(0.5) < other_y
    low, high = figure.axes[1].get_ylim()
    assert low < y < other_y < high


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((ANSWERS, WITH[:3], WITHOUT, 1), "must be lists of equal length"),
        ((ANSWERS, WITH, -WITHOUT, 1), "not negative"),
        ((ANSWERS, WITH, WITHOUT * np.nan, 1), "finite"),
        ((ANSWERS, WITH, WITHOUT, 0), "positive number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, says):
    with pytest.raises(InputError, match=says):
        two_worlds(*arguments)
