"""Tables of the errors of releases, computed from the true records, for their owner only."""

import time
from collections.abc import Mapping

import pandas as pd

from snhkit.data.counting.exact import ExactCounts
from snhkit.experiment.evaluation import SizeBand, adds_up, anywhere, asked, bands_in
from snhkit.geometry import Asked, Points, RangeQueries
from snhkit.metrics import band_name
from snhkit.release import Release

OWNER_ONLY = (
    "For the owner of the records only: these errors were computed from the true records without "
    "privacy, and must not be published."
)
"""The warning that is stored with every table of errors."""

_COLUMNS = (
    "method",
    "epsilon",
    "rel_error",
    "abs_error",
    "abs_error_anywhere",
    "adds_up",
    "query_us",
    "bytes",
)
_SIZE_COLUMNS = (
    "method",
    "epsilon",
    "size",
    "from_m",
    "to_m",
    "rel_error",
    "abs_error_anywhere",
)


def compare(
    releases: Mapping[str, Release], queries: RangeQueries, *, truth: Points | ExactCounts
) -> pd.DataFrame:
    """Return a table of the errors, the additivity, the speed and the file size of releases.

    The table is computed from the true records without privacy. It is for the owner of the records
    only, and must not be published.

    Parameters
    ----------
    releases : mapping of str to Release
        The releases, by the name that the table shows.
    queries : RangeQueries
        q boxes to answer, usually around records.
    truth : Points or ExactCounts
        The true records, in memory or, as ``scan_points`` returns them, in files.

    Returns
    -------
    DataFrame
        One row for each release, with the columns

        - ``method``, the name of the release, and ``epsilon``;
        - ``rel_error``, the mean relative error of ``queries``, with the smoothing of
          ``relative_errors``;
        - ``abs_error``, the mean absolute error of ``queries`` in records;
        - ``abs_error_anywhere``, the mean absolute error in records of boxes of the same sizes
          placed uniformly in the region, most of which hold few records;
        - ``adds_up``, the sum of the answers for squares of about 100 m that cover the region,
          divided by the number of records; the quotient is near 1 if answers add up;
        - ``query_us``, the time for one query in microseconds, if all q are answered in one call;
        - ``bytes``, the size of the saved file.

    Raises
    ------
    InputError
        If ``queries`` or ``truth`` lie in another region than a release.

    See Also
    --------
    compare_sizes : Errors of random squares, for each of several ranges of sizes.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=10_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> releases = {"UG": data.release(snh.UniformGrid(), epsilon=0.5)}
    >>> boxes = snh.RangeQueries.sample(records, 100)
    >>> list(snh.compare(releases, boxes, truth=records).columns)[:6]
    ['method', 'epsilon', 'rel_error', 'abs_error', 'abs_error_anywhere', 'adds_up']
    """
    around, elsewhere = asked(truth, queries), asked(truth, anywhere(queries))
    rows = [_row(name, release, around, elsewhere) for name, release in releases.items()]
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    table.attrs["warning"] = OWNER_ONLY
    return table


def compare_sizes(
    releases: Mapping[str, Release],
    *,
    truth: Points | ExactCounts,
    count: int = 1_000,
) -> pd.DataFrame:
    """Return a table of the errors of releases for small and for large squares.

    The table is computed from the true records without privacy. It is for the owner of the records
    only, and must not be published.

    Parameters
    ----------
    releases : mapping of str to Release
        The releases, by the name that the table shows.
    truth : Points or ExactCounts
        The true records, in memory or, as ``scan_points`` returns them, in files.
    count : int
        The number of squares centred on records for each band. As many are placed anywhere in the
        region.

    Returns
    -------
    DataFrame
        One row for each release and each of the default size bands whose largest squares fit into
        the region, with the columns ``method`` (the name of the release), ``epsilon``, ``size``
        (the band as text), ``from_m``, ``to_m``, ``rel_error`` (mean relative error of squares
        centred on records, with the smoothing of ``relative_errors``) and ``abs_error_anywhere``
        (mean absolute error, in records, of squares of the same sizes placed uniformly in the
        region).

    Raises
    ------
    InputError
        If ``truth`` holds no records, or lies in another region than a release.

    See Also
    --------
    compare : Errors for given boxes, the time for a query, and the size of the file.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=10_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> releases = {"UG": data.release(snh.UniformGrid(), epsilon=0.5)}
    >>> snh.compare_sizes(releases, truth=records)["size"].tolist()
    ['25-100 m', '100-300 m', '300-1,000 m', '1-5 km']
    """
    bands = [SizeBand.of(truth, band, count) for band in bands_in(truth.region)]
    rows = [_size_row(name, release, band) for name, release in releases.items() for band in bands]
    table = pd.DataFrame(rows, columns=list(_SIZE_COLUMNS))
    table.attrs["warning"] = OWNER_ONLY
    return table


def _row(name: str, release: Release, around: Asked, elsewhere: Asked) -> tuple:
    release.answer(around.boxes)  # excludes compilation and caching at the first use
    start = time.perf_counter()
    answers = release.answer(around.boxes)
    seconds = time.perf_counter() - start
    return (
        name,
        float(release.epsilon),
        around.relative_error(answers),
        around.absolute_error(answers),
        elsewhere.absolute_error(release.answer(elsewhere.boxes)),
        adds_up(release, around.n),
        1e6 * seconds / max(len(around.boxes), 1),
        len(release.to_bytes()),
    )


def _size_row(name: str, release: Release, band: SizeBand) -> tuple:
    return (
        name,
        float(release.epsilon),
        band_name(band.sizes_m),
        *band.sizes_m,
        band.around.relative_error(release.answer(band.around.boxes)),
        band.anywhere.absolute_error(release.answer(band.anywhere.boxes)),
    )
