"""Comparisons of releases: tables of errors from the true records, for their owner only."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from snhkit.builder import Builder
from snhkit.builders.cell_width import Width
from snhkit.data.counting.exact import ExactCounts
from snhkit.dataset import PrivateDataset
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.experiment.evaluation import SizeBand, adds_up, anywhere, asked, bands_in
from snhkit.geometry import Asked, Points, RangeQueries
from snhkit.methods import METHODS, method, title
from snhkit.metrics import band_name
from snhkit.privacy import Epsilon, exact, written
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


@dataclass(frozen=True)
class Plan:
    """The methods and epsilons of a comparison; ``builders`` are further ones, by title.

    A ``seed`` is for research only: anyone who knows it can subtract the noise.
    """

    methods: Sequence[str]
    epsilons: Sequence[Epsilon]
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    cell_m: Width = None
    seed: int | None = None
    builders: Mapping[str, Builder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.builders:
            if name in METHODS or name in {method.title for method in METHODS.values()}:
                raise InputError(
                    f"{name!r} is the name of a method; give the builder another title."
                )

    def all_builders(self) -> dict[str, Builder]:
        """Return all builders of the comparison, by short name or, for ``builders``, by title."""
        named = {name: method(name).builder(self.sizes_m, self.cell_m) for name in self.methods}
        return named | dict(self.builders)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Releases with their measured errors, which only the owner of the records may see."""

    table: pd.DataFrame  # that of ``compare``, and ``build_s``, the seconds of a build
    sizes: pd.DataFrame  # that of ``compare_sizes``
    releases: dict[tuple[str, float], Release]  # by short name or title, and epsilon
    dataset: PrivateDataset

    @property
    def cautions(self) -> list[str]:
        """One sentence for each method that is only (epsilon, delta)-differentially private."""
        weaker = {name: release.delta for (name, _), release in self.releases.items()}
        return [
            f"{title(name)} guarantees only (epsilon, delta)-differential privacy, with delta = "
            f"{written(delta)}. It is a demonstration and must not be published."
            for name, delta in weaker.items()
            if delta
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return the comparison as JSON values, a row for each release, with a warning in each."""
        bands: dict[tuple[str, float], list[dict[str, Any]]] = {}
        for band in self.sizes.to_dict(orient="records"):
            name = (band.pop("method"), band.pop("epsilon"))
            bands.setdefault(name, []).append({str(key): value for key, value in band.items()})
        return [
            {str(key): value for key, value in row.items()}
            | {"sizes": bands.get((row["method"], row["epsilon"]), []), "warning": OWNER_ONLY}
            for row in self.table.to_dict(orient="records")
        ]


def run(
    records: Points | ExactCounts, public: Points | None, queries: RangeQueries, plan: Plan
) -> Comparison:
    """Build every method at every epsilon, and measure each release against the true records.

    The number of records is treated as public. Every release answers ``queries``.
    """
    builders = plan.all_builders()
    budget = sum(exact(epsilon) for epsilon in plan.epsilons) * len(builders)
    dataset = PrivateDataset(records, budget, unit="record", n_public=True)
    jobs = [(name, epsilon) for epsilon in plan.epsilons for name in builders]
    releases: dict[tuple[str, float], Release] = {}
    seconds = []
    for name, epsilon in (bar := tqdm(jobs, desc="methods", unit="build", leave=False)):
        bar.set_postfix_str(f"{title(name)}, epsilon {epsilon}")
        start = time.perf_counter()
        release = dataset.release(builders[name], epsilon=epsilon, public=public, seed=plan.seed)
        seconds.append(time.perf_counter() - start)
        releases[name, float(epsilon)] = release
    names = [name for name, _ in releases]
    numbered = {str(k): release for k, release in enumerate(releases.values())}
    table = compare(numbered, queries, truth=records)
    table["method"] = names
    table.insert(list(table.columns).index("query_us"), "build_s", seconds)
    sizes = compare_sizes(numbered, truth=records)
    sizes["method"] = [names[int(k)] for k in sizes["method"]]
    return Comparison(table, sizes, releases, dataset)
