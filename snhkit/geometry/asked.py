"""Boxes with their true counts: the one place where errors of answers are computed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snhkit.geometry.counts import exact_counts
from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.metrics import relative_errors

__all__ = ["Asked"]


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """Boxes with their true counts, with which the answers of releases are compared.

    Parameters
    ----------
    boxes : RangeQueries
        q boxes.
    counts : ndarray of int, shape (q,)
        The true count of each box, which only the owner of the records may see.
    n : int
        The total number of records.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> records = Points(city, [[10.0, 10.0], [60.0, 60.0]])
    >>> Asked.of(records, RangeQueries(city, [0, 50], [0, 0], [50, 50], [50, 50])).counts
    array([1, 0])
    """

    boxes: RangeQueries
    counts: NDArray[np.int64]
    n: int

    @classmethod
    def of(cls, truth: Points, boxes: RangeQueries) -> "Asked":
        """Return boxes with the number of records of ``truth`` in each box."""
        return cls(boxes, exact_counts(truth, boxes), len(truth))

    def relative_error(self, answers: NDArray[np.float64]) -> float:
        """Return the mean relative error of answers, shape (q,), with the smoothing of the paper.

        An error is divided by the true count, or by 0.1 % of ``n`` if the count is smaller.
        """
        return _mean(relative_errors(answers, self.counts, self.n))

    def absolute_error(self, answers: NDArray[np.float64]) -> float:
        """Return the mean absolute error of answers, shape (q,), in records."""
        return _mean(np.abs(answers - self.counts))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
