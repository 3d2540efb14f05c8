"""Districts counted one by one: the partition that they are, and the model of their counts."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.districts.covering import MAX_NEAR, divided, refuse_tangled
from snhkit.districts.districts import Districts
from snhkit.districts.files import MAX_DISTRICTS
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region
from snhkit.geometry.counts import overlapping_pairs
from snhkit.geometry.histogram import Histogram, proven
from snhkit.models.model import OwnSums

OVERLAP_TOLERANCE = 1e-3
"""The largest allowed overlap of two polygons, as a share of the smaller one's area."""

_SAME = 1e-4  # shapes count as equal if all but this share of both areas is common
_ROUNDING = 1e-6  # areas that are a smaller share of the whole count as 0
_CORNERS = 2_048  # a polygon with more corners is compared with its neighbours in parts
_RECORDS, _PAIRS = 65_536, 4_096  # records, and pairs of shapes, that are looked up at a time
_ARRAYS = ("coordinates", "rings", "polygons", "districts")


@proven
class PolygonPartition:
    """A partition of a region into c disjoint polygons, and one cell "outside" for the rest.

    A record belongs to the first polygon that contains it or has it on its border, so it affects
    one count, and noise in all costs epsilon once: parallel composition (Dwork and Roth, "The
    Algorithmic Foundations of Differential Privacy", 2014, Sec. 3.5; McSherry, "Privacy integrated
    queries", 2009).
    """

    def __init__(self, region: Region, labels: Sequence[str], shapes: NDArray[Any]) -> None:
        self.region = region
        self.labels = tuple(labels)
        if len(self.labels) != len(shapes):
            raise InputError(
                "labels and shapes must have equal lengths, "
                f"not {len(self.labels)} and {len(shapes)}."
            )
        if not 1 <= len(shapes) <= MAX_DISTRICTS:
            raise InputError(
                f"there must be 1 to {MAX_DISTRICTS:,} districts, not {len(shapes):,}."
            )
        if len(set(self.labels)) < len(self.labels):
            twice = Counter(self.labels).most_common(1)[0][0]
            raise InputError(f"the label {twice!r} occurs more than once; give each its own label.")
        self.shapes = _multipolygons(shapes)
        shapely.prepare(self.shapes)
        areas = shapely.area(self.shapes)
        _refuse_others(region, self.labels, self.shapes, areas)
        self._tree = shapely.STRtree(self.shapes)
        self._prove_disjoint(areas)
        outside = region.side_m**2 - areas.sum()
        # Overlapping slivers could make the area outside negative.
        outside = outside if outside > _ROUNDING * region.side_m**2 else 0.0
        self.areas = np.append(areas, outside)
        self._bounds = shapely.bounds(self.shapes)
        self.areas.flags.writeable = self.shapes.flags.writeable = False

    @classmethod
    def of(cls, region: Region, districts: Districts) -> "PolygonPartition":
        """Return the partition of a region by districts, whose parts outside are cut off."""
        local = districts.inside(region)
        kept = np.flatnonzero(local.area_m2 > 0)
        if not kept.size:
            raise InputError(
                f"no district lies in the region of {region.side_m:g} m around "
                f"({region.lat:g}, {region.lon:g}); are the region's centre and side right, and "
                f"is {districts.rows.crs} the districts' CRS?"
            )
        return cls(region, [districts.labels[k] for k in kept], local.clipped[kept])

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"PolygonPartition({len(self):,} districts)"

    def assign(self, points: Points) -> NDArray[np.int64]:
        """Return the cell of each record: a polygon's number from 0, or c for "outside"."""
        self.region.refuse_other(points.region, "the points")
        cell = np.full(len(points), len(self), np.int64)
        for start in range(0, len(points), _RECORDS):
            xy = points.xy[start : start + _RECORDS]
            record, polygon = self._tree.query(shapely.points(xy))  # by bounding boxes
            x, y = xy[record].T
            inside = shapely.intersects_xy(self.shapes[polygon], x, y)
            np.minimum.at(cell, start + record[inside], polygon[inside])
        return cell

    def count(self, points: Points) -> Histogram:
        """Return the number of records in each polygon and outside all of them, shape (c + 1,)."""
        counts = np.bincount(self.assign(points), minlength=len(self) + 1)
        return Histogram(self, counts)

    def shares(
        self, shapes: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return pairs of shape and cell that overlap, and the share of the cell in the shape."""
        shapely.prepare(shapes)
        shape, cell = self._tree.query(shapes)  # by bounding boxes
        area = self._common_areas(shapes, shape, cell)
        own = shapely.area(shapes)
        same = (area >= (1 - _SAME) * self.areas[cell]) & (area >= (1 - _SAME) * own[shape])
        left = own - np.bincount(shape, area, len(shapes))
        left[shape[same]] = 0
        left[left < _ROUNDING * own] = 0
        whole = np.zeros(len(shapes), bool)
        whole[shape[same]] = True
        keep = (area > 0) & (same | ~whole[shape])
        share = np.where(same, 1.0, area / self.areas[cell])[keep]
        beyond = np.flatnonzero(left) if self.areas[-1] else np.zeros(0, np.int64)
        return (
            np.concatenate([shape[keep], beyond]),
            np.concatenate([cell[keep], np.full(len(beyond), len(self))]),
            np.concatenate([share, left[beyond] / (self.areas[-1] or 1)]),
        )

    def _common_areas(
        self, shapes: NDArray[Any], shape: NDArray[np.int64], cell: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the area that the shape and the cell of each pair have in common, shape (p,)."""
        low_x, low_y, high_x, high_y = self._bounds[cell].T
        west, south, east, north = shapely.bounds(shapes)[shape].T
        # For most pairs of a box and a small polygon, comparing the bounds is enough.
        within = (west <= low_x) & (south <= low_y) & (high_x <= east) & (high_y <= north)
        covered = within & _are_boxes(shapes)[shape]
        rest = np.flatnonzero(~covered)
        area = np.where(covered, self.areas[cell], 0.0)
        whole = shapely.covers(shapes[shape[rest]], self.shapes[cell[rest]])
        area[rest[whole]] = self.areas[cell[rest[whole]]]
        rest = rest[~whole]
        inside = shapely.covers(self.shapes[cell[rest]], shapes[shape[rest]])
        area[rest[inside]] = shapely.area(shapes[shape[rest[inside]]])
        rest = rest[~inside]
        rest = rest[shapely.intersects(self.shapes[cell[rest]], shapes[shape[rest]])]
        common = shapely.intersection(shapes[shape[rest]], self.shapes[cell[rest]])
        area[rest] = shapely.area(common)
        return area

    def _prove_disjoint(self, areas: NDArray[np.float64]) -> None:
        """Raise InputError if two polygons overlap by more than ``OVERLAP_TOLERANCE``."""
        if areas.sum() > (1 + OVERLAP_TOLERANCE) * self.region.side_m**2:
            raise InputError(
                "the districts overlap: together they are larger than the region; give every "
                "place to one district only."
            )
        if 2 * (pairs := overlapping_pairs(shapely.bounds(self.shapes))) > MAX_NEAR * len(self):
            raise InputError(
                f"the bounding boxes of the districts overlap in {pairs:,} pairs, too many to "
                "compare; are they thin and diagonal? Join neighbours with frame.dissolve(by=...)."
            )
        one, other = self._tree.query(self.shapes)  # by bounding boxes
        corners = shapely.get_num_coordinates(self.shapes)
        first = (corners[one] > corners[other]) | ((corners[one] == corners[other]) & (one < other))
        one, other = one[first], other[first]  # the larger first, since it is prepared
        near = shapely.intersects(self.shapes[one], self.shapes[other])
        some = np.union1d(one[near], other[near])
        owner, pieces = divided(self.shapes[some], _CORNERS)  # most pairs share a few corners only
        owner = some[owner]
        one, other = shapely.STRtree(pieces).query(pieces)  # by bounding boxes
        once = owner[one] < owner[other]
        one, other = one[once], other[once]
        common = np.zeros(len(one))
        for start in range(0, len(one), _PAIRS):
            part = slice(start, start + _PAIRS)
            both = shapely.intersection(pieces[one[part]], pieces[other[part]])
            common[part] = shapely.area(both)
        pair, which = np.unique(owner[one] * len(self) + owner[other], return_inverse=True)
        common = np.bincount(which, common, len(pair))
        one, other = np.divmod(pair, len(self))
        for k in np.flatnonzero(common > OVERLAP_TOLERANCE * np.minimum(areas[one], areas[other])):
            raise InputError(
                f"the districts {self.labels[one[k]]!r} and {self.labels[other[k]]!r} overlap "
                f"by {common[k]:,.0f} m²; give this area to one of them, as "
                "shape.difference(other_shape) does, or leave one out."
            )

    def arrays(self) -> dict[str, NDArray]:
        """Return the polygons as ragged arrays, which docs/file_format.md describes."""
        _, coordinates, starts = shapely.to_ragged_array(self.shapes)
        return {"coordinates": coordinates} | {
            name: np.asarray(start, np.int64)
            for name, start in zip(_ARRAYS[1:], starts, strict=True)
        }

    @classmethod
    def restore(
        cls, region: Region, labels: Sequence[str], arrays: Mapping[str, NDArray]
    ) -> "PolygonPartition":
        """Return the partition that a file's arrays describe, after a check."""
        if set(arrays) != set(_ARRAYS):
            raise InputError(
                f"districts must have the arrays {', '.join(_ARRAYS)}, not {sorted(arrays)}."
            )
        coordinates = arrays["coordinates"]
        if coordinates.ndim != 2 or coordinates.shape[1] != 2 or coordinates.dtype != np.float64:
            raise InputError(
                f"coordinates must be 64-bit floats of shape (v, 2), not "
                f"{coordinates.dtype} of shape {coordinates.shape}."
            )
        length = len(coordinates)
        for name, least in zip(_ARRAYS[1:], (4, 1, 1), strict=True):
            _refuse_starts(name, arrays[name], length, least)
            length = len(arrays[name]) - 1
        starts = arrays["rings"]
        if (coordinates[starts[:-1]] != coordinates[starts[1:] - 1]).any():
            raise InputError("a ring of the districts does not end where it starts.")
        try:
            shapes = shapely.from_ragged_array(
                shapely.GeometryType.MULTIPOLYGON,
                np.ascontiguousarray(coordinates),
                tuple(arrays[name].astype(np.int64) for name in _ARRAYS[1:]),
            )
        except shapely.errors.ShapelyError as error:
            raise InputError(f"the arrays of the districts are damaged ({error}).") from None
        refuse_tangled(shapes)
        found = cls(region, labels, shapes)
        for k in np.flatnonzero(~shapely.is_valid(shapes))[:1]:
            raise InputError(f"district {labels[k]!r} is not a valid polygon.")
        return found


def _are_boxes(shapes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each shape is an axis-parallel rectangle, shape (q,)."""
    west, south, east, north = shapely.bounds(shapes).T
    few = shapely.get_num_coordinates(shapes) == 5
    return few & (shapely.area(shapes) == (east - west) * (north - south))


def _multipolygons(shapes: NDArray[Any]) -> NDArray[Any]:
    """Return polygons as multipolygons, in the form that ``restore`` reads from a file."""
    kind = shapely.get_type_id(shapes)
    wanted = [shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON]
    for k in np.flatnonzero(~np.isin(kind, wanted))[:1]:
        raise InputError(f"district {k} (counted from 0) is not a polygon.")
    kind, coordinates, starts = shapely.to_ragged_array(shapes, include_z=False)
    if kind == shapely.GeometryType.POLYGON:
        starts = (*starts, np.arange(len(shapes) + 1))
    return shapely.from_ragged_array(shapely.GeometryType.MULTIPOLYGON, coordinates, starts)


def _refuse_others(
    region: Region, labels: Sequence[str], shapes: NDArray[Any], areas: NDArray[np.float64]
) -> None:
    """Raise InputError for the first polygon that is not inside the region, or has no area."""
    low_x, low_y, high_x, high_y = shapely.bounds(shapes).T
    inside = (low_x >= 0) & (low_y >= 0) & (high_x <= region.side_m) & (high_y <= region.side_m)
    for wrong, told in (
        (~inside, "extends beyond the region"),
        (~(areas > 0), "has no area"),
    ):
        for k in np.flatnonzero(wrong)[:1]:
            raise InputError(f"district {labels[k]!r} {told}.")


def _refuse_starts(name: str, starts: NDArray, length: int, least: int) -> None:
    """Raise InputError unless ``starts`` cuts ``length`` items into parts of ``least`` or more."""
    whole = starts.ndim == 1 and starts.dtype.kind == "i" and len(starts) >= 2
    if not whole or starts[0] != 0 or starts[-1] != length or (np.diff(starts) < least).any():
        raise InputError(f"the array {name} of the districts is damaged.")


_BOXES = 512  # boxes that are answered at a time
_MAX_DRAWN = 256  # cells per side, for maps


@dataclass(frozen=True, eq=False, repr=False)
class PolygonModel(OwnSums):
    """A model of noisy counts of c disjoint districts and, last, of all places outside them.

    Records are taken as evenly spread inside each, and outside all; counts have ``variance``.
    """

    partition: PolygonPartition
    values: NDArray[np.int64]
    variance: float
    kind: ClassVar[str] = "tessellation"

    @property
    def region(self) -> Region:
        """The region in which boxes can be answered."""
        return self.partition.region

    def cells(self) -> Grid:
        """Return a grid for maps, whose cells are a quarter as wide as the smallest district."""
        width = math.sqrt(self.partition.areas[:-1].min()) / 4
        return Grid.of_width(self.region, max(width, self.region.side_m / _MAX_DRAWN))

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the estimated count of each box, to which districts add their covered share."""
        return self._over_boxes(queries, lambda share, cell: share * self.values[cell])

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the variance of the noise in the answer to each box, shape (q,)."""
        return self._over_boxes(queries, lambda share, _: share**2 * self.variance)

    def _over_boxes(
        self, queries: RangeQueries, weighed: Callable[[NDArray, NDArray], NDArray]
    ) -> NDArray[np.float64]:
        """Return sums over the districts in each box of ``weighed``, of share and number."""
        found = np.zeros(len(queries))
        boxes = queries.clipped()
        rows = np.flatnonzero((boxes.width > 0) & (boxes.height > 0))
        for start in range(0, len(rows), _BOXES):
            some = rows[start : start + _BOXES]
            part = boxes[some]
            squares = shapely.box(part.x, part.y, part.x1, part.y1)
            shape, cell, share = self.partition.shares(squares)
            found[some] = np.bincount(shape, weighed(share, cell), len(some))
        return found

    @property
    def separate(self) -> bool:
        """True, because each count has independent noise."""
        return True

    @property
    def outside(self) -> int:
        """The noisy count of the records outside all districts."""
        return int(self.values[-1])

    def remarks(self) -> dict[str, str]:
        """Return the lines about the districts for the card of a release, by heading."""
        said = "a noisy count with standard error"
        return {
            "Districts": f"{len(self.partition):,}, each {said} {math.sqrt(self.variance):.3g}",
            "Outside": f"{self.outside:,} records lie in no district ({said} "
            f"{math.sqrt(self.variance):.3g})",
        }

    def arrays(self) -> dict[str, NDArray]:
        """Return the noisy counts and the arrays of the districts, for a release file."""
        return {"counts": self.values} | self.partition.arrays()

    def settings(self) -> dict[str, Any]:
        """Return the districts' labels and the variance of the noise, as JSON values for a file."""
        return {"labels": list(self.partition.labels), "variance": self.variance}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PolygonModel":
        """Return the model that a file's arrays and settings describe, after a check."""
        labels, variance = settings["labels"], float(settings["variance"])
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError("the labels of the districts must be a list of texts.")
        if not 0 <= variance < math.inf:
            raise InputError(
                f"the variance of the noise must be a finite number of at least 0, not {variance}."
            )
        counts = arrays["counts"]
        shapes = {name: array for name, array in arrays.items() if name != "counts"}
        if counts.shape != (len(labels) + 1,) or counts.dtype.kind != "i":
            raise InputError(
                f"counts must be {len(labels) + 1} whole numbers, one more than there are "
                f"districts, not {counts.dtype} of shape {counts.shape}."
            )
        return cls(PolygonPartition.restore(region, labels, shapes), counts, variance)
