import itertools
import math

import pytest
import traitlets

from snhkit.widgets.controls import EPSILONS, EpsilonSlider


def test_steps_are_even_on_a_logarithmic_scale_and_exact():
    ratios = [b / a for a, b in itertools.pairwise(EPSILONS)]
    assert max(ratios) / min(ratios) < 1.3
    assert all(math.isclose(e, float(f"{e:.2g}"), abs_tol=0) for e in EPSILONS)


def test_only_its_options_can_be_chosen():
    slider = EpsilonSlider(0.123)
    assert slider.options == sorted([*EPSILONS, 0.123])
    slider.set_state({"value": 0.2})  # as from the browser
    assert slider.value == 0.2
    with pytest.raises(traitlets.TraitError):
        slider.value = 0.1234
