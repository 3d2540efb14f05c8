"""Releases side by side, against the truth: for the owner's eyes."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from snhkit.geometry import Points, RangeQueries, exact_counts
from snhkit.metrics import relative_errors
from snhkit.release import Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OWNER_ONLY", "compare"]

OWNER_ONLY = (
    "For the owner's eyes: these errors are computed from the true records, "
    "no privacy was paid for them, and they must not be published."
)


def compare(
    releases: Mapping[str, Release], queries: RangeQueries, *, truth: Points
) -> "pd.DataFrame":
    """Measure how wrong, how fast and how large releases are.

    The result is computed from the true records without privacy: it is for their owner, and
    must not be published.

    Parameters
    ----------
    releases : mapping of str to Release
        By the name to show.
    queries : RangeQueries
        What to ask.
    truth : Points
        The true records.

    Returns
    -------
    DataFrame
        One row a release: ``method``, ``epsilon``, ``rel_error`` (mean relative error with the
        paper's smoothing), ``abs_error`` (mean, in records), ``query_us`` (microseconds a query,
        asked together) and ``bytes`` (of the saved file).

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=10_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    >>> releases = {"UG": data.release(snh.UniformGrid(), epsilon=0.5)}
    >>> boxes = snh.RangeQueries.sample(records, 100)
    >>> list(snh.compare(releases, boxes, truth=records).columns)
    ['method', 'epsilon', 'rel_error', 'abs_error', 'query_us', 'bytes']
    """
    import pandas as pd

    counts = exact_counts(truth, queries)
    rows = [_row(name, r, queries, counts, len(truth)) for name, r in releases.items()]
    table = pd.DataFrame(
        rows, columns=["method", "epsilon", "rel_error", "abs_error", "query_us", "bytes"]
    )
    table.attrs["warning"] = OWNER_ONLY
    return table


def _row(
    name: str, release: Release, queries: RangeQueries, counts: np.ndarray, n: int
) -> tuple[str, float, float, float, float, int]:
    release.answer(queries)  # whatever is compiled or cached at first use is not a query's cost
    start = time.perf_counter()
    answers = release.answer(queries)
    seconds = time.perf_counter() - start
    return (
        name,
        float(release.epsilon),
        float(relative_errors(answers, counts, n).mean()),
        float(np.abs(answers - counts).mean()),
        1e6 * seconds / max(len(queries), 1),
        len(release.to_bytes()),
    )
