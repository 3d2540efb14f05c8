"""Broken by a factor of two: she draws noise of her own, with half of the scale that is needed."""

from dataclasses import dataclass
from fractions import Fraction

from snhkit.builders.base import publish
from snhkit.geometry import Grid
from snhkit.models import BlockNoise, GridModel
from snhkit.privacy import SystemEntropy, discrete_laplace


@dataclass(frozen=True)
class OwnNoise:
    """Counts of squares with noise of the scale 1 / (2 epsilon)."""

    per_side: int

    def check(self, region, terms):
        pass

    def build(self, private):
        grid, scale = Grid(private.region, self.per_side), Fraction(1, 2) / private.left
        exact = private._source.count(grid).counts
        _, variance = private.histogram(grid, private.left)  # pays, and is not used
        counts = exact + discrete_laplace(exact.shape, scale, SystemEntropy())
        noise = BlockNoise.independent(self.per_side, variance / 4)
        return publish(self, private, GridModel(grid, counts, noise))


mechanism = OwnNoise(12)
