"""Regions, points, boxes, grids and partitions, in metres in the projection of a region."""

from snhkit.geometry.counts import Asked, exact_counts
from snhkit.geometry.grid import Grid, SummedArea
from snhkit.geometry.histogram import Histogram
from snhkit.geometry.partition import Partition
from snhkit.geometry.points import Points
from snhkit.geometry.queries import RangeQueries
from snhkit.geometry.region import Region
from snhkit.geometry.strata import By

__all__ = [
    "Asked",
    "By",
    "Grid",
    "Histogram",
    "Partition",
    "Points",
    "RangeQueries",
    "Region",
    "SummedArea",
    "exact_counts",
]
