"""The explorer's figures: counts of boxes and, in teaching mode, errors."""

import html
from collections.abc import Callable

import ipywidgets as w
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from snhkit.geometry import RangeQueries
from snhkit.viz.figures.curves import against_truth, count_bars, error_curves, theme_svg
from snhkit.widgets import teaching
from snhkit.widgets.session import Session
from snhkit.widgets.strata import side_by_side

_MOST_BOXES = 8
_COUNTS, _SCATTER = "Counts in the boxes", "Released against true"
_STRATA = "Side by side"
_TOPS = {"All, logarithmic": None, "0 to 1,000": 1_000, "0 to 100": 100, "0 to 20": 20}
_TAUGHT: dict[str, Callable[[Session, tuple[float, float]], Figure]] = {
    "Error against ε": lambda session, sizes_m: error_curves(
        teaching.by_epsilon(session, sizes_m), "epsilon", label="epsilon"
    ),
    "Error against box size": lambda session, sizes_m: error_curves(
        teaching.by_size(session, sizes_m),
        "side_m",
        label="side of the boxes, metres",
        band=sizes_m,
    ),
}


class Plots(w.VBox):
    """Buttons that show a figure; three figures need true counts."""

    def __init__(self) -> None:
        self.choice = w.ToggleButtons(
            options=[_COUNTS], style={"button_width": "auto"}, tooltip="Figure"
        )
        self.top = w.Dropdown(
            options=list(_TOPS.items()),
            description="Counts",
            tooltip="Range of the counts on the axes of the figure",
            layout={"width": "16em", "display": "none"},
        )
        self.picture = w.HTML()
        super().__init__([self.choice, self.top, self.picture])
        self.add_class("snhkit-plots")

    def offer(self, *, truth: bool, strata: bool = False) -> None:
        """Offer the figures without true counts, and the others if these may be shown.

        If there are ``strata``, small maps of them are offered.
        """
        divided = [_STRATA] if strata else []
        options = [*divided, _COUNTS, *((*_TAUGHT, _SCATTER) if truth else ())]
        if list(self.choice.options) != options:
            before = self.choice.value
            self.choice.options = options
            self.choice.value = before if before in options else options[0]

    def draw(
        self,
        session: Session,
        boxes: RangeQueries | None,
        sizes_m: tuple[float, float],
        *,
        truth: bool,
    ) -> None:
        """Draw the chosen figure again."""
        name = str(self.choice.value)
        self.top.layout.display = "" if name == _SCATTER else "none"
        if not session.built:
            self.picture.value = _note("Build a release to draw the figure here.")
        elif name == _STRATA:
            newest = next(one for one in reversed(session.built.values()) if one.by)
            self.picture.value = side_by_side(newest.surfaces, newest.name)
        elif name == _SCATTER and truth:
            figure = against_truth(teaching.scatter(session, sizes_m), self.top.value)
            self.picture.value = theme_svg(figure, name)
        elif name != _COUNTS and truth:
            self.picture.value = theme_svg(_TAUGHT[name](session, sizes_m), name)
        elif boxes is None or not len(boxes):
            self.picture.value = _note("Draw a box on the map to draw its counts here.")
        else:
            first = boxes[:_MOST_BOXES]
            picture = theme_svg(count_bars(_counts(session, first, truth=truth)), _COUNTS)
            more = len(boxes) - len(first)
            self.picture.value = picture + (
                _note(f"The table has {more} more boxes than this figure.") if more else ""
            )


def _counts(session: Session, boxes: RangeQueries, *, truth: bool) -> pd.DataFrame:
    told = {"truth": session.truth(boxes)} if truth else {}
    number = np.arange(1, len(boxes) + 1)
    found = session.estimates(boxes).items()
    return pd.concat([one.frame().assign(box=number, method=name, **told) for name, one in found])


def _note(text: str) -> str:
    return f'<p class="snhkit-soft">{html.escape(text)}</p>'
