"""What the explorer works on: a data set, what has been released of it, and what may be shown."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray

from snhkit.data import city, synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment.methods import METHODS
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.privacy import PrivacyUnit, written
from snhkit.release import Release
from snhkit.viz.maps.districts import Districts
from snhkit.viz.maps.surface import Surface, display_cell_m
from snhkit.widgets.tables import Answers

__all__ = ["Built", "Session", "owned", "synthetic"]

_CELLS_A_SIDE = 400


@dataclass(frozen=True, eq=False, repr=False)
class Built:
    """A release with what the explorer shows of it.

    Parameters
    ----------
    title : str
        The method's.
    release : Release
        What was built.
    surface : Surface
        Its counts in the cells that all methods are shown in.
    districts : Answers, optional
        Its counts of the session's districts, if there are any.
    """

    title: str
    release: Release
    surface: Surface
    districts: Answers | None = None

    @property
    def name(self) -> str:
        """Method and epsilon."""
        return f"{self.title}, ε = {written(self.release.epsilon)}"


@dataclass(frozen=True, eq=False, repr=False)
class Session:
    """A data set under its budget, and what was released of it.

    Parameters
    ----------
    title : str
        What it is called.
    about : str
        A sentence on where it comes from.
    dataset : PrivateDataset
        The records and their ledger.
    public : Points, optional
        Public points that methods may learn from.
    records : Points, optional
        The records, if the unit of privacy is still to be chosen.
    invented : bool
        Whether the records are nobody's: only then may the truth be shown.
    districts : Districts, optional
        Polygons that are counted too.
    built : dict of name to Built
        One for each method and epsilon, the newest, in the order in which they were built.
    """

    title: str
    about: str
    dataset: PrivateDataset
    public: Points | None = None
    records: Points | None = None
    invented: bool = False
    districts: Districts | None = None
    built: dict[str, Built] = field(default_factory=dict)

    @property
    def region(self) -> Region:
        """Where the records are."""
        return self.dataset.region

    @property
    def releases(self) -> dict[str, Release]:
        """The newest of each method, under the method's title."""
        return {one.title: one.release for one in self.built.values()}

    @property
    def units(self) -> list[str]:
        """The units of privacy that may still be chosen; none after the first charge."""
        if self.records is None or self.dataset.ledger.entries:
            return []
        return ["record"] if self.records.user is None else ["record", "user"]

    def under(self, unit: PrivacyUnit) -> "Session":
        """The same records and budget with another unit of privacy.

        Raises
        ------
        InputError
            If something was charged already: a second data set of the same records would forget it.
        """
        if unit.kind not in self.units or self.records is None:
            raise InputError("The unit of privacy is settled: epsilon was spent under it.")
        dataset = PrivateDataset(
            self.records,
            self.dataset.ledger.total,
            unit=unit.kind,
            max_per_user=unit.max_per_user,
            n="public" if self.invented else "private",
        )
        return replace(self, dataset=dataset)

    def build(self, key: str, epsilon: float, sizes_m: tuple[float, float]) -> Built:
        """Pay for one method's release and prepare what is shown; ``keep`` it afterwards."""
        builder = METHODS[key].builder(sizes_m)
        release = self.dataset.release(builder, epsilon=epsilon, public=self.public)
        surface = Surface.of(release, display_cell_m(self.region, _CELLS_A_SIDE))
        return Built(METHODS[key].title, release, surface, self._of_districts(release))

    def _of_districts(self, release: Release) -> Answers | None:
        if self.districts is None:
            return None
        return Answers(*self.districts.answers(release))

    def keep(self, built: Built) -> None:
        """Make a release the newest of its method, and the only one of method and epsilon."""
        self.built.pop(built.name, None)
        self.built[built.name] = built

    def answers(self, boxes: RangeQueries) -> dict[str, Answers]:
        """What the newest release of each method says of the boxes, under its name and epsilon."""
        return {
            f"{title}, ε = {written(release.epsilon)}": Answers(
                release.answer(boxes), release.standard_error(boxes)
            )
            for title, release in self.releases.items()
        }

    @property
    def district_answers(self) -> dict[str, Answers]:
        """The same of the districts."""
        newest = {one.title: one for one in self.built.values()}
        return {one.name: one.districts for one in newest.values() if one.districts}

    def truth(self, boxes: RangeQueries) -> NDArray[np.int64]:
        """The true counts, shape (q,).

        Raises
        ------
        InputError
            If the records are somebody's.
        """
        return exact_counts(self.invented_records, boxes)

    @cached_property
    def true_surface(self) -> Surface:
        """The true counts of the cells that are shown; refused like ``truth``."""
        grid = Grid.of_width(self.region, display_cell_m(self.region, _CELLS_A_SIDE))
        return Surface(grid, grid.count(self.invented_records).counts)

    @cached_property
    def true_districts(self) -> NDArray[np.int64]:
        """The true counts of the districts, shape (q,); refused like ``truth``."""
        points = shapely.STRtree(shapely.get_parts(shapely.multipoints(self.invented_records.xy)))
        shapes = np.zeros(0) if self.districts is None else self.districts.shapes
        owner, _ = points.query(shapes, predicate="intersects")
        return np.bincount(owner, minlength=len(shapes))

    @property
    def invented_records(self) -> Points:
        """Nobody's records; InputError if they are somebody's."""
        if self.records is None or not self.invented:
            raise InputError("The truth is shown of invented records only.")
        return self.records


def synthetic(key: str, n: int, budget: float, unit: PrivacyUnit) -> Session:
    """A synthetic city of ``n`` invented records."""
    place = city(key)
    records = synthetic_points(place, n)
    return Session(
        title=f"{place.name}, synthetic",
        about="Streets, venues and people are invented; only the place on the map is real. "
        "Methods may learn from a second invented data set, which plays the public one.",
        dataset=PrivateDataset(
            records, budget, unit=unit.kind, max_per_user=unit.max_per_user, n="public"
        ),
        public=synthetic_points(place, world="public"),
        records=records,
        invented=True,
    )


def owned(
    records: Points | PrivateDataset,
    public: Points | None,
    budget: float | None,
    unit: PrivacyUnit,
) -> Session:
    """Somebody's records, or a data set of them that has its budget and its unit already.

    Nobody has said that the number of records may be known, so it is private.

    Raises
    ------
    InputError
        If records come without a budget, or a data set with a second one.
    """
    title, about = "Your records", "What is shown of them has been released and paid for."
    if isinstance(records, PrivateDataset):
        if budget is not None:
            raise InputError("explore: the data set has a budget already; leave out budget.")
        if unit != PrivacyUnit.of("record"):
            raise InputError("explore: the data set has a unit already; leave out unit.")
        return Session(title, about, records, public)
    if budget is None:
        raise InputError("explore: say budget=..., all the epsilon these records may ever cost.")
    dataset = PrivateDataset(
        records, budget, unit=unit.kind, max_per_user=unit.max_per_user, n="private"
    )
    return Session(title, about, dataset, public, records)
