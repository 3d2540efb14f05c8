"""The regression of ParamSelect, from features to the best value."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import ExtraTreesRegressor

    Trees = ExtraTreesRegressor | TransformedTargetRegressor

__all__ = ["fitted", "unfitted"]


def unfitted(values: NDArray[np.float64]) -> "Trees":
    """Return extremely randomised trees with the paper's settings (Sec. 6.1) and a fixed seed.

    The trees average logarithms if all ``values`` are positive. In cross-validation on the
    published labels, averages of logarithms have errors that are a few percent smaller, and leaves
    with more than one label have larger errors.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import ExtraTreesRegressor

    trees = ExtraTreesRegressor(n_estimators=150, max_depth=7, random_state=0)
    if np.min(values) <= 0:
        return trees
    return TransformedTargetRegressor(trees, func=np.log, inverse_func=np.exp)


def fitted(phi: NDArray[np.float64], values: NDArray[np.float64]) -> "Trees":
    """Return trees fitted to values.

    Parameters
    ----------
    phi : ndarray, shape (q, 4) or (q, 5)
        The features.
    values : ndarray, shape (q,)
        The best values.
    """
    return unfitted(values).fit(phi, values)
