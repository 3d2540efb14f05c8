import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snhkit.geometry.counts import levels


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 12), st.integers(0, 50))
def test_each_item_below_the_limit_is_met_once(seed, n, q, largest):
    rng = np.random.default_rng(seed)
    rank = rng.integers(largest + 1, size=n)
    first, last = np.sort(rng.integers(n + 1, size=(2, q)), axis=0)
    limit = rng.integers(largest + 2, size=q)
    item = np.arange(n)
    met: list[list[int]] = [[] for _ in range(q)]
    for level in levels(rank, first, last, limit):
        item = item[level.order]
        for found, a, b, below in zip(met, level.first, level.last, level.below, strict=True):
            if below:
                found.extend(item[a:b])
    for found, a, b, top in zip(met, first, last, limit, strict=True):
        assert sorted(found) == [i for i in range(a, b) if rank[i] < top]
