"""One file a method: frozen hyperparameters that turn records into a release."""

from snhkit.builders.adaptive import AdaptiveGrid
from snhkit.builders.base import Builder, Terms
from snhkit.builders.identity import Identity
from snhkit.builders.pgm import PGM
from snhkit.builders.privtree import PrivTree
from snhkit.builders.quadtree import QuadTree
from snhkit.builders.uniform import UniformGrid

__all__ = [
    "PGM",
    "AdaptiveGrid",
    "Builder",
    "Identity",
    "PrivTree",
    "QuadTree",
    "Terms",
    "UniformGrid",
]
