"""Maps of releases, drawn in each release's own cells."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Points, RangeQueries
from snhkit.release import Release
from snhkit.viz.figures.closeup import finish_maps, outline
from snhkit.viz.maps.surface import ColourScale


def cells_figure(
    releases: Mapping[str, Release],
    boxes: RangeQueries | None = None,
    *,
    window_m: tuple[float, float, float] | None = None,
    invented: Points | None = None,
) -> Figure:
    """Draw maps of releases side by side, each in the release's own cells, on one colour scale.

    Parameters
    ----------
    releases : mapping of str to Release
        At least one release, by title of its map; all releases have the same region.
    boxes : RangeQueries, optional
        Boxes to outline on every map.
    window_m : (float, float, float), optional
        The west edge, the south edge and the width, in metres, of the square to show; by default,
        the region.
    invented : Points, optional
        Invented records to draw as dots. Never give private records, which the dots would reveal.

    Raises
    ------
    InputError
        If there is no release, or the releases' regions differ.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> tree = data.release(snh.PrivTree(), epsilon=0.5)
    >>> cells_figure({"PrivTree": tree}).axes[0].get_title()
    'PrivTree'
    """
    if len({release.region for release in releases.values()}) != 1:
        raise InputError(
            "cells_figure: give at least one release, and only releases of one region."
        )
    side_m = next(iter(releases.values())).region.side_m
    west, south, width = window_m or (0.0, 0.0, side_m)
    shown = np.array([west, south, west + width, south + width])
    cells = {name: _Cells.of(release, shown) for name, release in releases.items()}
    scale = _scale(list(cells.values()))
    figure = Figure(figsize=(3.9 * len(releases) + 1.1, 4.4), layout="compressed")
    axes = figure.subplots(1, len(releases), squeeze=False, sharex=True, sharey=True).ravel()
    for axis, (name, drawn) in zip(axes, cells.items(), strict=True):
        drawn.draw(axis, scale)
        if invented is not None:
            xy = invented.xy
            near = xy[((xy >= shown[:2]) & (xy < shown[2:])).all(axis=1)]
            axis.plot(*near.T / 1000, ".", color="white", markersize=1.5, markeredgewidth=0)
        if boxes is not None:
            outline(axis, boxes, per_unit_m=1000)
        axis.set_title(name, parse_math=False)
        axis.set_aspect("equal")
        axis.set_xlim(*shown[[0, 2]] / 1000)
        axis.set_ylim(*shown[[1, 3]] / 1000)
    finish_maps(figure, axes, scale)
    return figure


@dataclass(frozen=True)
class _Cells:
    """A release's cells in the square shown, and their density in records per hectare."""

    boxes: RangeQueries
    density: NDArray[np.float64]

    @classmethod
    def of(cls, release: Release, shown: NDArray) -> "_Cells":
        cells = release.model.cells().boxes()
        west, south, east, north = shown
        cells = cells[
            (cells.x < east)
            & (cells.y < north)
            & (cells.x + cells.width > west)
            & (cells.y + cells.height > south)
        ]
        return cls(cells, release.answer(cells) * 10_000 / (cells.width * cells.height))

    def draw(self, axis: Axes, scale: ColourScale) -> None:
        axis.add_collection(
            PolyCollection(
                list(_corners(self.boxes) / 1000),
                array=self.density,
                cmap=scale.cmap,
                norm=scale.norm,
                edgecolors="#8c8c8c",
                linewidths=0.3,
            )
        )


def _scale(drawn: list[_Cells]) -> ColourScale:
    """Return a colour scale whose top density is exceeded on about 1 % of the area."""
    density = np.concatenate([cells.density for cells in drawn])
    area = np.concatenate([cells.boxes.width * cells.boxes.height for cells in drawn])
    order = np.argsort(density)
    ground = np.cumsum(area[order])
    high = density[order][np.searchsorted(ground, 0.99 * ground[-1])]
    return ColourScale(top=float(f"{max(high, 1):.1g}"))


def _corners(boxes: RangeQueries) -> NDArray[np.float64]:
    """Return the corners of boxes in metres, shape (q, 4, 2)."""
    west, south = boxes.x, boxes.y
    east, north = west + boxes.width, south + boxes.height
    return np.stack(
        [np.stack([west, east, east, west], 1), np.stack([south, south, north, north], 1)], 2
    )
