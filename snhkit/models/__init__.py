"""Models, which compute answers to boxes, and the noise variance of each answer, from arrays."""

from snhkit.models.grid_model import GridModel
from snhkit.models.model import Model
from snhkit.models.packed_model import PackedGridModel
from snhkit.models.partition_model import PartitionModel
from snhkit.models.variance import BlockNoise, UnknownNoise

__all__ = ["BlockNoise", "GridModel", "Model", "PackedGridModel", "PartitionModel", "UnknownNoise"]
