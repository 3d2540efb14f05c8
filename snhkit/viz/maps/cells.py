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

    The outline of a cell is the box in degrees whose sides pass through the midpoints of the cell's
    edges.

    Parameters
    ----------
    release : Release
        The release.

    Returns
    -------
    outlines : dict or None
        JSON values: ``origin``, the latitude and longitude of the region's south-west corner;
        ``unit``, a step in degrees; and ``corners``, a flat list with four whole numbers for each
        cell, the steps from ``origin`` to the cell's south, west, north and east side. None if the
        cells are districts, or if there are more than 60,000 cells.
    note : str
        A text for the map that gives the number of cells.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> outlines, note = cell_outlines(data.release(snh.Identity(cell_m=1_243), epsilon=0.5))
    >>> len(outlines["corners"]), note
    (400, '100 equal cells of 1,243 m')
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
