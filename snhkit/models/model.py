"""The interface of all models, which answer boxes from what a builder released."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, RangeQueries, Region

__all__ = ["Model"]


@runtime_checkable
class Model(Protocol):
    """Arrays that answer boxes, computed by a builder from noisy counts only."""

    kind: ClassVar[str]

    @property
    def region(self) -> Region:
        """The region in which boxes can be answered."""
        ...

    def cells(self) -> Grid | Partition:
        """Return the cells in which maps show the model: the model's own cells, if it has any."""
        ...

    def additive(self) -> "Model":
        """Return the model that answers polygons; its answers to disjoint boxes add up."""
        ...

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the estimated count of each box, in records, shape (q,)."""
        ...

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return the noise variance of each answer, shape (q,); nan where it is unknown."""
        ...

    @property
    def separate(self) -> bool:
        """Whether the cells are known to have independent noise."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of the model by name, for a file."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the settings that describe the model together with its arrays, as JSON values."""
        ...

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "Model":
        """Return the model that a file describes.

        Raises
        ------
        InputError
            If a part of the file is invalid.
        """
        ...
