"""Comparisons that build several methods at several epsilons and measure their errors."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from snhkit.builder import Builder
from snhkit.builders.width.cell_width import Width
from snhkit.dataset import PrivateDataset
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.experiment.compare import OWNER_ONLY, compare, compare_sizes
from snhkit.geometry import Points, RangeQueries
from snhkit.methods import METHODS, method, title
from snhkit.privacy import Epsilon, exact, written
from snhkit.release import Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Plan", "run"]


@dataclass(frozen=True)
class Plan:
    """The methods and epsilons of a comparison.

    Parameters
    ----------
    methods : sequence of str
        Short names of methods.
    epsilons : sequence of numbers
        Values of epsilon. Each method makes one release for each value.
    sizes_m : (float, float)
        Smallest and largest query size in metres, for methods that prepare for query sizes.
    cell_m : float, "bought" or "auto", optional
        The cell width in metres, or a way to choose the width, as in ``Identity``; for methods with
        grids. By default, each method chooses a width in its own way.
    seed : int, optional
        The seed of the noise, for research only: anyone who knows the seed can subtract the noise.
        By default, the noise is drawn from the operating system's entropy.
    builders : mapping of str to Builder
        Further builders to compare, by the title that tables show: builders without a short name,
        such as ``{"Wards": Tessellation(frame)}``, or methods with other hyperparameters.

    Raises
    ------
    InputError
        If a title in ``builders`` is a short name or the title of a method.

    Examples
    --------
    >>> import snhkit as snh
    >>> plan = Plan(["ug"], ["0.2"], builders={"Identity, 30 m": snh.Identity(30)})
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
    """Releases with their measured errors, which only the owner of the records may see.

    Parameters
    ----------
    table : DataFrame
        The table of ``compare``, with the short name or title of the method in ``method``, and with
        a further column ``build_s``, the duration of the build in seconds.
    sizes : DataFrame
        The table of ``compare_sizes``, with the same names of methods.
    releases : dict of (str, float) to Release
        The releases, by short name or title, and by epsilon.
    dataset : PrivateDataset
        The dataset of the releases, whose ledger has an entry for each release.
    """

    table: "pd.DataFrame"
    sizes: "pd.DataFrame"
    releases: dict[tuple[str, float], Release]
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
        """Return the comparison as JSON values, one row for each release.

        Returns
        -------
        list of dict
            For each release, the values of ``table`` by column; "sizes", a list with the errors for
            each size band; and "warning", a sentence that says that the row is for the owner of the
            records only.
        """
        bands: dict[tuple[str, float], list[dict[str, Any]]] = {}
        for band in self.sizes.to_dict(orient="records"):
            name = (band.pop("method"), band.pop("epsilon"))
            bands.setdefault(name, []).append({str(key): value for key, value in band.items()})
        return [
            {str(key): value for key, value in row.items()}
            | {"sizes": bands.get((row["method"], row["epsilon"]), []), "warning": OWNER_ONLY}
            for row in self.table.to_dict(orient="records")
        ]


def run(records: Points, public: Points | None, queries: RangeQueries, plan: Plan) -> Comparison:
    """Build every method at every epsilon, and measure each release against the true records.

    Parameters
    ----------
    records : Points
        The private records, whose number is treated as public. Errors are measured against the same
        records.
    public : Points or None
        Public points that show where queries are expected.
    queries : RangeQueries
        q boxes that every release answers.
    plan : Plan
        The methods and epsilons to compare.

    Returns
    -------
    Comparison
        The releases and their errors.

    Raises
    ------
    InputError
        If a method is unknown, or cannot be built with these settings.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", n=1_000)
    >>> boxes = snh.RangeQueries.sample(records, 100)
    >>> found = run(records, None, boxes, Plan(["ug"], ["0.2", "0.8"]))
    >>> found.table[["method", "epsilon"]].to_numpy().tolist()
    [['ug', 0.2], ['ug', 0.8]]
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
