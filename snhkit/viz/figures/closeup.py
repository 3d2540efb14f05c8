"""Figures of the cells around boxes, with counts as text, so that readers can add counts up."""

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.viz.maps.surface import COLOURS, UNIT, ColourScale, Surface

_MAX_CELLS = 24  # cells per side; more numbers would be illegible
_SLACK = 1e-9  # tolerance in cell widths; rounding errors of edges are smaller
_LUMA = (0.299, 0.587, 0.114)  # perceived brightness of red, green and blue
_LINES = ("-", "--", ":", "-.")
_COLOURS = (COLOURS[5], COLOURS[4], COLOURS[1], COLOURS[3])  # not on the maps' colour scale


def closeup_figure(
    surfaces: Mapping[str, Surface], boxes: RangeQueries, *, margin_m: float = 40.0
) -> Figure:
    """Draw the cells around boxes, each cell with its count as text, one map for each ``Surface``.

    Parameters
    ----------
    surfaces : mapping of str to Surface
        At least one surface (counts of a grid's cells), by title of its map. The maps are drawn
        side by side on one colour scale.
    boxes : RangeQueries
        Boxes to outline, each in its own colour and line style.
    margin_m : float
        The least distance from the boxes to the edge of a map, in metres. The map is enlarged to
        whole cells.

    Raises
    ------
    InputError
        If there is no surface or no box, or a side of a map would show more than 24 cells.

    Examples
    --------
    >>> from snhkit.geometry import Grid, Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> four = Surface(Grid(city, 2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> box = RangeQueries(city, [10], [10], [30], [60])
    >>> [text.get_text() for text in closeup_figure({"noisy": four}, box).axes[0].texts]
    ['1', '2', '3', '4']
    """
    if not surfaces or not len(boxes):
        raise InputError("closeup_figure: give at least one surface and one box.")
    scale = ColourScale.shared(surfaces.values())
    coarsest = max((surface.grid for surface in surfaces.values()), key=lambda grid: grid.cell_m)
    low, high = _span(boxes, margin_m, coarsest)
    figure = Figure(figsize=(4.6 * len(surfaces) + 0.2, 4.9), layout="constrained")
    axes = figure.subplots(1, len(surfaces), squeeze=False)[0]
    for axis, (name, surface) in zip(axes, surfaces.items(), strict=True):
        _numbers(axis, surface, scale, low, high)
        outline(axis, boxes)
        axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        axis.set_title(name, parse_math=False)
        axis.set_xlabel("m east")
    axes[0].set_ylabel("m north")
    return figure


def outline(axis: Axes, boxes: RangeQueries, per_unit_m: float = 1.0) -> None:
    """Draw the outlines of boxes, each in its own colour and line style, with a white halo."""
    rows = np.stack([boxes.x, boxes.y, boxes.width, boxes.height], axis=1) / per_unit_m
    for k, (x, y, width, height) in enumerate(rows):
        axis.add_patch(
            Rectangle(
                (x, y),
                width,
                height,
                fill=False,
                edgecolor=_COLOURS[k % len(_COLOURS)],
                linestyle=_LINES[k % len(_LINES)],
                linewidth=2.5,
                path_effects=[withStroke(linewidth=5, foreground="white")],
                zorder=3,
            )
        )


def finish_maps(figure: Figure, axes: Iterable[Axes], scale: ColourScale) -> None:
    """Label maps that are drawn in kilometres, and add the colour bar that they share."""
    for axis in axes:
        axis.set_xlabel("km east")
        axis.set_ylabel("km north")
        axis.locator_params(nbins=5)
        axis.label_outer()
    figure.colorbar(
        ScalarMappable(scale.norm, scale.cmap),
        ax=figure.axes,
        extend="both",
        ticks=list(scale.ticks),
        format="%g",
        label=UNIT,
    )


def _span(
    boxes: RangeQueries, margin_m: float, grid: Grid
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower-left and the upper-right corner of the cells shown, in metres."""
    corners = np.stack([boxes.x, boxes.y], axis=1)
    sides = np.stack([boxes.width, boxes.height], axis=1)
    low = np.floor((corners.min(axis=0) - margin_m) / grid.cell_m + _SLACK)
    high = np.ceil(((corners + sides).max(axis=0) + margin_m) / grid.cell_m - _SLACK)
    return np.maximum(low, 0) * grid.cell_m, np.minimum(high, grid.m) * grid.cell_m


def _numbers(
    axis: Axes,
    surface: Surface,
    scale: ColourScale,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Draw cells with their counts as text; raise InputError for more than 24 cells per side."""
    grid = surface.grid
    first = np.floor(low / grid.cell_m + _SLACK).astype(int)
    last = np.minimum(np.ceil(high / grid.cell_m - _SLACK).astype(int), grid.m)
    side = int((last - first).max())
    if side > _MAX_CELLS:
        raise InputError(
            f"closeup_figure: {side} cells per side are too many to read; at most {_MAX_CELLS} are "
            "shown. Use smaller boxes or a smaller margin_m."
        )
    shown = (slice(first[0], last[0]), slice(first[1], last[1]))
    colours = scale.palette[scale.levels(surface.density[shown])] / 255
    x, y = (grid.edges()[f : t + 1] for f, t in zip(first, last, strict=True))
    axis.pcolormesh(x, y, np.swapaxes(colours, 0, 1), edgecolor="white", linewidth=0.5)
    counts = surface.counts[shown]
    digits = 0 if np.all(counts == np.rint(counts)) else 1
    for (i, j), count in np.ndenumerate(counts):
        ground = colours[i, j]
        axis.text(
            x[i : i + 2].mean(),
            y[j : j + 2].mean(),
            f"{count:z.{digits}f}".replace("-", "\u2212"),
            ha="center",
            va="center",
            fontsize=11 if side <= 6 else 8,
            color="white" if ground @ _LUMA < 0.5 else "black",
            bbox={"boxstyle": "round,pad=0.25", "facecolor": ground, "edgecolor": "none"},
            clip_on=True,
            zorder=4,
        )
