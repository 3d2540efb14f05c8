"""Comparisons that build several methods at several epsilons and measure their errors."""

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
from snhkit.experiment.compare import OWNER_ONLY, compare, compare_sizes
from snhkit.geometry import Points, RangeQueries
from snhkit.methods import METHODS, method, title
from snhkit.privacy import Epsilon, exact, written
from snhkit.release import Release


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
