"""The noise variance of models for which no formula of the variance is known."""

import numpy as np
from jaxtyping import Float

from snhkit.geometry import RangeQueries

__all__ = ["UnknownNoise", "unknown_variance"]


def unknown_variance(queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
    """Return nan for each of q boxes, shape (q,), for models whose noise variance is unknown.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> unknown_variance(RangeQueries(Region.around(lat=0, lon=0, side_m=9), [1], [2], [3], [4]))
    array([nan])
    """
    return np.full(len(queries), np.nan)


class UnknownNoise:
    """A base class of models whose noise variance is unknown, such as neural networks."""

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return nan for each box, shape (q,): the variance of the noise is unknown."""
        return unknown_variance(queries)

    @property
    def separate(self) -> bool:
        """False, since the counts of cells are not known to have independent noise."""
        return False
