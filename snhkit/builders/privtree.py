"""PrivTree: a quadtree that is deep where the crowds are, with no depth to choose."""

from dataclasses import dataclass

from snhkit.builders.base import Terms, publish, whole
from snhkit.errors import InputError
from snhkit.geometry import Partition, Points, Region
from snhkit.geometry.dyadic import squares_at
from snhkit.geometry.partition import MAX_DEPTH
from snhkit.models.cell_noise import CellNoise
from snhkit.models.partition_model import PartitionModel
from snhkit.privacy import noise_variance, noisy_histogram, noisy_splits
from snhkit.release import Release

__all__ = ["PrivTree"]

_MOST_CELLS = 2**20


@dataclass(frozen=True)
class PrivTree:
    """A quadtree that splits a square while it seems to hold more than noise.

    Half of epsilon decides which squares are split into quarters, by noisy counts. From each count
    a little more is taken the deeper the square lies, which makes the cost of the whole tree the
    same however deep it grows. The other half buys counts of the squares that were not split; the
    count of any larger square is their sum.

    The whole region is split without asking. That is no secret, and all other squares then count
    as one level less deep than in the paper.

    Parameters
    ----------
    max_depth : int
        Squares are halved at most so many times: to less than a metre in a city by default.

    Notes
    -----
    Zhang, Xiao and Xie, "PrivTree: A Differentially Private Algorithm for Hierarchical
    Decompositions", SIGMOD 2016, with fanout 4 and theta = 0.
    """

    max_depth: int = 14

    def __post_init__(self) -> None:
        whole("max_depth", self.max_depth, least=0)
        if self.max_depth > MAX_DEPTH:
            raise InputError(f"max_depth must be at most {MAX_DEPTH}, not {self.max_depth}.")

    def check(self, region: Region, terms: Terms) -> None:
        """Any terms will do."""

    def build(self, records: Points, terms: Terms) -> Release:
        """Split, then count."""
        half, how = terms.epsilon / 2, (terms.unit.sensitivity, terms.entropy)
        depth, number, first = noisy_splits(records, self.max_depth, _MOST_CELLS, half, *how)
        cells = Partition.dyadic(records.region, depth, *squares_at(number))
        counts, second = noisy_histogram(cells.count(records), half, *how)
        noise = CellNoise(noise_variance(half, terms.unit.sensitivity))
        return publish(self, terms, (first, second), PartitionModel(cells, counts, noise))
