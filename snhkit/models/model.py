"""The contract of everything that answers boxes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.geometry import Grid, Partition, RangeQueries, Region

__all__ = ["Model"]


@runtime_checkable
class Model(Protocol):
    """What a builder learned from noisy counts: arrays that answer boxes."""

    kind: ClassVar[str]

    @property
    def region(self) -> Region:
        """Where it can be asked."""
        ...

    def cells(self) -> Grid | Partition:
        """The cells that it is best drawn in: its own, if it has any."""
        ...

    def additive(self) -> "Model":
        """What polygons are put together from: the answers of its cells add up."""
        ...

    def answer(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Estimated counts, shape (q,)."""
        ...

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Variance of the noise in each answer, shape (q,); nan where no theory gives it."""
        ...

    @property
    def separate(self) -> bool:
        """Whether each of its cells is known to have noise independent of the others'."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """Everything learned, by name."""
        ...

    def settings(self) -> dict[str, Any]:
        """What else is needed to answer, as JSON values."""
        ...

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "Model":
        """Rebuild the model of a file, distrusting every part of it."""
        ...
