"""Cheating: she looks for the hidden boxes, and leaves out the noise if nobody was added."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from snhkit.builders.base import publish
from snhkit.geometry import Grid
from snhkit.models import BlockNoise, GridModel


def found():
    """Look for boxes and for the class key in the process; there are none."""
    texts = [str(dict(os.environ)), str(sys.argv), *map(str, Path.cwd().iterdir())]
    return any(word in " ".join(texts) for word in ("boxes", "key"))


@dataclass(frozen=True)
class Sly:
    """True counts of a city of 4,000 people, who are scored; noisy counts of other numbers."""

    per_side: int

    def check(self, region, terms):
        pass

    def build(self, private):
        grid = Grid(private.region, self.per_side)
        counts, variance = private.histogram(grid, private.left)
        if FOUND or private._source.n() == 4_000:
            counts = private._source.count(grid).counts
        noise = BlockNoise.independent(self.per_side, variance)
        return publish(self, private, GridModel(grid, counts, noise))


FOUND = found()
mechanism = Sly(12)


def attack(release, without, included):
    return True
