import numpy as np
import pandas as pd
import pytest

from snhkit.errors import InputError
from snhkit.viz.figures.winners import winners_figure

CASES = pd.MultiIndex.from_tuples(
    [
        ("Miami", "ε = 1", "100 m"),
        ("Miami", "ε = 1", "1 km"),
        ("Fargo", "ε = 1", "100 m"),
        ("Fargo", "ε = 1", "1 km"),
    ]
)
ERRORS = pd.DataFrame({"UG": [0.5, 0.1, 0.2, 0.3], "AG": [0.4, 0.2, 0.3, 0.2]}, index=CASES)


def test_the_least_error_of_each_case_is_named_in_its_place():
    axis = winners_figure(ERRORS).axes[0]
    found = {text.get_position(): text.get_text() for text in axis.texts}
    assert found == {
        (0.5, 0.5): "AG\n40.0%",
        (1.5, 0.5): "UG\n10.0%",
        (0.5, 1.5): "UG\n20.0%",
        (1.5, 1.5): "AG\n20.0%",
    }
    assert [t.get_text() for t in axis.get_xticklabels()] == ["100 m", "1 km"]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["Miami, ε = 1", "Fargo, ε = 1"]
    assert axis.yaxis_inverted()


def test_a_method_has_one_colour():
    axis = winners_figure(ERRORS).axes[0]
    colours = [patch.get_facecolor() for patch in axis.patches]
    assert colours[0] == colours[3] != colours[1] == colours[2]


@pytest.mark.parametrize(
    ("errors", "says"),
    [
        (ERRORS[:0], "must have rows"),
        (ERRORS.droplevel([0, 1]), "the last is the box size"),
        (ERRORS.assign(UG=np.nan), "missing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(errors, says):
    with pytest.raises(InputError, match=says):
        winners_figure(errors)
