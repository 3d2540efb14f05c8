"""Counts of points in cells that do not overlap; noise in all counts costs epsilon only once."""

from dataclasses import dataclass
from typing import Protocol, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry.points import Points
from snhkit.geometry.region import Region

_PROVEN: set[type] = set()
_Class = TypeVar("_Class", bound=type)


def proven(cls: _Class) -> _Class:
    """Mark a class whose constructor proves that its cells do not overlap, and return the class.

    Private records can be counted only in the cells of marked classes.
    """
    _PROVEN.add(cls)
    return cls


def refuse_unproven(cells: object) -> None:
    """Raise InputError if the class of an object is not marked by ``proven``."""
    if type(cells) not in _PROVEN:
        raise InputError(
            "only cells that are proven not to overlap can be counted: Grid, Partition or "
            f"PolygonPartition, not a {type(cells).__name__}."
        )


class Cells(Protocol):
    """A region divided into cells that do not overlap: a ``Grid`` or a ``Partition``."""

    @property
    def region(self) -> Region:
        """The region that is divided into cells."""
        ...

    def count(self, points: Points) -> "Histogram":
        """Return the number of points in each cell."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """The true number of points in each cell of a partition; each point is in exactly one cell.

    Noise in all counts of a ``Histogram`` costs epsilon only once (parallel composition). This
    holds for no other type. ``Grid.count`` and ``Partition.count`` return histograms, and
    ``merged`` returns coarser ones. For a grid, ``counts[i, j]`` is the count of the i-th column
    from the west and the j-th row from the south, shape (m, m); else the shape is (c,).

    >>> from snhkit.geometry import Grid, Points, Region
    >>> city = Region.around(lat=0, lon=0, side_m=2)
    >>> Grid(city, 2).count(Points(city, [[0, 0], [1, 0], [1, 1]])).counts
    array([[1, 0],
           [1, 1]])
    """

    partition: Union[Cells, "Merged"]
    counts: NDArray[np.int64]

    def merged(self, group: NDArray[np.int64]) -> "Histogram":
        """Return the number of points in each of g unions of cells.

        ``group`` has, in the shape of ``counts``, the index from 0 of the union of each cell, which
        must not depend on private records except through noisy counts; else InputError is raised.
        """
        if group.shape != self.counts.shape or group.dtype.kind not in "iu" or group.min() < 0:
            raise InputError(
                f"merged: group must have the shape {self.counts.shape} and contain a "
                "whole number, at least 0, for each cell."
            )
        sums = np.zeros(int(group.max()) + 1, np.int64)
        np.add.at(sums, group.ravel(), self.counts.ravel())
        return Histogram(Merged(self.partition, group), sums)


@dataclass(frozen=True, eq=False, repr=False)
class Merged:
    """Unions of a partition's cells, again a partition; ``group`` holds the union of each cell."""

    cells: Union[Cells, "Merged"]
    group: NDArray[np.int64]
