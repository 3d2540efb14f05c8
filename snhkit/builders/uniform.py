"""The uniform grid (UG): one grid whose cell width follows from n and epsilon."""

import math
from dataclasses import dataclass

from snhkit.builders.base import MOST_CELLS, Terms, noisy_grid, positive, publish, with_n
from snhkit.geometry import Grid, Points, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.grid_noise import BlockNoise
from snhkit.privacy import noise_variance
from snhkit.release import Release

__all__ = ["UniformGrid"]


@dataclass(frozen=True)
class UniformGrid:
    """Noisy counts of an m by m grid with m = sqrt(n epsilon / c).

    More records or a larger epsilon pay for finer cells. The rule balances the noise of the cells
    inside a box against the error of taking the cells at its border to be uniform. It knows
    nothing about how clustered a city is, and is far too coarse for small boxes.

    Parameters
    ----------
    c : float
        The rule's constant.

    Examples
    --------
    >>> UniformGrid().cells_per_side(n=217_438, epsilon=0.2)
    66

    Notes
    -----
    Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013.
    """

    c: float = 10.0

    def __post_init__(self) -> None:
        positive("c", self.c)

    def cells_per_side(self, n: int, epsilon: float) -> int:
        """The rule's m, for epsilon per record; at most as many as a grid can have."""
        return min(max(1, math.ceil(math.sqrt(n * epsilon / self.c))), MOST_CELLS)

    def check(self, region: Region, terms: Terms) -> None:
        """Any terms will do."""

    def build(self, records: Points, terms: Terms) -> Release:
        """Count and add noise."""
        n, left, bought = with_n(records, terms)
        grid = Grid(records.region, self.cells_per_side(n, left.record_epsilon))
        noisy, spend = noisy_grid(records, grid, left)
        variance = noise_variance(spend.epsilon, left.unit.sensitivity)
        model = GridModel(grid, noisy, BlockNoise.independent(grid.m, variance))
        return publish(self, terms, (*bought, spend), model, n)
