"""The initial counts of the map that the networks share: the noisy grid, smoothed."""

import itertools

import numpy as np
from jaxtyping import Float

__all__ = ["start_map"]

_WINDOWS = (1, 3, 9, 27)  # cells per side of the windows of local means


def start_map(counts: Float[np.ndarray, "m m"], noise_scale: float) -> Float[np.ndarray, "m m"]:
    """Return the initial counts of the shared map, shape (m, m).

    The initial counts are the noisy counts, smoothed by a local Wiener filter at three scales. The
    noisy count of a cell is the mean over the 27 by 27 cells around the cell, plus three
    differences: of the means over 9 by 9 and 27 by 27 cells, of the means over 3 by 3 and 9 by 9
    cells, and of the count and the mean over 3 by 3 cells. The filter multiplies each difference by
    the share of the difference's local variance that noise does not explain. Where noise explains
    everything, the mean over 27 by 27 cells remains; without noise, the result is equal to the
    counts. Where there is no training square, the map keeps these values.

    Parameters
    ----------
    counts : ndarray, shape (m, m)
        The noisy counts of the cells.
    noise_scale : float
        The scale of the noise in one cell, in records.
    """
    from scipy.ndimage import uniform_filter

    noise = 2 * noise_scale**2
    means = [uniform_filter(counts, side, mode="reflect") for side in _WINDOWS]
    found = means[-1]
    for (fine, wide), (here, around) in zip(
        itertools.pairwise(_WINDOWS), itertools.pairwise(means), strict=True
    ):
        added = here - around
        variance = uniform_filter(added**2, wide, mode="reflect")
        by_noise = noise * (fine**-2.0 - wide**-2.0)
        kept = np.maximum(variance - by_noise, 0) / np.maximum(variance, np.finfo(float).tiny)
        found = found + kept * added
    return found
