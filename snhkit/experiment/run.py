"""Build several methods at several epsilons, and measure them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from snhkit.builders.width.cell_width import Width
from snhkit.dataset import PrivateDataset
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.experiment.compare import compare
from snhkit.experiment.methods import method
from snhkit.geometry import Points, RangeQueries
from snhkit.privacy import Epsilon, exact, written
from snhkit.release import Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Plan", "run"]


@dataclass(frozen=True)
class Plan:
    """What is compared.

    Parameters
    ----------
    methods : sequence of str
        Short names.
    epsilons : sequence of numbers
        Each method is built at each.
    sizes_m : (float, float)
        Query sizes that methods may prepare for, in metres.
    cell_m : float, "bought" or "auto", optional
        Cell width for the methods that need one; as each chooses it by itself otherwise.
    seed : int, optional
        Makes the noise replayable; from the operating system's entropy otherwise.
    """

    methods: Sequence[str]
    epsilons: Sequence[Epsilon]
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    cell_m: Width = None
    seed: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Releases and how they did; the table is for the owner's eyes.

    Parameters
    ----------
    table : DataFrame
        As ``compare`` makes it, with ``build_s``.
    releases : dict
        By short name and epsilon.
    dataset : PrivateDataset
        With the ledger of it all.
    """

    table: "pd.DataFrame"
    releases: dict[tuple[str, float], Release]
    dataset: PrivateDataset

    @property
    def cautions(self) -> list[str]:
        """A sentence for each method whose promise is weaker than pure epsilon."""
        weaker = {name: release.delta for (name, _), release in self.releases.items()}
        return [
            f"{method(name).title} promises less than pure epsilon: delta = {written(delta)}. "
            "A demonstration, not to publish."
            for name, delta in weaker.items()
            if delta
        ]


def run(records: Points, public: Points | None, queries: RangeQueries, plan: Plan) -> Comparison:
    """Build every method at every epsilon on ``records``, whose number is taken as public.

    Parameters
    ----------
    records : Points
        Private; also the truth that errors are measured against.
    public : Points or None
        Where queries are expected.
    queries : RangeQueries
        What is asked.
    plan : Plan
        What is compared.
    """
    import pandas as pd

    chosen = {name: method(name) for name in plan.methods}
    budget = sum(exact(epsilon) for epsilon in plan.epsilons) * len(chosen)
    dataset = PrivateDataset(records, budget, unit="record", n="public")
    jobs = [(name, epsilon) for epsilon in plan.epsilons for name in chosen]
    releases: dict[tuple[str, float], Release] = {}
    tables = []
    for name, epsilon in (bar := tqdm(jobs, desc="methods", unit="build", leave=False)):
        bar.set_postfix_str(f"{chosen[name].title}, epsilon {epsilon}")
        builder = chosen[name].builder(sizes_m=plan.sizes_m, cell_m=plan.cell_m)
        start = time.perf_counter()
        release = dataset.release(builder, epsilon=epsilon, public=public, seed=plan.seed)
        seconds = time.perf_counter() - start
        releases[name, float(epsilon)] = release
        row = compare({name: release}, queries, truth=records)
        row.insert(4, "build_s", seconds)  # before query_us
        tables.append(row)
    table = pd.concat(tables, ignore_index=True)
    table.attrs = tables[0].attrs
    return Comparison(table, releases, dataset)
