"""Figures that several lectures draw: curves, histograms, dots of records, and tables of cells."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from snhkit.geometry import Points, RangeQueries
from snhkit.viz.figures.closeup import outline
from snhkit.viz.maps.surface import COLOURS

_FEW = 16  # a curve of at most so many points has a mark at each
_MARKS = ("o-", "s--", "^-.", "D:", "v-", "P--")
_LINES = ("-", "--", "-.", ":", "-", "--")
_GREYS = ("#000000", "#666666", "#999999")


def curves(
    tables: pd.DataFrame | Mapping[str, pd.DataFrame],
    *,
    log: str = "",
    percent: bool = False,
    lines: Mapping[str, float] | None = None,
    stars: Sequence[str] = (),
    bands: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    **labels: Any,
) -> Figure:
    """Draw the columns of tables against their index, in a panel for each title.

    ``log`` names the axes with a logarithmic scale, ``lines`` horizontal lines by their labels,
    ``stars`` the columns whose minimum gets a star, and ``bands`` the ends of an interval of each
    value. The labels are those of ``Axes.set``.
    """
    panels = {"": tables} if isinstance(tables, pd.DataFrame) else tables
    figure = Figure(
        figsize=(2.6 + (3.6 if len(panels) < 4 else 2.2) * len(panels), 3.7), layout="constrained"
    )
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axis, (title, table) in zip(axes, panels.items(), strict=True):
        few = table.count().max() <= _FEW
        looks = zip(cycle(_MARKS if few else _LINES), cycle(COLOURS), strict=False)
        for (name, column), (style, colour) in zip(table.items(), looks, strict=False):
            known = column.dropna()
            axis.plot(known.index, known, style, color=colour, label=str(name))
            if bands:
                ends = (np.asarray(end[name]) for end in bands)
                axis.fill_between(table.index, *ends, color=colour, alpha=0.15)
            if name in stars:
                axis.plot(column.idxmin(), column.min(), "*", color=colour, mec="black", ms=16)
        for (name, at), colour in zip((lines or {}).items(), _GREYS, strict=False):
            axis.axhline(at, color=colour, linestyle=":", label=name)
        axis.set_xscale("log" if "x" in log else "linear")
        axis.set_yscale("log" if "y" in log else "linear")
        if len(table) <= _FEW:
            ticks = list(table.index)[:: -(-len(table) // 8)]
            axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axis.set_xticks([], minor=True)
        axis.set(**({"title": title} if title else {}) | labels)
        axis.label_outer()
        if percent:
            axis.yaxis.set_major_formatter(lambda share, _: f"{100 * share:,.6g} %")
    _legend(figure)
    return figure


def histograms(
    values: Mapping[str, ArrayLike],
    edges: ArrayLike,
    *,
    lines: Mapping[str, float] | None = None,
    **labels: Any,
) -> Figure:
    """Draw histograms as steps in one panel, with vertical lines by their labels."""
    figure = Figure(figsize=(7.4, 3.3), layout="constrained")
    axis, bins = figure.subplots(), np.asarray(edges, float).tolist()
    for (name, drawn), style, colour in zip(values.items(), _LINES, COLOURS, strict=False):
        axis.hist(drawn, bins, histtype="step", lw=2, ls=style, color=colour, label=name)
    for (name, at), style, colour in zip((lines or {}).items(), _LINES, _GREYS, strict=False):
        axis.axvline(at, color=colour, linestyle=style, label=name)
    axis.set(**labels)
    _legend(figure)
    return figure


def dots(
    records: Points,
    panels: Mapping[str, RangeQueries | float],
    star: Sequence[float] | NDArray,
    window_m: tuple[float, float, float] | None = None,
) -> Figure:
    """Draw invented records as dots and a place as a star, with the boxes of each title.

    A number stands for the cells of a grid of this width. ``window_m`` has the west edge, the
    south edge and the width of the part to show.
    """
    west, south, side = window_m or (0, 0, records.region.side_m)
    figure = Figure(
        figsize=(max(3 * len(panels), 5), 5 if len(panels) == 1 else 3.3), layout="constrained"
    )
    for axis, (title, boxes) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        axis.plot(*records.xy.T, ".", markersize=1.5, color="#999999")
        axis.set(xticks=[], yticks=[])
        if isinstance(boxes, RangeQueries):
            outline(axis, boxes)
        else:
            edges = np.arange(0, records.region.side_m + boxes, boxes)
            axis.set_xticks(edges, [])
            axis.set_yticks(edges, [])
            axis.grid(True)
        axis.plot(*star, "*", markersize=14, color=COLOURS[5], mec="white", zorder=4)
        axis.set(title=title, xlim=(west, west + side), ylim=(south, south + side), aspect="equal")
    return figure


def pictures(
    cells: Mapping[str, NDArray], *, wrong: Mapping[str, NDArray] | None = None, log: bool = False
) -> Figure:
    """Draw tables of cells (i to the east, j to the north) side by side, with crosses on some."""
    figure = Figure(figsize=(3.4 * len(cells), 3.7), layout="constrained")
    for axis, (title, values) in zip(figure.subplots(1, len(cells)), cells.items(), strict=True):
        shown = axis.imshow(values.T, origin="lower", cmap="Blues", norm="log" if log else None)
        if log:
            figure.colorbar(shown, ax=axis, shrink=0.8)
        if wrong and title in wrong:
            axis.plot(*wrong[title].nonzero(), "x", color=COLOURS[5], markersize=7, mew=2)
        axis.set_title(title)
        axis.set_axis_off()
    return figure


def _legend(figure: Figure) -> None:
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper", frameon=False, fontsize=9)
