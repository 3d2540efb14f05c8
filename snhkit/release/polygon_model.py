"""A model of noisy counts of districts, with records taken as evenly spread inside each."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.release.polygon_partition import PolygonPartition

__all__ = ["PolygonModel"]

_BOXES = 512  # boxes that are answered at a time
_MAX_DRAWN = 256  # cells per side, for maps


@dataclass(frozen=True, eq=False, repr=False)
class PolygonModel:
    """A model of noisy counts: one for each district, and one for all places outside the districts.

    Districts are disjoint polygons. Answers assume that records are spread evenly inside each
    district, and outside all of them.

    Parameters
    ----------
    partition : PolygonPartition
        The c districts.
    values : ndarray of int, shape (c + 1,)
        Noisy count of each district; the last is the count outside all districts.
    variance : float
        Variance of the noise of each count, in squared records.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> west = PolygonPartition(city, ["west"], np.array([shapely.box(0, 0, 50, 100)]))
    >>> model = PolygonModel(west, np.array([80, 20]), variance=2.0)
    >>> model.answer(RangeQueries(city, [0, 25], [0, 0], [50, 50], [100, 50]))
    array([80., 25.])
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
        """Return the grid on which maps show the counts; its cells are not the districts.

        A cell is about a quarter as wide as the smallest district. The districts themselves are
        ``partition.shapes``.
        """
        width = math.sqrt(self.partition.areas[:-1].min()) / 4
        return Grid.of_width(self.region, max(width, self.region.side_m / _MAX_DRAWN))

    def additive(self) -> "PolygonModel":
        """Return this model, because its answers to disjoint shapes add up."""
        return self

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the estimated count of each box, in records, shape (q,).

        A district that a box covers in part contributes its count, times the covered share of its
        area. The same holds for the part of the region outside all districts.
        """
        return self._over_boxes(queries, lambda share, cell: share * self.values[cell])

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the variance of the noise in the answer to each box, shape (q,)."""
        return self._over_boxes(queries, lambda share, _: share**2 * self.variance)

    def _over_boxes(
        self, queries: RangeQueries, weighed: Callable[[NDArray, NDArray], NDArray]
    ) -> NDArray[np.float64]:
        """Return sums over the districts in each box, clipped to the region, shape (q,).

        The function ``weighed`` takes the share of each district in a box, and its number.
        """
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
        """Check the arrays and settings of a release file, and return the model they describe.

        Raises
        ------
        InputError
            If a value is invalid.
        KeyError
            If the labels, the variance or the counts are missing.
        """
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
