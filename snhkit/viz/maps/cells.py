"""The cells that a method chose, as outlines for a map."""

from typing import TYPE_CHECKING, Any

import numpy as np

from snhkit.geometry import Grid
from snhkit.release.polygon_model import PolygonModel

if TYPE_CHECKING:
    from snhkit.release import Release

__all__ = ["cell_outlines"]

_MOST = 60_000
_UNIT = 1e-6  # of a degree: 11 cm


def cell_outlines(release: "Release") -> tuple[dict[str, Any] | None, str]:
    """A release's own cells for the map, and a line about them.

    Each is drawn as the box in degrees through the middles of its edges.

    Returns
    -------
    dict or None
        Ready for JSON: ``corners`` holds south, west, north, east of one cell after the other, in
        units of ``unit`` degrees from ``origin``. None if there are too many to draw.
    str
        How many there are.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    >>> outlines, note = cell_outlines(data.release(snh.Identity(cell_m=1_243), epsilon=0.5))
    >>> len(outlines["corners"]), note
    (400, '100 equal cells of 1,243 m')
    """
    if isinstance(release.model, PolygonModel):
        return None, f"{len(release.model.partition):,} districts, shown as polygons elsewhere"
    cells = release.model.cells()
    if isinstance(cells, Grid):
        count, note = cells.m**2, f"{cells.m**2:,} equal cells of {cells.cell_m:,.0f} m"
    else:
        count = len(cells.x0)
        note = f"{count:,} cells"
    if count > _MOST:
        return None, f"{note}: too many to outline"
    lat, lon = np.moveaxis(cells.boxes().corners_in_degrees(), -1, 0)
    south, west, _, _ = release.region.bounds
    sides = (lat[:, :2] - south, lon[:, [0, 3]] - west, lat[:, 2:] - south, lon[:, 1:3] - west)
    steps = np.rint(np.stack([side.mean(axis=1) for side in sides], axis=1) / _UNIT)
    corners = steps.astype(int).ravel().tolist()
    return {"origin": [south, west], "unit": _UNIT, "corners": corners}, note
