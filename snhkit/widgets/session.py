"""The session of an explorer: a dataset, its releases, and true counts of invented records."""

import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from snhkit.builders import Tessellation
from snhkit.builders.base import hyperparameters
from snhkit.data import city, synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.defaults import DEFAULT_EPSILON
from snhkit.districts.districts import LocalDistricts
from snhkit.errors import InputError, SnhkitError
from snhkit.files import write_whole
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.geometry.strata import By
from snhkit.loading import load
from snhkit.methods import METHODS, Method
from snhkit.privacy import Epsilon, PrivacyUnit, exact, written
from snhkit.privacy.count_source import CountSource, PointSource
from snhkit.release import Release
from snhkit.release.estimates import Estimates
from snhkit.release.strata import StratifiedRelease
from snhkit.viz.maps import districts as district_maps
from snhkit.viz.maps.surface import Surface, display_cell_m

DISTRICTS = "districts"
"""The key of the method that counts each of the session's districts directly, ``Tessellation``."""

UNTITLED = "Counts of private records"
"""The title of private records on screen and in exports, until a person gives another."""

_CELLS_A_SIDE = 640  # the most cells per side of the surfaces that maps show


@dataclass(frozen=True, eq=False, repr=False)
class Built:
    """A release with the released counts that the explorer shows.

    If there are strata, ``release`` is their sum.
    """

    title: str
    release: Release
    surface: Surface  # counts of the cells of a grid that is the same for all methods
    districts: pd.DataFrame | None = None
    seconds: float | None = None  # None for a release that was read from a file
    name: str = ""  # title and epsilon, with a further word if another release has the same
    surfaces: Mapping[str, Surface] = field(default_factory=dict)  # of strata, by their labels

    @property
    def kind(self) -> str:
        """Title of the method and the strata, such as "UG by hour"."""
        return f"{self.title} by {self.by.name.replace('_', ' and ')}" if self.by else self.title

    @property
    def stem(self) -> str:
        """Title, strata and epsilon of the release, such as "UG by hour, ε = 0.2"."""
        return f"{self.kind}, ε = {written(self.release.epsilon)}"

    @property
    def strata(self) -> StratifiedRelease | None:
        """The releases of the strata, such as hours; None if there are none."""
        return StratifiedRelease.within(self.release)

    @property
    def by(self) -> By | None:
        """The strata of the release; None if there are none."""
        return self.strata.by if self.strata else None


@dataclass(frozen=True, eq=False, repr=False)
class Day:
    """The counts of q boxes in s strata, such as hours, by one release."""

    labels: Sequence[str]
    told: NDArray[np.float64]  # count, low and high, shape (s, q, 3)
    truth: NDArray[np.int64] | None  # true counts, shape (s, q), if the records are invented

    @classmethod
    def of(cls, by: By, found: Estimates, boxes: RangeQueries, records: Points | None) -> "Day":
        """Return the estimates of boxes in strata, and true counts if there are records."""
        told = [one.with_bounds() for one in found.strata]
        own = [] if records is None else _true_strata(records, by)
        truth = np.stack([part.boxes(boxes) for part in own]) if own else None
        return cls(by.labels, np.stack(told), truth)


@dataclass(frozen=True)
class ReleaseFolder:
    """A folder of release files beside the private records, with ``.releases`` after their name.

    ``records`` is the path of the records or, if the ledger has a path of its own, that of the
    ledger without ``.ledger``.
    """

    records: Path

    @property
    def path(self) -> Path:
        """The path of the folder, which is created when the first release is saved."""
        return self.records.with_name(self.records.name + ".releases")

    def keep(self, name: str, release: Release) -> Path:
        """Write a release to a new file and return its path."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.path}: the folder cannot be created ({error.strerror})."
            ) from None
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
        file, k = self.path / f"{stem}.snh", 1
        while file.exists():
            k += 1
            file = self.path / f"{stem}-{k}.snh"
        write_whole(file, release.to_bytes())
        return file

    def releases(self, region: Region) -> Iterator[Release]:
        """Yield the saved releases of a region, oldest first; files of other kinds are skipped."""
        if not self.path.is_dir():
            return
        for file in sorted(self.path.glob("*.snh"), key=lambda file: file.stat().st_mtime):
            try:
                release = load(file).total()
            except SnhkitError:  # a file of another program or version
                continue
            if release.region == region:
                yield release


@dataclass(frozen=True, eq=False, repr=False)
class Session:
    """A dataset with its budget, and the releases that were built from it.

    Exports contain ``title`` and ``about``, never ``whereabouts``, which names the owner's files.
    """

    title: str
    about: str
    dataset: PrivateDataset
    public: Points | None = None
    records: Points | None = None  # if invented, or if the unit may change before a build
    invented: bool = False  # only then may true counts be shown
    districts: LocalDistricts | None = None
    source: str = ""  # Python code that defines ``records`` and ``public``
    folder: ReleaseFolder | None = None
    whereabouts: str = ""
    built: dict[str, Built] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.dataset.ledger.delta:
            raise InputError(
                "explore: the budget has a delta, but the explorer spends pure epsilon only; call "
                "PrivateDataset.release or snhkit release."
            )

    @property
    def region(self) -> Region:
        """The region of the records."""
        return self.dataset.region

    @property
    def releases(self) -> dict[str, Release]:
        """All releases by name, such as "UG, ε = 0.2"."""
        return {name: one.release for name, one in self.built.items()}

    @cached_property
    def has_times(self) -> bool:
        """Whether maps by hour or weekday can be built."""
        return self.dataset.has_times

    @property
    def units(self) -> list[str]:
        """The units of privacy that can be chosen now; empty after the first ledger entry."""
        if self.records is None or self.dataset.ledger.entries:
            return []
        return ["record"] if self.records.user is None else ["record", "user"]

    def under(self, unit: PrivacyUnit) -> "Session":
        """Return a session with the same records and budget, but with another unit of privacy.

        After a spend it is refused, since the new session's ledger would not include it.
        """
        if unit.kind not in self.units or self.records is None:
            raise InputError(
                f"The unit of privacy cannot be changed to {unit.kind}: epsilon was spent already, "
                "or the records have no user ids."
            )
        dataset = PrivateDataset(
            self.records,
            self.dataset.ledger.total,
            unit=unit.kind,
            max_per_user=unit.max_per_user,
            n_public=self.invented,
        )
        return replace(self, dataset=dataset)

    def method(self, key: str) -> Method:
        """Return the method with a key: one of ``METHODS``, or ``DISTRICTS`` if there are any."""
        if key != DISTRICTS:
            return METHODS[key]
        if self.districts is None:
            raise InputError("There are no districts to count; give districts=... first.")
        districts = self.districts.districts
        return Method("Tessellation", lambda sizes_m, cell_m: Tessellation(districts))

    def build(
        self, key: str, epsilon: float, sizes_m: tuple[float, float], by: By | None = None
    ) -> Built:
        """Build a release by the method ``key``, which spends epsilon; ``keep`` adds it."""
        started = time.perf_counter()
        builder = self.method(key).builder(sizes_m)
        made = self.dataset.release(builder, epsilon=epsilon, public=self.public, by=by)
        seconds = time.perf_counter() - started
        return self.shown(made.total(), self.method(key).title, seconds)

    def shown(self, release: Release, title: str, seconds: float | None = None) -> Built:
        """Return a release as ``Built``, with the counts that the maps and tables show."""
        surface = Surface.drawn(release, display_cell_m(self.region, _CELLS_A_SIDE))
        built = Built(title, release, surface, self._of_districts(release), seconds)
        surfaces = {label: Surface.drawn(one) for label, one in (built.strata or {}).items()}
        return replace(built, name=built.stem, surfaces=surfaces)

    def _of_districts(self, release: Release) -> pd.DataFrame | None:
        if self.districts is None:
            return None
        return district_maps.answers(release, self.districts)

    def keep(self, built: Built, *, stored: bool = False) -> None:
        """Add a release under a name of its own, and save it in ``folder`` unless ``stored``."""
        name, told = built.stem, built.release.hyperparameters
        if name in self.built and "sizes_m" in told:
            other = self.built[name].release.hyperparameters.get("sizes_m")
            low, high = told["sizes_m"]
            name += "" if [low, high] == list(other or ()) else f", {low:g} to {high:g} m"
        first, k = name, 1
        while name in self.built:
            k += 1
            name = f"{first} ({k})"
        self.built[name] = replace(built, name=name)
        if self.folder is not None and not stored:
            self.folder.keep(name, built.release)

    def repeated(
        self,
        methods: Sequence[str],
        epsilon: float,
        sizes_m: tuple[float, float],
        by: By | None = None,
    ) -> dict[str, str]:
        """Return, for each method that has a release with these settings, that release's name."""
        found = {}
        for key in methods:
            asked = (self.method(key).title, by, exact(epsilon), self._settings(key, sizes_m))
            for name, one in self.built.items():
                told = {} if key == DISTRICTS else dict(one.release.hyperparameters)
                price, settings = one.release.epsilon, json.dumps(told, sort_keys=True)
                if (one.title, one.by, price, settings) == asked:
                    found[key] = name
        return found

    def _settings(self, key: str, sizes_m: tuple[float, float]) -> str:
        """Return the hyperparameters of a method as text; a session has one set of districts."""
        told = {} if key == DISTRICTS else hyperparameters(self.method(key).builder(sizes_m))
        return json.dumps(told, sort_keys=True)

    def estimates(self, boxes: RangeQueries) -> dict[str, Estimates]:
        """Return the estimates for boxes by each release, under the release's name."""
        return {name: Estimates.of(release, boxes) for name, release in self.releases.items()}

    def days(
        self, boxes: RangeQueries, found: Mapping[str, Estimates], *, truth: bool
    ) -> dict[str, "Day"]:
        """Return the counts of boxes in each stratum, from the estimates of these boxes."""
        return {
            name: Day.of(by, found[name], boxes, self.invented_records if truth else None)
            for name, one in self.built.items()
            if (by := one.by)
        }

    @property
    def district_answers(self) -> dict[str, pd.DataFrame]:
        """The estimates for the districts by each release, under the release's name."""
        built = self.built.items()
        return {name: one.districts for name, one in built if one.districts is not None}

    def truth(self, boxes: RangeQueries) -> NDArray[np.int64]:
        """Return the true counts of q boxes, shape (q,), of invented records only."""
        return exact_counts(self.invented_records, boxes)

    @cached_property
    def true_surface(self) -> Surface:
        """True counts of the cells that maps show; raises InputError for records that are real."""
        grid = Grid.of_width(self.region, display_cell_m(self.region, _CELLS_A_SIDE))
        return Surface(grid, grid.count(self.invented_records).counts)

    def true_surfaces(self, by: By) -> dict[str, Surface]:
        """True counts of the cells that maps of strata show, under the labels of the strata."""
        return _true_surfaces(self.invented_records, by)

    @cached_property
    def true_districts(self) -> NDArray[np.int64]:
        """True counts of q districts, shape (q,); raises InputError for records that are real."""
        points = shapely.STRtree(shapely.get_parts(shapely.multipoints(self.invented_records.xy)))
        shapes = np.zeros(0) if self.districts is None else self.districts.shapes
        owner, _ = points.query(shapes, predicate="intersects")
        return np.bincount(owner, minlength=len(shapes))

    @property
    def invented_records(self) -> Points:
        """The invented records; raises InputError for records that are real."""
        if self.records is None or not self.invented:
            raise InputError("True counts are available for invented records only.")
        return self.records


@lru_cache(maxsize=4)
def _true_strata(records: Points, by: By) -> list[CountSource]:
    return list(PointSource(records).strata(by)())


@lru_cache(maxsize=4)
def _true_surfaces(records: Points, by: By) -> dict[str, Surface]:
    grid = Grid.of_width(records.region, display_cell_m(records.region))
    counts = (part.count(grid).counts for part in _true_strata(records, by))
    return {label: Surface(grid, each) for label, each in zip(by.labels, counts, strict=True)}


def synthetic(key: str, n: int, budget: Epsilon | None, unit: PrivacyUnit) -> Session:
    """Return a session of ``n`` invented records of the synthetic city called ``key``.

    With None, the budget is the least whole number that holds every method once.
    """
    place = city(key)
    if budget is None:
        budget = math.ceil(exact(DEFAULT_EPSILON) * len(METHODS))
    records = synthetic_points(place, n)
    return Session(
        title=f"{place.name}, synthetic",
        about="Streets, venues and people are invented; only each city's place on the map is real. "
        "Methods may use a second invented dataset, which takes the place of public data.",
        dataset=PrivateDataset(
            records, budget, unit=unit.kind, max_per_user=unit.max_per_user, n_public=True
        ),
        public=synthetic_points(place, world="public"),
        records=records,
        invented=True,
    )


def owned(
    records: Points | PrivateDataset,
    public: Points | None,
    budget: Epsilon | None,
    unit: PrivacyUnit,
    ledger: str | os.PathLike[str] | None = None,
) -> Session:
    """Return a session of a person's own records; the number of ``Points`` is private."""
    title, about = UNTITLED, "The counts shown are released counts, never true counts."
    if isinstance(records, PrivateDataset):
        if budget is not None:
            raise InputError("explore: the dataset has a budget already; leave out budget.")
        if ledger is not None:
            raise InputError("explore: the dataset has a ledger already; leave out ledger.")
        if unit != PrivacyUnit("record"):
            raise InputError("explore: the dataset has a unit already; leave out unit.")
        return Session(title, about, records, public)
    if budget is None and (ledger is None or not Path(ledger).exists()):
        raise InputError(
            "explore: give budget=..., the total epsilon that may ever be spent on the records."
        )
    dataset = PrivateDataset(
        records,
        budget,
        unit=unit.kind,
        max_per_user=unit.max_per_user,
        ledger=ledger,
    )
    # A ledger in a file stores the unit, so the unit can be changed only without such a file.
    return Session(title, about, dataset, public, records if ledger is None else None)
