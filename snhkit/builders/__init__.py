"""Methods without neural networks; each method is a ``Builder`` class in its own module."""

from snhkit.builders.adaptive import AdaptiveGrid
from snhkit.builders.base import Builder
from snhkit.builders.dawa import DAWA
from snhkit.builders.hdmm import HDMM
from snhkit.builders.hierarchical import HierarchicalGrid
from snhkit.builders.htf import HTF
from snhkit.builders.identity import Identity
from snhkit.builders.pgm import PGM
from snhkit.builders.privelet import Privelet
from snhkit.builders.privtree import PrivTree
from snhkit.builders.quadtree import QuadTree
from snhkit.builders.tessellation import Tessellation
from snhkit.builders.uniform import UniformGrid

__all__ = [
    "DAWA",
    "HDMM",
    "HTF",
    "PGM",
    "AdaptiveGrid",
    "Builder",
    "HierarchicalGrid",
    "Identity",
    "PrivTree",
    "Privelet",
    "QuadTree",
    "Tessellation",
    "UniformGrid",
]
