"""Maps of strata that are drawn to the pattern of a map of all strata, and add up to it."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from snhkit.models.packed_model import PackedGridModel

__all__ = ["drawn_together"]

_ROUNDS = 3
_PULL = 0.3  # the weight of the pattern of all strata against that of a stratum's own map


def drawn_together(
    whole: PackedGridModel, strata: Sequence[PackedGridModel], noise_scale: float
) -> Iterator[tuple[PackedGridModel, int]]:
    """Yield the model of each stratum, and its number of records, on the cells of ``whole``.

    The count of a cell in a stratum is at first the stratum's own plus 0.3 times the count that it
    would have if all strata had the same pattern. The counts are then scaled, in turns, so that
    each stratum keeps its share of the records and, last, that all add up to ``whole`` in each cell
    (iterative proportional fitting). They are rounded so finely that their sum is as exact as a map
    with noise of ``noise_scale``.
    """
    m, every = whole.grid.m, whole.values(whole.grid.m)
    sums = np.array([part.total for part in strata])
    share = sums / sums.sum() if sums.any() else np.full(len(sums), 1 / len(sums))
    own = _ratio(whole.total * share, sums)
    numbers = range(len(strata))

    def mixed(i: int) -> Float[np.ndarray, "m m"]:
        return own[i] * strata[i].values(m) + _PULL * share[i] * every

    fit, none = np.ones(len(sums)), np.zeros_like(every)
    for _ in range(_ROUNDS):
        factor = _ratio(every, sum((fit[i] * mixed(i) for i in numbers), none))
        fit = _ratio(whole.total * share, np.array([(mixed(i) * factor).sum() for i in numbers]))
    factor = _ratio(every, sum((fit[i] * mixed(i) for i in numbers), none))
    for i in numbers:
        counts = fit[i] * mixed(i) * factor
        n = float(counts.sum())
        yield PackedGridModel.of(whole.region, counts, noise_scale / len(strata), n), round(n)


def _ratio(
    wanted: Float[np.ndarray, "*s"], sums: Float[np.ndarray, "*s"]
) -> Float[np.ndarray, "*s"]:
    """Return by what to multiply sums to get the numbers that are wanted; 0 where nothing is."""
    return np.divide(wanted, sums, out=np.zeros_like(wanted), where=sums > 0)
