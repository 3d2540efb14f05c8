"""Leaking: the counts have no noise. His attack ends in an error with signs for the terminal."""

from dataclasses import dataclass

from snhkit.builders.base import publish
from snhkit.geometry import Grid
from snhkit.models import BlockNoise, GridModel


@dataclass(frozen=True)
class Exact:
    """True counts of squares."""

    per_side: int

    def check(self, region, terms):
        pass

    def build(self, private):
        grid = Grid(private.region, self.per_side)
        _, variance = private.histogram(grid, private.left)
        noise = BlockNoise.independent(self.per_side, variance)
        return publish(self, private, GridModel(grid, private._source.count(grid).counts, noise))


mechanism = Exact(12)


def attack(release, without, included):
    raise ValueError("\x1b[2J\x1b]0;first place\x07")
