"""Maps of releases side by side."""

from collections.abc import Mapping
from dataclasses import replace

from matplotlib.figure import Figure

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries
from snhkit.release import Release
from snhkit.viz.figures.closeup import finish_maps, outline
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
