"""Private datasets: records, with a ledger of the epsilon that their releases spend."""

import os
import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from snhkit.builder import Builder, refuse_laplace_only
from snhkit.data.counting.exact import ExactCounts
from snhkit.data.sources.report import ReadReport, warn_owner
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Points, Region
from snhkit.geometry.strata import By
from snhkit.privacy import (
    Budget,
    Entropy,
    Epsilon,
    Ledger,
    Measurements,
    NoisyContributions,
    NoisyQuantile,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    SystemEntropy,
    Terms,
    exact,
    rho_of,
    written,
)
from snhkit.privacy.budget import exact_delta
from snhkit.privacy.count_source import CountSource
from snhkit.privacy.overlap import shares_records
from snhkit.privacy.quantile import buy, first_unit
from snhkit.privacy.stored_ledger import NO_BUDGET, held, open_ledger
from snhkit.privacy.unit import kept_records
from snhkit.progress import steps
from snhkit.release import Release
from snhkit.release.strata import StratifiedRelease, pooled

if TYPE_CHECKING:
    from snhkit.planning import Recommendation

# The largest noise scale of a count that costs the whole epsilon of a release. The noise mechanisms
# allow scales up to 2**50, so a measurement may cost as little as 2**-10 of the epsilon.
_MAX_SCALE = 2**40


class PrivateDataset:
    """Private records with one budget of epsilon that all their releases share.

    Parameters
    ----------
    records : Points or ExactCounts
        The private records, in memory or, for the unit "record", as ``scan_points`` returns them.
        For records in large files, see ``scan``.
    budget : number or Budget, optional
        The largest epsilon that all releases of the records together may spend. With a delta, as
        in ``Budget(1, delta=1e-6)``, releases may have Gaussian noise. The budget can be left out
        if ``ledger`` already exists, because its budget then applies.
    unit : str
        The unit of privacy: "record" for one record; "user" for all records that are kept of one
        person; "user-day", "user-week" or, for instance, "user-30-days" for all records that are
        kept of one person in one window of days.
    max_per_user : int or NoisyQuantile, optional
        For all units but "record", the largest number of records to keep of each person, or of each
        person in each window, chosen at random. A ``NoisyQuantile`` sets the number from noisy
        counts, which cost epsilon; ``n_public`` must then be False.
    n_public : bool
        Whether the number of records may be published. By default it may not: releases hide the
        addition or removal of one unit, and a builder that needs the number spends a twentieth of
        its epsilon on a noisy number. If it may, releases hide the replacement of one unit by
        another. A replacement is a removal and an addition, so a release that costs epsilon hides a
        replacement at twice this epsilon.
    whose : str
        The word for what one user id identifies, such as "household", for descriptions of releases.
    ledger : str, path or Ledger, optional
        A path, at which a file keeps the ledger (see ``StoredLedger``): every charge is written to
        the file before any record is used, and all processes that open the file share one budget.
        Or the ``ledger`` of another dataset of the same records, whose budget is then shared. By
        default, a new ledger is made in memory, which is lost with this object.
    n : None
        Refused: ``n="public"`` and ``n="private"`` of earlier versions are now ``n_public``.

    Raises
    ------
    InputError
        If an argument has a wrong type or value, or the records lack the users or the days that
        the unit needs.

    Examples
    --------
    >>> from snhkit.builders import UniformGrid
    >>> city = Region.around(lat=37.76, lon=-122.43, side_m=1_000)
    >>> records = Points(city, [[100, 100], [900, 500]])
    >>> cabs = PrivateDataset(records, budget=1.0, unit="record", n_public=True)
    >>> release = cabs.release(UniformGrid(), epsilon=0.2)
    >>> float(cabs.ledger.remaining)
    0.8
    """

    def __init__(
        self,
        records: Points | ExactCounts,
        budget: Budget | Epsilon | None = None,
        *,
        unit: str,
        max_per_user: int | NoisyQuantile | None = None,
        n_public: bool = False,
        whose: str = "person",
        ledger: str | os.PathLike[str] | Ledger | None = None,
        n: object = None,
    ) -> None:
        first = first_unit(unit, max_per_user, whose, n_public, n)
        self._tz = getattr(records, "tz", None)
        if first.window_days:
            first = replace(first, tz=self._tz)
        if isinstance(records, ExactCounts) and first.max_per_user is None:
            self._ledger = open_ledger(ledger, lambda: records, first, budget)
            self._buy(first, None, lambda: np.zeros(0, np.int64))
            self._source: CountSource = records
            return
        if not isinstance(records, Points):
            kind = type(records).__name__
            raise InputError(
                f"records must be Points, as read_points returns them, not a {kind}; open files "
                "that do not fit into memory with PrivateDataset.scan."
            )
        self._ledger = open_ledger(ledger, held(records), first, budget)
        self._buy(first, max_per_user, lambda: np.bincount(first.owners(records)))
        self._source = PointSource(self.unit.bound(records, SystemEntropy()))

    @classmethod
    def scan(
        cls,
        source: Any,
        region: Region,
        budget: Budget | Epsilon | None = None,
        *,
        unit: str,
        max_per_user: int | NoisyQuantile | None = None,
        n_public: bool = False,
        whose: str = "person",
        ledger: str | os.PathLike[str] | Ledger | None = None,
        lat: str | int | None = None,
        lon: str | int | None = None,
        user: str | int | None = None,
        time: str | int | None = None,
        since: Any = None,
        until: Any = None,
        users: Any = None,
        tz: str | None = None,
        point: str | int | None = None,
        degrees: float = 1.0,
        crs: Any = None,
        report: Callable[[ReadReport], object] = warn_owner,
        spill: str | os.PathLike[str] | None = None,
        client: Any = None,
        n: object = None,
    ) -> "PrivateDataset":
        """Return a dataset of any size, whose records stay in their files and are counted there.

        Methods, ledger and counts are the same as for records in memory. The files are read once by
        this method, and again for each grid or partition that is counted for a release. A few
        hundred megabytes of memory are enough. Quadtrees have a depth of at most 12.

        Parameters
        ----------
        source : path, list of paths, array, frame or table
            The rows of records, as for ``read_points``. The rows must not change later.
        region : Region
            The region in which the rows are counted.
        budget, unit, max_per_user, n_public, whose, ledger
            The same parameters as those of the class.
        lat, lon, user, time, since, until, users, tz, point, degrees, crs, report
            The same parameters as those of ``read_points``; a column of users is read only if it is
            named or the unit needs it.
        spill : str or path, optional
            For all units but "record", and for strata, a folder for temporary files of records.
            The files are deleted with the dataset. By default, the system's temporary folder.
        client : distributed.Client, optional
            The client of a Dask cluster whose workers count the records. All workers must be able
            to read the source's files and ``spill``.

        Returns
        -------
        PrivateDataset
            The dataset.

        Raises
        ------
        InputError
            If the source cannot be read, no row lies in the region, or an argument is wrong.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from snhkit.builders import UniformGrid
        >>> city = Region.around(lat=37.76, lon=-122.43, side_m=1_000)
        >>> rows = pa.table({"lat": [37.76, 37.761], "lon": [-122.43, -122.431]})
        >>> cabs = PrivateDataset.scan(rows, city, budget=1.0, unit="record", n_public=True)
        >>> cabs.release(UniformGrid(), epsilon=0.2).n
        2
        """
        from snhkit.data.counting.passes import Cluster  # these need Arrow
        from snhkit.data.counting.scan import Scan
        from snhkit.data.sources.columns import rules_of
        from snhkit.data.sources.opening import open_source

        made = cls.__new__(cls)
        first = first_unit(unit, max_per_user, whose, n_public, n)
        if budget is None and ledger is None:
            raise InputError(NO_BUDGET)
        people = first.max_per_user is not None
        rules = rules_of(
            lat=lat, lon=lon, user=user, time=time, since=since, until=until, users=users, tz=tz,
            point=point, degrees=degrees, crs=crs, people="needed" if people else "named",
        )  # fmt: skip
        made._tz = rules.tz
        if first.window_days:
            first = replace(first, tz=rules.tz)
        opened = open_source(source, rules)
        cluster = None if client is None else Cluster(client, opened)
        scan = Scan(opened, region, report, cluster, spill)
        made._ledger = open_ledger(ledger, scan.all, first, budget)
        made._buy(first, max_per_user, lambda: scan.of_people(first.window_days))
        if not people:
            made._source = scan.all()
        else:
            most, key = made.unit.sensitivity, SystemEntropy().words(2)
            choose = partial(kept_records, most=most, key=key)
            made._source = scan.bounded(choose, first.window_days)
        return made

    def _buy(
        self,
        first: PrivacyUnit,
        most: "int | NoisyQuantile | None",
        records_of_people: Callable[[], NDArray[np.int64]],
    ) -> None:
        """Set the unit of privacy; charge and measure the choice of a ``NoisyQuantile``."""
        self._foreign: weakref.WeakSet[Points] = weakref.WeakSet()
        self._unit, self._bought = first, None
        if isinstance(most, NoisyQuantile):
            self._bought = buy(most, records_of_people(), self._ledger)
            bound = self._bought.bound(most.quantile)
            share = round(self._bought.dropped(bound)[0], 2)
            self._unit = replace(first, max_per_user=bound, dropped=share)

    @property
    def bought(self) -> NoisyContributions | None:
        """The noisy counts that set ``max_per_user``; None if no ``NoisyQuantile`` was given."""
        return self._bought

    @property
    def unit(self) -> PrivacyUnit:
        """The unit of privacy, which defines what a release hides."""
        return self._unit

    @property
    def ledger(self) -> Ledger:
        """The ledger of all charges for access to the records, and of the budget that is left."""
        return self._ledger

    @property
    def region(self) -> Region:
        """The declared region of the records."""
        return self._source.region

    @property
    def n(self) -> int:
        """The number of records; InputError is raised if the number was not declared public."""
        if not self.unit.n_public:
            raise InputError(
                "The number of records is private. If a method needed it, release.n is a noisy one."
            )
        return self._source.n()

    @overload
    def release(
        self,
        builder: Builder | str,
        *,
        epsilon: Epsilon,
        delta: Epsilon = 0,
        public: Points | None = None,
        seed: int | None = None,
        by: None = None,
    ) -> Release: ...

    @overload
    def release(
        self,
        builder: Builder | str,
        *,
        epsilon: Epsilon,
        delta: Epsilon = 0,
        public: Points | None = None,
        seed: int | None = None,
        by: By,
    ) -> StratifiedRelease: ...

    def release(
        self,
        builder: Builder | str,
        *,
        epsilon: Epsilon,
        delta: Epsilon = 0,
        public: Points | None = None,
        seed: int | None = None,
        by: By | None = None,
    ) -> Release | StratifiedRelease:
        """Charge epsilon to the ledger, then build a release and return it.

        Parameters
        ----------
        builder : Builder or str
            The method with its hyperparameters, or the short name of a method, such as
            ``"denoised"``, for its default hyperparameters. A delta of the builder is charged as
            well.
        epsilon : int, float, str, Decimal or Fraction
            The cost, taken from the budget before any noise is drawn; 0.1 means exactly 1/10.
        delta : int, float, str, Decimal or Fraction
            If above 0, the noise is Gaussian, and the release is (epsilon, delta)-differentially
            private. The method must support Gaussian noise (its attribute ``gaussian``), and the
            budget must have a delta.
        public : Points, optional
            Public points of the same region, near which queries are expected. They must not be
            records of this dataset.
        seed : int, optional
            The seed of the noise, for research only: anyone who knows the seed can subtract the
            noise. The card, the file and the ledger entry of such a release say "replayable". By
            default, the noise is drawn from the operating system's entropy.
        by : By, optional
            Strata of the records, such as ``By.hour()``. A release is built for each of them, with
            the whole epsilon; all of them together cost epsilon once, since each record is in one
            stratum only. The number of records of a stratum is private even if n is public.

        Returns
        -------
        Release or StratifiedRelease
            The release; with ``by``, the releases of all strata.

        Raises
        ------
        BudgetExceeded
            If epsilon exceeds the budget left, or the builder spent more than was charged.
        InputError
            If the arguments are invalid or the builder cannot make this release; nothing is spent
            in this case. After an error during the build, epsilon stays charged.
        """
        if isinstance(builder, str):
            from snhkit.methods import builder_of

            builder = builder_of(builder)
        if isinstance(builder, type):
            raise InputError(f"builder must be a builder such as UniformGrid(), not {builder!r}.")
        price, given = exact(epsilon), exact_delta(delta)
        if given:
            refuse_laplace_only(builder)
        rho = rho_of(price, given) if given else Fraction(0)
        if public is not None:
            self.region.refuse_other(public.region, "public: the points")
        self._refuse_own(public)
        entropy = SystemEntropy() if seed is None else ReplayableEntropy(seed)
        n = self._source.n() if self.unit.n_public else None
        own = given or exact_delta(getattr(builder, "delta", None) or 0)
        terms = Terms(price, self.unit, n, public, own, rho)
        if terms.record_epsilon < 1 / _MAX_SCALE:
            raise InputError(
                f"epsilon = {written(price)} is too small: the noise would not fit into 64-bit "
                "integers; give a larger epsilon."
            )
        divided = None
        if by is not None:
            if own - given:
                raise InputError(
                    "by: a method with a delta of its own cannot be built for strata; use another "
                    "one."
                )
            divided = self._source.strata(by)  # which reads no record yet
            terms = replace(terms, n=None, unit=replace(self.unit, n_public=False))
        builder.check(self.region, terms)
        who = type(builder).__name__
        entry = self.ledger.charge(price, who, delta=own, rho=rho, replayable=entropy.replayable)
        try:
            if by is None or divided is None:
                release = _built(builder, Measurements(self._source, terms, entropy))
                spends = release.spends
            else:
                parts = self._built_by(by, builder, divided, terms, entropy)
                whole = n if by.complete else None
                release = StratifiedRelease.of(by, parts, self.unit, whole, self._tz)
                spends = release.total().spends
            self.ledger.settle(entry, spends, release.checksum)
        except BaseException as error:
            release = parts = None  # a refused release must not be reachable
            self.ledger.fail(entry, error)
            raise
        return release

    def _built_by(
        self,
        by: By,
        builder: Builder,
        divided: Callable[[], Iterable[CountSource]],
        terms: Terms,
        entropy: Entropy,
    ) -> list[Release]:
        """Return a release of each stratum; some builders first spend a share on one of all."""
        pool_share = getattr(builder, "pool_share", lambda by: 0)
        share, whole = pool_share(by) if by.complete else 0, None
        if share:
            first = replace(terms, epsilon=share * terms.epsilon)
            whole = _built(builder, Measurements(self._source, first, entropy))
            terms = terms.of_stratum(first.epsilon, (whole.n or 0) / len(by))
        parts = []
        with steps(len(by), f"by {by.name}", "stratum") as advance:
            for source in divided():
                parts.append(_built(builder, Measurements(source, terms, entropy)))
                advance()
        return parts if whole is None else pooled(by, whole, parts)

    @property
    def has_times(self) -> bool:
        """Whether the records have times, so that a release by hour or weekday can be made."""
        try:
            self._source.strata(By.weekday())
        except InputError:
            return False
        return True

    def plan(
        self,
        sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
        *,
        epsilon: Epsilon,
        n: int | None = None,
        public: Points | None = None,
        by: By | None = None,
    ) -> "Recommendation":
        """Return the errors to expect of a release, and the method with the least, at no cost.

        This is ``recommend`` with the unit of privacy and the region of this dataset. The expected
        errors come from public data; the records are not used.

        Parameters
        ----------
        sizes_m : (float, float)
            Smallest and largest side of the squares in metres.
        epsilon : int, float, str, Decimal or Fraction
            The epsilon of a release, at most what is left of the budget.
        n : int, optional
            A rough number of the records that are kept. It is needed if the number is private.
        public : Points, optional
            Public points of the region that are about as clustered as the records.
        by : By, optional
            The strata of a release, as in ``recommend``.

        Raises
        ------
        BudgetExceeded
            If less than epsilon is left of the budget.
        InputError
            If the number of records is private and ``n`` is not given, or an argument is invalid.

        Examples
        --------
        >>> import snhkit as snh
        >>> records = snh.synthetic_points("milwaukee", 50_000)
        >>> trips = snh.PrivateDataset(records, 1, unit="record", n_public=True)
        >>> found = trips.plan(sizes_m=(300, 1_000), epsilon=0.2)
        >>> found.method in found.evidence.method.tolist()
        True
        """
        from snhkit.planning import recommend

        if (asked := exact(epsilon)) > (left := self.ledger.remaining):
            raise BudgetExceeded(
                f"plan: asked {written(asked)}, left {written(left)}; give a smaller epsilon."
            )
        if n is None:
            if not self.unit.n_public:
                raise InputError(
                    "The number of records is private; give plan a rough n that is public, such as "
                    "n=50_000."
                )
            n = self.n
        self._refuse_own(public)
        return recommend(
            n,
            epsilon,
            sizes_m,
            public=public,
            region=self.region,
            unit=self.unit.kind,
            max_per_user=self.unit.max_per_user,
            by=by,
        )

    def _refuse_own(self, public: Points | None) -> None:
        """Raise InputError if many of the public points are records of this dataset."""
        if public is None or public in self._foreign:
            return
        if shares_records(self._source, public):
            raise InputError(
                "public: many of the points are records of this dataset. Public points "
                "must come from another source; otherwise the release could reveal the "
                "records. Nothing was spent."
            )
        self._foreign.add(public)

    def __repr__(self) -> str:
        return (
            f"PrivateDataset(region={self.region!r}, unit={self.unit.sentence!r}, "
            f"left={written(self.ledger.remaining)} of {written(self.ledger.total)})"
        )

    def _repr_html_(self) -> str:
        return self.ledger._repr_html_()


def _disagreement(release: object, private: Measurements) -> str:
    """Return how a release differs from its measurements, or an empty text, for an error."""
    if not isinstance(release, Release):
        return f"a {type(release).__name__}, not a Release."
    if not private.spends:
        return "a release, but measured nothing; build must make at least one noisy measurement."
    measured = {
        "epsilon": private.spent,
        "delta": private.delta,
        "spends": private.spends,
        "unit": private.unit,
        "n": private.n,
        "replayable": private.replayable,
        "region": private.region,
    }
    for name, value in measured.items():
        if getattr(release, name) != value:
            return (
                f"a release whose '{name}' differs from the measurements; make the release with "
                "snhkit.builders.base.publish."
            )
    return ""


def _built(builder: Builder, private: Measurements) -> Release:
    """Return the release that a builder makes of measurements, which are closed then."""
    try:
        release = builder.build(private)
        if fault := _disagreement(release, private):
            release = None  # a refused release must not be reachable
            raise InputError(f"{type(builder).__name__}.build returned {fault}")
    finally:
        private.close()
    return release
