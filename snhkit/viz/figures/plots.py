"""Figures that compare releases: maps side by side, and bars of errors."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries
from snhkit.release import Release
from snhkit.viz.figures.closeup import finish_maps, outline
from snhkit.viz.figures.curves import need_columns
from snhkit.viz.figures.style import method_styles
from snhkit.viz.maps.surface import ColourScale, Surface


def surface_figure(
    releases: Mapping[str, Release | Surface],
    boxes: RangeQueries | None = None,
    *,
    cell_m: float | None = None,
    columns: int = 3,
    colours: str = "viridis",
) -> Figure:
    """Draw maps of released counts side by side, on one colour scale.

    Parameters
    ----------
    releases : mapping of str to Release or Surface
        At least one release or surface (counts of a grid's cells), by title of its map. A surface
        is drawn in its own cells.
    boxes : RangeQueries, optional
        Boxes to outline on every map.
    cell_m : float, optional
        Width of the cells in which releases are drawn, in metres; by default, the smallest of 1, 2,
        5, 10, ... metres with at most 150 cells per side.
    columns : int
        The largest number of maps in a row.
    colours : str
        Name of a colormap of matplotlib.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If there is no release.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.UniformGrid(), epsilon=0.5)
    >>> surface_figure({"UG": release}).axes[0].get_title()
    'UG'
    """
    if not releases:
        raise InputError("surface_figure: there is no release to show; give at least one.")
    surfaces = {
        name: given if isinstance(given, Surface) else Surface.drawn(given, cell_m)
        for name, given in releases.items()
    }
    scale = replace(ColourScale.shared(surfaces.values()), colours=colours)
    columns = min(columns, len(surfaces))
    rows = -(-len(surfaces) // columns)
    figure = Figure(figsize=(3.2 * columns + 1.2, 3.5 * rows), layout="compressed")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axis in axes[len(surfaces) :]:
        axis.set_axis_off()
    for axis, (name, surface) in zip(axes, surfaces.items(), strict=False):
        side_km = surface.grid.region.side_m / 1000
        axis.imshow(
            surface.density.T,
            origin="lower",
            extent=(0, side_km, 0, side_km),
            cmap=scale.cmap,
            norm=scale.norm,
            interpolation="nearest",
        )
        if boxes is not None:
            outline(axis, boxes, per_unit_m=1000)
        axis.set_title(name, parse_math=False)
    finish_maps(figure, axes[: len(surfaces)], scale)
    return figure


def error_bars(table: pd.DataFrame) -> Figure:
    """Draw the mean relative error of each method, with one group of bars for each epsilon.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``epsilon`` and ``rel_error`` (1 is 100 %). The errors are
        computed from the true records, so the figure is for the owner of the records only.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If a column is missing or there is no row.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["UG"], "epsilon": [0.2], "rel_error": [0.2]})
    >>> error_bars(table).axes[0].get_ylabel()
    'mean relative error'
    """
    need_columns("error_bars", table, "method", "epsilon", "rel_error")
    wide = table.pivot_table(index="epsilon", columns="method", values="rel_error", sort=False)
    wide = wide.sort_index()
    figure = Figure(figsize=(max(4.5, 1.5 + 0.5 * wide.size) + 1.8, 3.4), layout="constrained")
    axis = figure.subplots()
    width = 0.8 / wide.shape[1]
    styles = method_styles(wide.columns)
    for k, name in enumerate(wide.columns):
        at = [group + (k + 0.5) * width - 0.4 for group in range(len(wide))]
        bars = axis.bar(
            at,
            wide[name],
            width,
            label=str(name),
            edgecolor="white",
            **styles[name].bar,
        )
        axis.bar_label(bars, fmt="{:.1%}", fontsize=8, padding=2)
    axis.set_xticks(range(len(wide)), [f"ε = {epsilon:g}" for epsilon in wide.index])
    axis.set_ylabel("mean relative error")
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(y=0.12)
    # Below the axes, names were cut off.
    for text in figure.legend(frameon=False, loc="outside right upper").get_texts():
        text.set_parse_math(False)
    return figure
