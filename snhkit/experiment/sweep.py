"""Sweeps: the errors of many methods on many cities, with many settings, as one table."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pandas as pd
from tqdm.auto import tqdm

from snhkit.builder import Builder
from snhkit.checks import whole
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment.compare import OWNER_ONLY
from snhkit.experiment.evaluation import Place, SizeBand, thinned
from snhkit.files import ResumeFile
from snhkit.methods import METHODS, method
from snhkit.metrics import SIZE_BANDS_M
from snhkit.privacy import Epsilon, exact, written
from snhkit.release import Release
from snhkit.select.search import parameters, unordered, with_parameter

if TYPE_CHECKING:
    from distributed import Client

_SETTINGS = ("city", "n", "method", "epsilon", "from_m", "to_m", "cell_m", "k", "depth")

MEASURES = ("rel_error", "abs_error", "rel_error_anywhere", "abs_error_anywhere", "bytes")
"""The values that are measured for each ``Cell`` and each range of sizes; see ``measured``."""

_PARTS = {"k": "networks.k", "depth": "networks.network.depth"}  # attributes of a builder


@dataclass(frozen=True)
class Cell:
    """One combination of a method, a place and settings whose errors a sweep measures."""

    city: str
    n: int | None  # records to draw from the place; None for all
    method: str
    epsilon: str  # text, so that 0.1 is exactly one tenth
    cell_m: float | str | None  # None, here and below, for the method's default
    k: int | None
    depth: int | None
    seed: int  # of the choice of records, the squares and the noise

    @property
    def key(self) -> str:
        """The attributes as one line of JSON, which identifies the combination in a file."""
        return json.dumps(asdict(self))

    def builder(self, sizes_m: tuple[float, float]) -> Builder:
        """Return the builder of the method with the settings, which it must have."""
        cell_m: Any = self.cell_m
        builder = method(self.method).builder(sizes_m, cell_m)
        for name, path in _PARTS.items():
            if (value := getattr(self, name)) is not None:
                if path not in parameters(builder):
                    raise InputError(f"{self.method}: {name} is not a parameter of this method.")
                builder = with_parameter(builder, path, value)
        return builder

    def noise_seed(self, sizes_m: tuple[float, float]) -> int:
        """Return the seed of the noise, which differs between all combinations and sizes."""
        told = f"{self.key} {json.dumps([float(size) for size in sizes_m])}"
        return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big")


def measured(
    cell: Cell, place: Place, bands_m: Sequence[tuple[float, float]], queries: int
) -> list[list[float]]:
    """Return the ``MEASURES`` for each size band; a builder that fits all is built once."""
    dataset, asked = _exam(place, cell.n, cell.seed, tuple(bands_m), queries)
    releases: dict[Builder, Release] = {}
    found = []
    for band in asked:
        builder = cell.builder(band.sizes_m)
        if builder not in releases:
            seed = cell.noise_seed(band.sizes_m)
            releases[builder] = dataset.release(
                builder, epsilon=cell.epsilon, public=place.public, seed=seed
            )
        release = releases[builder]
        row = []
        for squares in (band.around, band.anywhere):
            answers = release.answer(squares.boxes)
            row += [squares.relative_error(answers), squares.absolute_error(answers)]
        found.append([*row, len(release.to_bytes())])
    return found


@lru_cache(maxsize=4)
def _exam(
    place: Place, n: int | None, seed: int, bands_m: tuple[tuple[float, float], ...], queries: int
) -> tuple[PrivateDataset, list[SizeBand]]:
    """Return the records of a cell as a data set, and the squares that its releases answer."""
    records = place.records if n is None else thinned(place.records, n, seed)
    bands = [SizeBand.of(records, sizes_m, queries, seed) for sizes_m in bands_m]
    return PrivateDataset(records, 10**9, unit="record", n_public=True), bands


def sweep(
    places: Mapping[str, Place],
    methods: Sequence[str],
    epsilons: Sequence[Epsilon],
    *,
    n: Sequence[int | None] = (None,),
    bands_m: Sequence[tuple[float, float]] = SIZE_BANDS_M[:1],
    cell_m: Sequence[float | str | None] = (None,),
    k: Sequence[int | None] = (None,),
    depth: Sequence[int | None] = (None,),
    seeds: Sequence[int] = (0, 1, 2),
    queries: int = 5_000,
    file: str | os.PathLike[str] | None = None,
    processes: int = 1,
    client: "Client | None" = None,
) -> pd.DataFrame:
    """Return a table of the errors of all combinations of methods, places and settings.

    The noise is determined by ``seeds``, so the same call always returns the same table. The number
    of processes, and a continuation of the sweep from ``file``, do not change the table.

    Parameters
    ----------
    places : mapping of str to Place
        Records and public points of cities, by the name that the table shows.
    methods : sequence of str
        Short names of methods.
    epsilons : sequence of numbers
        Values of epsilon.
    n : sequence of int or None
        The numbers of records to use of each place, chosen at random; None uses all. A place is
        left out for an n that is larger than the number of its records.
    bands_m : sequence of (float, float)
        The size bands: for each, the smallest and the largest side of its squares in metres.
        Methods that prepare for query sizes make a release for each band.
    cell_m : sequence of float, "auto" or None
        The widths of a grid's cells in metres, or ways to choose the width, as in ``Identity``;
        None takes the method's default. A method without this parameter is measured only once, not
        for each width.
    k, depth : sequence of int or None
        The numbers of SNH's networks, and their depths; None takes the method's default. A method
        without these parameters is measured only once, not for each value.
    seeds : sequence of int
        Seeds. Each seed determines which records are used, the squares and the noise.
    queries : int
        The number of squares around records for each band. As many are placed anywhere in the
        region.
    file : path, optional
        A file of JSON lines in which finished measurements are stored. After an interruption, the
        same call continues the sweep. The file is for the owner of the records only.
    processes : int
        The number of processes on this computer that make the measurements.
    client : distributed.Client, optional
        The client of a Dask cluster. Its workers then make the measurements instead.

    Returns
    -------
    DataFrame
        One row for each combination and size band, with the columns ``city``, ``n``, ``method``,
        ``epsilon``, ``from_m``, ``to_m``, ``cell_m``, ``k``, ``depth`` and ``seed``; ``rel_error``
        and ``abs_error``, means over squares around records; ``rel_error_anywhere`` and
        ``abs_error_anywhere``, means over squares placed uniformly in the region; and ``bytes``,
        the size of the release's file. Absolute errors are in records.

    Raises
    ------
    InputError
        If a method is unknown or refuses its settings, or the file was begun with other settings.

    See Also
    --------
    intervals_over_seeds : The means of such a table over seeds, with confidence intervals.

    Examples
    --------
    >>> import snhkit as snh
    >>> places = {"Fargo": Place(snh.synthetic_points("fargo", 2_000))}
    >>> table = sweep(places, ["ug", "identity"], ["0.1", "1"], seeds=[0], queries=100)
    >>> table[["method", "epsilon"]].values.tolist()
    [['ug', 0.1], ['identity', 0.1], ['ug', 1.0], ['identity', 1.0]]

    Notes
    -----
    The paper's experiments (Sec. 6) are sweeps over one or two of these settings.
    """
    bands = [(float(low), float(high)) for low, high in bands_m]
    settings = {
        "bands_m": [list(band) for band in bands],
        "measures": list(MEASURES),
        "queries": whole("queries", queries, least=1),
        "snhkit": version("snhkit"),
    }
    for name in methods:
        if extra := method(name).lacks:
            extra.require()
    cells = list(_cells(places, methods, epsilons, n, cell_m, k, depth, seeds))
    digests = {name: place.digest for name, place in places.items()}
    done = ResumeFile.open(file, settings)
    missing = [cell for cell in cells if (cell.key, digests[cell.city]) not in done.rows]
    calls = ((cell, places[cell.city], bands, queries) for cell in missing)
    n_jobs = whole("processes", processes, least=1)
    with closing(unordered(_run, calls, n_jobs, client)) as results:
        for cell, rows in tqdm(results, "cells", len(missing), unit="build", leave=False):
            done.add(cell.key, digests[cell.city], rows)
    found = {cell: done.rows[cell.key, digests[cell.city]] for cell in cells}
    return _table(found, bands, places)


def intervals_over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean errors of a sweep over its seeds, with 95 % intervals of Student's t.

    Parameters
    ----------
    table : DataFrame
        A table that ``sweep`` returned.

    Returns
    -------
    DataFrame
        One row for each combination of settings, with the number of seeds in the column ``seeds``.
        For each measured value, such as ``rel_error``, there are three columns: ``rel_error``, the
        mean over seeds, and ``rel_error_low`` and ``rel_error_high``, the bounds of the interval.
        For a single seed, the bounds are nan.

    Examples
    --------
    >>> import snhkit as snh
    >>> places = {"Fargo": Place(snh.synthetic_points("fargo", 2_000))}
    >>> table = sweep(places, ["ug"], ["0.1"], seeds=range(3), queries=100)
    >>> row = intervals_over_seeds(table).iloc[0]
    >>> bool(row.rel_error_low < row.rel_error < row.rel_error_high), int(row.seeds)
    (True, 3)
    """
    from scipy.stats import t

    rows = []
    grouped: Any = table.groupby(list(_SETTINGS), dropna=False, sort=False)
    for settings, part in grouped:
        row = dict(zip(_SETTINGS, settings, strict=True)) | {"seeds": len(part)}
        factor = float(t.ppf(0.975, max(len(part) - 1, 1)))
        for name in MEASURES:
            values = part[name]
            half = factor * values.sem()
            row |= {name: values.mean()}
            row |= {f"{name}_low": row[name] - half, f"{name}_high": row[name] + half}
        rows.append(row)
    return pd.DataFrame(rows)


def _cells(
    places: Mapping[str, Place], methods: Sequence[str], epsilons: Sequence[Epsilon],
    n: Sequence[int | None], cell_m: Sequence, k: Sequence, depth: Sequence, seeds: Sequence[int],
) -> Iterator[Cell]:  # fmt: skip
    """Yield a ``Cell`` for each distinct measurement, in the order of the table's rows."""
    texts = [written(exact(epsilon)) for epsilon in epsilons]
    seen = set()
    for city, most, epsilon, name in itertools.product(places, n, texts, methods):
        if most is not None and most > len(places[city].records):
            continue
        given = {"cell_m": cell_m, "k": k, "depth": depth}
        used = [v if _uses(name, parameter) else (None,) for parameter, v in given.items()]
        for (width, networks, deep), seed in itertools.product(itertools.product(*used), seeds):
            cell = Cell(city, most, name, epsilon, width, networks, deep, seed)
            if cell not in seen:
                seen.add(cell)
                yield cell


def _uses(name: str, parameter: str) -> bool:
    """Return whether a method has a parameter that a sweep varies: "cell_m", "k" or "depth"."""
    if parameter == "cell_m":
        return METHODS[name].builder(cell_m=30.0) != METHODS[name].builder(cell_m=60.0)
    return _PARTS[parameter] in parameters(METHODS[name].builder())


def _run(
    cell: Cell, place: Place, bands: list[tuple[float, float]], queries: int
) -> tuple[Cell, list[list[float]]]:
    """Return a cell with the result of ``measured``."""
    return cell, measured(cell, place, bands, queries)


def _table(
    found: Mapping[Cell, list[list[float]]], bands: list, places: Mapping[str, Place]
) -> pd.DataFrame:
    rows = [
        asdict(cell)
        | {"n": cell.n or len(places[cell.city].records), "epsilon": float(exact(cell.epsilon))}
        | dict(zip(("from_m", "to_m", *MEASURES), (*band, *row), strict=True))
        for cell, measures in found.items()
        for band, row in zip(bands, measures, strict=True)
    ]
    table = pd.DataFrame(rows, columns=[*_SETTINGS, "seed", *MEASURES])
    table.attrs["warning"] = OWNER_ONLY
    return table
