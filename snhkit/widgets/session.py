"""What the explorer works on: a data set, what has been released of it, and what may be shown."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snhkit.data import city, synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment.methods import METHODS
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.privacy import written
from snhkit.release import Release
from snhkit.viz.surface import Surface, display_cell_m

__all__ = ["Session", "owned", "synthetic"]


@dataclass(frozen=True, eq=False, repr=False)
class Session:
    """A data set under its budget, and its newest release of each method.

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
    invented : Points, optional
        The records themselves, if nobody's: only then may the truth be shown.
    releases : dict of title to Release
        The newest of each method.
    """

    title: str
    about: str
    dataset: PrivateDataset
    public: Points | None = None
    invented: Points | None = None
    releases: dict[str, Release] = field(default_factory=dict)
    surfaces: dict[str, Surface] = field(default_factory=dict)

    @property
    def region(self) -> Region:
        """Where the records are."""
        return self.dataset.region

    def build(self, key: str, epsilon: float) -> None:
        """Release one method's answers for ``epsilon``; they replace the method's last ones."""
        method = METHODS[key]
        release = self.dataset.release(method.builder(), epsilon=epsilon, public=self.public)
        self.releases[method.title] = release
        self.surfaces[method.title] = Surface.of(release)

    def answers(self, boxes: RangeQueries) -> dict[str, NDArray[np.float64]]:
        """Each release's counts for the boxes, shape (q,), under its name and epsilon."""
        return {
            f"{name}, ε = {written(release.epsilon)}": release.answer(boxes)
            for name, release in self.releases.items()
        }

    def truth(self, boxes: RangeQueries) -> NDArray[np.int64]:
        """The true counts, shape (q,).

        Raises
        ------
        InputError
            If the records are somebody's.
        """
        return exact_counts(self._invented(), boxes)

    def true_surface(self) -> Surface:
        """The true counts of the cells that are shown; refused like ``truth``."""
        grid = Grid.of_width(self.region, display_cell_m(self.region))
        return Surface(grid, grid.count(self._invented()).counts)

    def _invented(self) -> Points:
        if self.invented is None:
            raise InputError("The truth is shown of invented records only.")
        return self.invented


def synthetic(key: str, n: int, budget: float) -> Session:
    """A synthetic city of ``n`` invented records."""
    place = city(key)
    records = synthetic_points(place, n)
    return Session(
        title=f"{place.name}, synthetic",
        about="Streets, venues and people are invented; only the place on the map is real. "
        "Methods may learn from a second invented data set, which plays the public one.",
        dataset=PrivateDataset(records, budget=budget, unit="record", n="public"),
        public=synthetic_points(place, world="public"),
        invented=records,
    )


def owned(records: Points | PrivateDataset, public: Points | None, budget: float | None) -> Session:
    """Somebody's records, or a data set of them that has its budget already.

    Raises
    ------
    InputError
        If records come without a budget, or a data set with a second one.
    """
    if isinstance(records, PrivateDataset):
        if budget is not None:
            raise InputError("explore: the data set has a budget already; leave out budget.")
        dataset = records
    else:
        if budget is None:
            raise InputError(
                "explore: say budget=..., all the epsilon these records may ever cost."
            )
        dataset = PrivateDataset(records, budget=budget, unit="record", n="public")
    return Session(
        title="Your records",
        about="What is shown of them has been released and paid for.",
        dataset=dataset,
        public=public,
    )
