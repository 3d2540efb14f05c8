"""A slider for epsilon that a screen reader can read."""

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
"""The default options of ``EpsilonSlider``: 22 values from 0.01 to 10 on a logarithmic scale."""


class EpsilonSlider(anywidget.AnyWidget):
    """A slider over given values of epsilon, which a screen reader reads out."""

    _esm = Path(__file__).parent / "epsilon_slider.js"
    options = traitlets.List(traitlets.Float()).tag(sync=True)
    value = traitlets.Float().tag(sync=True)

    def __init__(self, value: float, options: Iterable[float] = EPSILONS) -> None:
        super().__init__(options=sorted({*options, value}), value=value)

    @traitlets.validate("value")
    def _one_of_them(self, proposal: Any) -> float:
        if proposal["value"] not in self.options:
            raise traitlets.TraitError(
                f"epsilon must be one of {self.options}, not {proposal['value']}."
            )
        return proposal["value"]
