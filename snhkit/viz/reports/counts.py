"""The counts of a release as whole numbers in a page, where a script answers boxes from them."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, Region
from snhkit.models import GridModel, Model, PackedGridModel, PartitionModel
from snhkit.viz.maps.land import land

_STEPS = 65_536  # the edges of rectangles are stored as multiples of side / 65,536, if they are


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """Counts of the cells of a grid or of rectangles, as multiples of ``unit`` records."""

    values: NDArray  # shape (m, m) for a grid, (c,) for rectangles
    unit: float = 1.0
    edges: NDArray[np.float64] | None = None  # west, south, east and north in metres, (c, 4)
    snapped: bool = False  # edges of boxes are rounded to 2^-20 of a cell, as ``PackedCounts``

    @classmethod
    def of(cls, model: Model) -> "Counts | None":
        """Return the counts of a model; None if its answers are not sums over cells."""
        if isinstance(model, GridModel):
            return cls(model.values)
        if isinstance(model, PartitionModel):
            p = model.partition
            return cls(model.values, 1.0, np.stack([p.x0, p.y0, p.x1, p.y1], axis=1))
        if isinstance(model, PackedGridModel):
            return cls(model.counts.counts(), model.unit, snapped=True)
        return None

    @classmethod
    def rounded(cls, model: Model, most_cells: int, unit: float) -> "Counts":
        """Return a model's answers in ``unit``; running sums are rounded, so counts add up."""
        parts = model.additive()
        cells = parts.cells()
        m = min(cells.m, most_cells) if isinstance(cells, Grid) else most_cells
        answers = parts.answer(Grid(parts.region, m).boxes()).reshape(m, m)
        sums = np.rint(np.cumsum(answers, axis=1) / unit).astype(np.int64)
        return cls(np.diff(sums, axis=1, prepend=0), unit)

    def model(self, region: Region) -> Model:
        """Return the model whose answers a page's script repeats."""
        if self.edges is not None:
            return PartitionModel(Partition(region, *self.edges.T), self.values * self.unit)
        return GridModel(Grid(region, len(self.values)), self.values * self.unit)

    def described(self, name: str, side_m: float) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return the fields and the arrays for ``packed``; ``name`` begins their names."""
        fields: dict[str, Any] = {"values": f"{name}.values", "unit": self.unit}
        arrays = {f"{name}.values": self.values}
        if self.edges is None:
            fields |= {"m": len(self.values), "snapped": self.snapped}
            return fields, arrays
        steps = np.rint(self.edges / side_m * _STEPS)
        exact = (steps * (side_m / _STEPS) == self.edges).all()
        # One side after the other, whose numbers resemble each other and so compress well.
        edges = (np.minimum(steps, _STEPS) if exact else self.edges).T
        fields |= {"edges": f"{name}.edges", "step": side_m / _STEPS if exact else 1.0}
        return fields, arrays | {f"{name}.edges": edges}


def ground(region: Region) -> dict[str, Any]:
    """Return coasts, rings of flat lists x, y, ..., and [x, y, name] of places, in whole metres."""
    found, side = land(region), region.side_m
    shown = shapely.box(-0.02 * side, -0.02 * side, 1.02 * side, 1.02 * side)

    def metres(lonlat: NDArray[np.float64]) -> NDArray[np.float64]:
        return region.to_xy(lonlat[:, 1], lonlat[:, 0])

    shapes = shapely.from_geojson(json.dumps(found["shapes"]))
    inside = shapely.intersection(shapely.transform(shapely.get_parts(shapes), metres), shown)
    simple = shapely.simplify(inside, side / 2_000)
    polygons = [p for p in shapely.get_parts(simple) if p.geom_type.endswith("Polygon")]
    parts = shapely.get_parts(shapely.multipolygons(polygons)) if polygons else ()
    xy = [region.to_xy(lat, lon) for lat, lon, _, kind in found["names"] if kind == "place"]
    names = [name for _, _, name, kind in found["names"] if kind == "place"]
    near = [
        [round(float(x)), round(float(y)), name]
        for (x, y), name in zip(xy, names, strict=True)
        if 0 < x < side and 0 < y < side
    ]
    return {"land": list(map(rings, parts)), "names": near, "source": found["source"]}


def rings(shape: Any) -> list[list[int]]:
    """Return the rings of a polygon in whole metres, each a flat list x, y, x, y, ..."""
    parts = shapely.get_parts(shape)
    every = [ring for part in parts for ring in (part.exterior, *part.interiors)]
    return [np.rint(shapely.get_coordinates(ring)).astype(int).ravel().tolist() for ring in every]
