"""A slider of epsilons that a screen reader can read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

__all__ = ["EPSILONS", "EpsilonSlider"]

EPSILONS = (
    *(round(step * 10.0**k, 3) for k in (-2, -1, 0) for step in (1, 1.5, 2, 3, 4, 6, 8)),
    10.0,
)
"""Even steps of a logarithmic scale, but round."""


class EpsilonSlider(anywidget.AnyWidget):
    """A slider over given numbers; ipywidgets' own have no name for a screen reader.

    Attributes
    ----------
    options : list of float
        In increasing order.
    value : float
        One of them.

    Examples
    --------
    >>> slider = EpsilonSlider(0.05)
    >>> slider.value, 0.05 in slider.options
    (0.05, True)
    """

    _esm = Path(__file__).parent / "epsilon_slider.js"
    options = traitlets.List(traitlets.Float()).tag(sync=True)
    value = traitlets.Float().tag(sync=True)

    def __init__(self, value: float, options: Iterable[float] = EPSILONS) -> None:
        super().__init__(options=sorted({*options, value}), value=value)

    @traitlets.validate("value")
    def _one_of_them(self, proposal: Any) -> float:
        if proposal["value"] not in self.options:
            raise traitlets.TraitError(f"epsilon must be one of {self.options}.")
        return proposal["value"]
