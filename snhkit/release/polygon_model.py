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

_BOXES = 512  # boxes that are answered at a time
_MAX_DRAWN = 256  # cells per side, for maps


@dataclass(frozen=True, eq=False, repr=False)
class PolygonModel:
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

    def additive(self) -> "PolygonModel":
        """Return this model, because its answers to disjoint shapes add up."""
        return self

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
