"""Experiments on public data that find the best value of a parameter."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from snhkit.builder import Builder
from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.files import ResumeFile
from snhkit.geometry import Asked, Points, RangeQueries
from snhkit.privacy import (
    Measurements,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    Terms,
    exact,
)
from snhkit.select.features import entropy
from snhkit.select.labels import COLUMNS

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client


class Experiment(NamedTuple):
    """One release of a public data set whose error ``ParamSelect.fit`` measures, as texts."""

    dataset: str
    points: str  # a digest of the data set's points
    n: str
    epsilon: str
    value: str  # of the parameter that ``fit`` varies
    repeat: str

    @property
    def key(self) -> tuple[str, str]:
        """The key of the experiment's error in a ``ResumeFile``."""
        return json.dumps(self._asdict()), self.points


@dataclass(frozen=True)
class Search:
    """The settings of ``ParamSelect.fit``, whose parameters the fields are."""

    builder: Builder
    parameter: str
    sizes_m: tuple[float, float]
    queries: int
    seed: int

    def __post_init__(self) -> None:
        if not dataclasses.is_dataclass(self.builder) or isinstance(self.builder, type):
            raise InputError("fit: builder must be a builder such as Identity(), not a class.")
        if self.parameter not in (names := parameters(self.builder)):
            raise InputError(
                f"{type(self.builder).__name__} has no parameter {self.parameter!r}; "
                f"it has {', '.join(names) or 'none'}."
            )

    def with_value(self, value: float) -> Builder:
        """Return the builder with the parameter set to a value."""
        return with_parameter(self.builder, self.parameter, value)

    def settings(self) -> dict[str, Any]:
        """Return the settings that all experiments of a search share, as JSON values."""
        others = parameters(self.builder)
        del others[self.parameter]
        given = ", ".join(f"{name}={value!r}" for name, value in others.items())
        return {
            "builder": f"{type(self.builder).__name__}({given})",
            "parameter": self.parameter,
            "bands_m": [[float(size) for size in self.sizes_m]],
            "measures": ["error"],
            "queries": self.queries,
            "seed": self.seed,
            "snhkit": version("snhkit"),
        }


def parameters(thing: Any) -> dict[str, Any]:
    """Return a dataclass's fields by name, those of inner dataclasses as ``outer.inner``."""
    found = {}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if dataclasses.is_dataclass(value):
            found |= {f"{field.name}.{name}": part for name, part in parameters(value).items()}
        elif field.init:
            found[field.name] = value
    return found


def with_parameter(thing: Any, name: str, value: Any) -> Any:
    """Return a copy of a dataclass with a field, such as ``outer.inner``, set to a value."""
    first, _, rest = name.partition(".")
    inner = with_parameter(getattr(thing, first), rest, value) if rest else value
    return dataclasses.replace(thing, **{first: inner})


@dataclass(frozen=True, eq=False)
class Exam:
    """A public data set, and boxes with their true counts, to measure the errors of releases."""

    points: Points
    asked: Asked

    @classmethod
    def on(cls, points: Points, search: Search) -> "Exam":
        """Return the exam of a data set: squares around its points, with their true counts."""
        boxes = RangeQueries.sample(points, search.queries, search.sizes_m, search.seed)
        return cls(points, Asked.of(points, boxes))

    def terms(self, experiment: Experiment) -> Terms:
        """Return the terms of a release: a record as unit, n public, and the points public too."""
        unit = PrivacyUnit("record")
        return Terms(exact(experiment.epsilon), unit, len(self.points), self.points)

    def error(self, builder: Builder, experiment: Experiment, seed: int) -> float:
        """Build a release, with noise of its own seed, and return the mean relative error."""
        name = json.dumps([seed, *experiment]).encode()
        noise = ReplayableEntropy(int.from_bytes(hashlib.sha256(name).digest()[:8]))
        private = Measurements(PointSource(self.points), self.terms(experiment), noise)
        answers = builder.build(private).answer(self.asked.boxes)
        error = self.asked.relative_error(answers)
        if not np.isfinite(error):
            raise InputError(f"fit: {builder!r} gave answers that are not finite numbers.")
        return error


def best_values(
    search: Search,
    datasets: Mapping[str, Points],
    epsilons: Sequence[float],
    grid: Sequence[float],
    repeats: int,
    path: str | os.PathLike[str] | None,
    n_jobs: int,
    client: "Client | None",
) -> "pd.DataFrame":
    """Return the table of best values, by data set and epsilon, for ``ParamSelect.fit``."""
    import pandas as pd

    _refuse(search, datasets, epsilons, grid, repeats)
    values = {repr(value): value for value in map(_plain, grid)}
    builders = {text: search.with_value(value) for text, value in values.items()}
    prices = {repr(float(exact(epsilon))): float(epsilon) for epsilon in epsilons}
    exams = {name: Exam.on(points, search) for name, points in datasets.items()}
    digests = {name: _digest(points) for name, points in datasets.items()}
    wanted = [
        Experiment(name, digests[name], repr(len(datasets[name])), epsilon, value, repr(repeat))
        for name in exams
        for epsilon in prices
        for value in values
        for repeat in range(repeats)
    ]
    for e in wanted:
        exam = exams[e.dataset]
        builders[e.value].check(exam.points.region, exam.terms(e))
    done = ResumeFile.open(path, search.settings())
    todo = [experiment for experiment in wanted if experiment.key not in done.rows]
    if todo:
        known = len(wanted) - len(todo)
        bar = tqdm(total=len(wanted), initial=known, desc=search.parameter, leave=False)
        calls = ((e, exams[e.dataset], builders[e.value], search.seed) for e in todo)
        with bar, closing(unordered(_run, calls, n_jobs, client)) as results:
            for experiment, error in results:
                key, digest = experiment.key
                done.add(key, digest, [[error]])
                bar.update()
    shape = len(exams), len(prices), len(values), repeats
    errors = np.reshape([done.rows[e.key][0][0] for e in wanted], shape).mean(axis=-1)
    choices = list(values.values())
    rows = [
        (name, len(points), epsilon, entropy(points), choices[best])
        for (name, points), bests in zip(datasets.items(), errors.argmin(axis=-1), strict=True)
        for epsilon, best in zip(prices.values(), bests, strict=True)
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS, search.parameter])


def _run(
    experiment: Experiment, exam: Exam, builder: Builder, seed: int
) -> tuple[Experiment, float]:
    """Run an experiment, and return the experiment and the measured error."""
    return experiment, exam.error(builder, experiment, seed)


def unordered(
    function: Callable[..., Any], calls: Iterable[tuple], n_jobs: int, client: "Client | None"
) -> Generator[Any, None, None]:
    """Yield results of calls as they are known, from processes or a Dask cluster's workers."""
    from joblib import Parallel, delayed, parallel_config

    with nullcontext() if client is None else parallel_config("dask", client=client):
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        results: Any = parallel(delayed(function)(*call) for call in calls)
    with closing(results):
        yield from results


def _refuse(search: Search, datasets: Mapping, epsilons: Sequence, grid: Sequence, repeats: int):
    """Raise InputError if an argument of ``ParamSelect.fit`` is empty or invalid."""
    for name, given in (("datasets", datasets), ("epsilons", epsilons), ("grid", grid)):
        if not len(given):
            raise InputError(f"fit: {name} is empty; give at least one.")
    for name, points in datasets.items():
        if not isinstance(name, str) or not name.isprintable():
            raise InputError(f"fit: a data set must have a printable name, not {name!r}.")
        if not len(points):
            raise InputError(f"fit: the data set {name!r} has no points; leave it out.")
    for value in map(_plain, grid):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise InputError(f"fit: grid must hold finite numbers, not {value!r}.")
    whole("fit: repeats", repeats, least=1)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _digest(points: Points) -> str:
    """Return a digest of the region and the points of a data set, 12 hexadecimal digits."""
    region = json.dumps(points.region.to_dict()).encode()
    return hashlib.sha256(region + points.xy.tobytes()).hexdigest()[:12]
