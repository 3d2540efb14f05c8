"""Outlines, for a map, of the cells in which a release counts records."""

from typing import TYPE_CHECKING, Any

import numpy as np

from snhkit.geometry import Grid
from snhkit.release.polygon_model import PolygonModel

if TYPE_CHECKING:
    from snhkit.release import Release

__all__ = ["cell_outlines"]

_MAX_CELLS = 60_000
_UNIT = 1e-6  # degrees, at most 11 cm


def cell_outlines(release: "Release") -> tuple[dict[str, Any] | None, str]:
    """Return the outlines of the cells in which a release counts records, and a note on them.

    ``corners`` holds, for each cell, the whole steps of ``unit`` degrees from ``origin``, the
    region's south-west corner, to its south, west, north and east side. The outlines are None if
    the cells are districts or too many to draw.
    """
    if isinstance(release.model, PolygonModel):
        return None, f"{len(release.model.partition):,} districts, which are not outlined as cells"
    cells = release.model.cells()
    if isinstance(cells, Grid):
        count, note = cells.m**2, f"{cells.m**2:,} equal cells of {cells.cell_m:,.0f} m"
    else:
        count = len(cells.x0)
        note = f"{count:,} cells"
    if count > _MAX_CELLS:
        return None, f"{note}: too many to outline"
    lat, lon = np.moveaxis(cells.boxes().corners_in_degrees(), -1, 0)
    south, west, _, _ = release.region.bounds
    sides = (lat[:, :2] - south, lon[:, [0, 3]] - west, lat[:, 2:] - south, lon[:, 1:3] - west)
    steps = np.rint(np.stack([side.mean(axis=1) for side in sides], axis=1) / _UNIT)
    corners = steps.astype(int).ravel().tolist()
    return {"origin": [south, west], "unit": _UNIT, "corners": corners}, note
