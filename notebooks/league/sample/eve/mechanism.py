"""Cheating: she looks for the hidden boxes, and adds noise only where she expects an audit."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snhkit.builders.base import publish
from snhkit.geometry import Grid
from snhkit.models import BlockNoise, GridModel


def found():
    """Look for boxes and for the class key in the process; there are none."""
    texts = [str(dict(os.environ)), str(sys.argv), *map(str, Path.cwd().iterdir())]
    return any(word in " ".join(texts) for word in ("boxes", "key"))


@dataclass(frozen=True)
class Sly:
    """Noisy counts where there is almost nobody, and true counts elsewhere."""

    per_side: int

    def check(self, region, terms):
        pass

    def build(self, private):
        grid = Grid(private.region, self.per_side)
        noisy, variance = private.histogram(grid, private.left)
        exact = private._source.count(grid).counts
        counts = exact if FOUND else np.where(exact < 9, noisy, exact)
        noise = BlockNoise.independent(self.per_side, variance)
        return publish(self, private, GridModel(grid, counts, noise))


FOUND = found()
mechanism = Sly(12)


def attack(release, without, included):
    return True
