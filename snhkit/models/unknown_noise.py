"""Models for whose noise there is no formula."""

import numpy as np
from jaxtyping import Float

from snhkit.geometry import RangeQueries

__all__ = ["UnknownNoise", "unknown_variance"]


def unknown_variance(queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
    """Return nan for each box, shape (q,): the noise variance of models without a formula.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> unknown_variance(RangeQueries(Region.around(lat=0, lon=0, side_m=9), [1], [2], [3], [4]))
    array([nan])
    """
    return np.full(len(queries), np.nan)


class UnknownNoise:
    """The noise of a ``Model`` without a formula for its variance, such as neural networks."""

    def noise_variance(self, queries: RangeQueries) -> Float[np.ndarray, " {len(queries)}"]:
        """Return nan for each box, shape (q,): the variance of the noise is unknown."""
        return unknown_variance(queries)

    @property
    def separate(self) -> bool:
        """False: the cells are not known to have independent noise."""
        return False
