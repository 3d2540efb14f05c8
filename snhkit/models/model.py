"""The interface of a model: the part of a release that estimates counts of boxes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, RangeQueries, Region

_Own = TypeVar("_Own")


class OwnSums:
    """A base class of models whose own answers to disjoint boxes add up."""

    def additive(self: _Own) -> _Own:
        """Return this model, since its answers to disjoint boxes add up."""
        return self


@runtime_checkable
class Model(Protocol):
    """The interface of a model: the part of a release that estimates counts of boxes.

    A builder computes a model from noisy measurements only, so answers cost no epsilon.
    """

    kind: ClassVar[str]

    @property
    def region(self) -> Region:
        """The region that the model covers."""
        ...

    def cells(self) -> Grid | Partition:
        """Return the cells that a map of the model shows: the model's own cells, if any."""
        ...

    def additive(self) -> "Model":
        """Return a model for polygons: a model whose answers to disjoint boxes add up."""
        ...

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the estimated number of records in each of q boxes, shape (q,)."""
        ...

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of each answer, shape (q,); nan if the variance is unknown."""
        ...

    @property
    def separate(self) -> bool:
        """Whether the counts of different cells are known to have independent noise."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays that describe the model in a file, by name."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the values that, besides ``arrays``, describe the model in a file, as JSON."""
        ...

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "Model":
        """Return the model that a file describes; raise InputError if a part of it is invalid."""
        ...
