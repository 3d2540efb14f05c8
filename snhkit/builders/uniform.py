"""The uniform grid (UG): a noisy grid whose cell width follows from n and epsilon."""

import math
from dataclasses import dataclass
from typing import ClassVar

from snhkit.builders.base import MAX_CELLS_PER_SIDE, publish
from snhkit.checks import positive
from snhkit.geometry import Grid, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import BlockNoise
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release


@dataclass(frozen=True)
class UniformGrid:
    """Noisy counts of an m by m grid with m = sqrt(n epsilon / c).

    More records or a larger epsilon give smaller cells. The rule balances two errors: the noise of
    the cells inside a box, and the error from assuming that records are uniform within the cells at
    the box's border. The rule ignores how clustered the records are, and its cells are too large
    for small boxes.

    Parameters
    ----------
    c : float
        The constant of the rule, greater than 0. A larger constant gives fewer cells.

    Raises
    ------
    InputError
        If ``c`` is not a positive, finite number.

    Examples
    --------
    >>> UniformGrid().cells_per_side(n=217_438, epsilon=0.2)
    66

    Notes
    -----
    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013.
    """

    c: float = 10.0
    gaussian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("c", self.c)

    def cells_per_side(self, n: int, epsilon: float) -> int:
        """Return the number m of cells per side, at least 1, for n records.

        ``epsilon`` is divided by the sensitivity, as ``Measurements.record_epsilon``.
        """
        return min(max(1, math.ceil(math.sqrt(n * epsilon / self.c))), MAX_CELLS_PER_SIDE)

    def check(self, region: Region, terms: Terms) -> None:
        """Do nothing, because the method works in every region and with all terms."""

    def build(self, private: Measurements) -> Release:
        """Return a release of noisy counts of the grid."""
        n = private.number()
        grid = Grid(private.region, self.cells_per_side(n, private.record_epsilon))
        counts, variance = private.histogram(grid, private.left)
        noise = BlockNoise.independent(grid.m, variance)
        return publish(self, private, GridModel(grid, counts, noise))
