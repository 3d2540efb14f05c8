"""Good: noisy counts of a grid, and an attack on the place in which two data sets differ."""

from dataclasses import dataclass

import snhkit as snh
from snhkit.builders.base import publish
from snhkit.geometry import Grid
from snhkit.models import BlockNoise, GridModel


@dataclass(frozen=True)
class Squares:
    """Noisy counts of squares, for all of epsilon."""

    per_side: int

    def check(self, region, terms):
        pass

    def build(self, private):
        grid = Grid(private.region, self.per_side)
        counts, variance = private.histogram(grid, private.left)
        noise = BlockNoise.independent(self.per_side, variance)
        return publish(self, private, GridModel(grid, counts, noise))


mechanism = Squares(24)


def attack(release, without, included):
    """Guess that the last people of ``included`` were counted if their cell of the grid says so."""
    width = release.model.grid.cell_m
    x, y = included.xy[-1] // width * width
    cell = snh.RangeQueries(release.region, [x], [y], [width], [width])
    few, many = (snh.exact_counts(points, cell)[0] for points in (without, included))
    return bool(release.answer(cell)[0] > (few + many) / 2)
