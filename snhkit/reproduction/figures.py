"""The figures of the paper's evaluation (Sec. 6), measured and drawn again."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from tqdm.auto import tqdm

from snhkit.builder import Builder
from snhkit.builders import PGM, Identity, UniformGrid
from snhkit.builders.cell_width import default_cell_width
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment.evaluation import Place, thinned
from snhkit.files import ResumeFile
from snhkit.geometry import Asked, RangeQueries
from snhkit.methods import METHODS, title
from snhkit.neural import MLP, SNH, Networks
from snhkit.reproduction.verdicts import (
    PAPERS_NETWORK,
    cheap,
    deeper_helps,
    falls_and_snh_least,
    more_networks_help,
    no_matter_at_large_k,
    paramselect_wins,
    rises,
    snh_least,
    snh_wins,
    u_shape,
)
from snhkit.select import ParamSelect
from snhkit.viz.figures.style import MethodStyle, method_styles

_SIZES_M = (25.0, 100.0)


@dataclass(frozen=True)
class Effort:
    """The methods, settings and sample sizes for measuring a figure of the paper."""

    further: Sequence[str]  # methods besides those that the paper compares
    epsilons: Sequence[str]
    seeds: Sequence[int]
    queries: int
    most: int  # records; of a larger data set, a random sample is used
    steps: int  # of the paper's network, which its authors train for 10,000 epochs on a GPU
    batch: int

    @classmethod
    def of(cls, quick: bool) -> "Effort":
        """Return the settings of a quick measurement if ``quick``, else of a full one."""
        if quick:
            return cls((), ("0.05", "0.2", "0.8"), (0,), 1_500, 60_000, 200, 2_048)
        further = ("quadtree", "hb2d", "privelet", "hdmm")
        epsilons = ("0.05", "0.1", "0.2", "0.4", "0.8")
        return cls(further, epsilons, (0, 1, 2), 5_000, 10**9, 1_000, 4_096)

    def with_one_seed(self) -> "Effort":
        """Return the same effort with the first seed only, for networks that train for minutes."""
        return replace(self, seeds=self.seeds[:1])

    @property
    def training(self) -> dict[str, Any]:
        """Arguments of ``Networks.paper`` that shorten the training of its networks."""
        return {
            "steps": self.steps,
            "batch": self.batch,
            "learning_rate": 0.002,
            "schedule": "cosine",
        }


@dataclass(frozen=True)
class Job:
    """One point of a plotted figure, with the function that measures the point's value."""

    data: str
    line: str
    x: float
    epsilon: str
    measure: Callable[[], float]


Measure = Callable[[Mapping[str, Place], Effort], list[Job]]
Judge = Callable[["pd.DataFrame"], tuple[bool, str]]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper's evaluation, and how its points are measured and compared.

    ``measure`` returns a ``Job`` for each point; ``judge`` returns whether the table of points
    agrees with what the paper ``said``, and a sentence with the numbers.
    """

    heading: str
    axis: str  # the name of the horizontal axis
    said: str  # the paper's finding, in a sentence
    measure: Measure
    judge: Judge
    value: str = "mean relative error"  # the name of the vertical axis
    parts: tuple[str, ...] = ()  # of the horizontal axis, if its positions are not numbers


def _error(place: Place, builder: Builder, epsilon: str, effort: Effort, **asked) -> float:
    """Return the mean relative error over seeds; ``asked`` may hold ``n`` and ``sizes_m``."""
    n = min(asked.get("n", effort.most), len(place.records), effort.most)
    found = []
    for seed in effort.seeds:
        records = thinned(place.records, n, seed)
        data = PrivateDataset(records, 10**6, unit="record", n_public=True)
        release = data.release(builder, epsilon=epsilon, public=place.public, seed=seed)
        sizes_m = asked.get("sizes_m", _SIZES_M)
        boxes = RangeQueries.sample(records, effort.queries, sizes_m, seed)
        found.append(Asked.of(records, boxes).relative_error(release.answer(boxes)))
    return float(np.mean(found))


def _first(places: Mapping[str, Place]) -> tuple[str, Place]:
    return next(iter(places.items()))


_COMPARED = ("ug", "ag", "privtree", "dawa", "identity", "snh", "denoised")


def _budget(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    lines = {title(key): (METHODS[key].builder(), effort) for key in (*_COMPARED, *effort.further)}
    lines[PAPERS_NETWORK] = (_paper(effort), effort.with_one_seed())
    return [
        Job(name, line, float(e), e, lambda p=place, b=builder, e=e, f=by: _error(p, b, e, f))
        for name, place in places.items() for line, (builder, by) in lines.items()
        for e in effort.epsilons
    ]  # fmt: skip


def _paper(effort: Effort, depth: int = 5, **changes) -> SNH:
    """Return a builder of SNH with two of the paper's networks, trained for fewer steps."""
    settings = {"k": 2, "network": MLP(depth=depth, width=80)} | effort.training
    return SNH.paper(**(settings | changes))


def _cardinality(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    most = min(len(place.records), effort.most)
    return [
        Job(name, title(key), n, "0.2",
            lambda k=key, n=n: _error(place, METHODS[k].builder(), "0.2", effort, n=n))
        for key in _COMPARED for n in (most // 16, most // 4, most)
    ]  # fmt: skip


def _query_size(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    return [
        Job(name, title(key), side, "0.2",
            lambda k=key, s=side: _error(
                 place, METHODS[k].builder(), "0.2", effort, sizes_m=(s, s)))
        for key in _COMPARED for side in (25.0, 50.0, 75.0, 100.0)
    ]  # fmt: skip


def _modelling(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    lines = {"SNH": SNH("auto"), "Identity@ParamSelect": Identity("auto")}
    if PGM.extra.installed:
        lines["PGM@ParamSelect"] = PGM("auto")
    return [
        Job(name, line, float(e), e, lambda b=builder, e=e: _error(place, b, e, effort))
        for line, builder in lines.items() for e in effort.epsilons
    ]  # fmt: skip


def _uniformity(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    lines = {"SNH": "area", "SNH+QS": "learned"}
    return [
        Job(name, line, k, "0.2",
            lambda k=k, s=scaling: _error(
                place, _paper(effort, k=k, scaling=s), "0.2", effort.with_one_seed()))
        for line, scaling in lines.items() for k in (1, 2, 4)
    ]  # fmt: skip


def _impact_of_k(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    return [
        Job(name, f"epsilon {e}", k, e,
            lambda k=k, e=e: _error(place, SNH(networks=Networks(k=k)), e, effort))
        for e in ("0.2", "0.8") for k in (1, 2, 8)
    ]  # fmt: skip


def _ug_width(place: Place, epsilon: str, effort: Effort) -> float:
    n = min(len(place.records), effort.most)
    return place.records.region.side_m / UniformGrid().cells_per_side(n, float(epsilon))


def _paramselect(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    return [
        Job(name, line, float(e), e,
            lambda w=width, e=e: _error(
                 place, SNH(w if w == "auto" else _ug_width(place, e, effort)), e, effort))
        for line, width in (("SNH@ParamSelect", "auto"), ("SNH@UG", "ug"))
        for e in effort.epsilons
    ]  # fmt: skip


def _rho(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    n = min(len(place.records), effort.most)
    jobs = []
    for e in ("0.2", "0.8"):
        usual = default_cell_width(n, float(e))
        chosen = ParamSelect.pretrained("snh").cell_width(n, float(e), place.public)
        for line, widths in (
            (f"epsilon {e}", [round(usual * f, 1) for f in (0.5, 0.75, 1.0, 1.5, 3.0)]),
            (f"ParamSelect, epsilon {e}", [round(float(chosen), 1)]),
        ):
            jobs += [
                Job(name, line, w, e, lambda w=w, e=e: _error(place, SNH(w), e, effort))
                for w in widths
            ]
    return jobs


def _depth(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)
    return [
        Job(name, f"epsilon {e}", depth, e,
            lambda d=depth, e=e: _error(place, _paper(effort, d), e, effort.with_one_seed()))
        for e in ("0.2", "0.8") for depth in (2, 5, 10, 20, 40)
    ]  # fmt: skip


def _costs(places: Mapping[str, Place], effort: Effort) -> list[Job]:
    name, place = _first(places)

    @cache
    def measured(key: str) -> tuple[float, float, float]:
        records = thinned(place.records, min(len(place.records), effort.most))
        data = PrivateDataset(records, 10**6, unit="record", n_public=True)
        boxes = RangeQueries.sample(records, 5_000)
        start = time.perf_counter()
        release = data.release(METHODS[key].builder(), epsilon="0.2", public=place.public, seed=0)
        build = time.perf_counter() - start
        release.answer(boxes)
        start = time.perf_counter()
        release.answer(boxes)
        query = (time.perf_counter() - start) / len(boxes)
        return build, 1e6 * query, len(release.to_bytes()) / 1e6

    return [
        Job(name, title(key), x, "0.2", lambda k=key, x=x: measured(k)[x])
        for key in ("identity", "snh", "denoised")
        for x in range(3)
    ]


FIGURES: dict[str, PaperFigure] = {
    "budget": PaperFigure(
        "Impact of the privacy budget", "epsilon",
        "At epsilon 0.05 to 0.8, the error of SNH is smaller than those of UG, AG, PrivTree and "
        "DAWA, by up to 50 %.",
        _budget, snh_wins),
    "cardinality": PaperFigure(
        "Impact of data cardinality", "n",
        "The error of all methods falls as n grows, and SNH has the smallest error.",
        _cardinality, falls_and_snh_least),
    "query-size": PaperFigure(
        "Impact of query size", "side of the squares, m",
        "The error of all methods grows with the size of the squares.",
        _query_size, rises),
    "modelling": PaperFigure(
        "Modelling choice", "epsilon",
        "The error of SNH is smaller than those of Identity@ParamSelect and PGM@ParamSelect; the "
        "difference falls as epsilon grows.",
        _modelling, snh_least),
    "uniformity": PaperFigure(
        "Impact of the uniformity assumption", "k",
        "The errors of SNH+QS and SNH differ at small k only.",
        _uniformity, no_matter_at_large_k),
    "k": PaperFigure(
        "Impact of k", "k", "At a large epsilon more networks reduce the error substantially.",
        _impact_of_k, more_networks_help),
    "paramselect": PaperFigure(
        "ParamSelect against UG's rule", "epsilon",
        "SNH has a much smaller error with ParamSelect's cell width than with UG's.",
        _paramselect, paramselect_wins),
    "rho": PaperFigure(
        "Impact of rho", "cell width, m",
        "The error is smallest at a width between narrow and wide cells, and ParamSelect's width "
        "is near the best.",
        _rho, u_shape),
    "depth": PaperFigure(
        "Impact of model depth", "layers",
        "More layers reduce the error slightly, but very deep networks have larger errors.",
        _depth, deeper_helps),
    "costs": PaperFigure(
        "Training time, query time and model size", "",
        "SNH takes up to 20 minutes to train on a GPU, 329 µs per query, and 4.06 MB.",
        _costs, cheap, "seconds to build, microseconds per query, megabytes of the file",
        ("s to build", "µs per query", "MB")),
}  # fmt: skip
"""The figures of the paper's evaluation, by short name."""


def figure(
    name: str,
    places: Mapping[str, Place],
    *,
    quick: bool,
    file: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """Return the points of a figure of the paper, measured on data sets by name.

    ``quick`` measures less. Finished points are stored in ``file``, for the owner only, and a
    later call continues from it. ``cpu_s`` has the seconds of processor time of each point.
    """
    if name not in FIGURES:
        raise InputError(f"there is no figure {name!r}; the figures are {', '.join(FIGURES)}.")
    effort = Effort.of(quick)
    return _finished(FIGURES[name].measure(places, effort), name, places, effort, file)


def _finished(
    jobs: Sequence[Job],
    name: str,
    places: Mapping[str, Place],
    effort: Effort,
    file: str | os.PathLike[str] | None,
) -> pd.DataFrame:
    """Return all points of a figure; points that are not in the file yet are measured first."""
    measures = ["value", "cpu_s"]
    settings = {"bands_m": [[0, 0]], "measures": measures, "snhkit": version("snhkit")}
    done = ResumeFile.open(file, settings)
    digests = {data: places[data].digest for data in {job.data for job in jobs}}
    rows = []
    for job in tqdm(jobs, name, unit="build", leave=False):
        point = {"data": job.data, "line": job.line, "x": float(job.x), "epsilon": job.epsilon}
        key = json.dumps({"figure": name, **point, "effort": asdict(effort)})
        digest = digests[job.data]
        if (key, digest) not in done.rows:
            start = time.process_time()
            value = float(job.measure())
            done.add(key, digest, [[value, round(time.process_time() - start, 2)]])
        found = dict(zip(measures, done.rows[key, digest][0], strict=True))
        rows.append(point | {"epsilon": float(job.epsilon)} | found)
    return pd.DataFrame(rows)


_MOST_TICKS = 6


def reproduction_figure(told: PaperFigure, table: pd.DataFrame) -> Figure:
    """Draw a figure of the paper again: lines by data set, or bars if ``told`` has parts."""
    if told.parts:
        return _bars(told, table)
    names = list(dict.fromkeys(table["data"]))
    styles = _styles(table)
    drawn = Figure(figsize=(4.6 * len(names) + 1.6, 3.6), layout="constrained")
    axes = drawn.subplots(1, len(names), squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        part = table[table["data"] == name]
        lines: Any = part.groupby("line", sort=False)
        for line, unordered in lines:
            points = unordered.sort_values("x")
            style = dict(styles[str(line)].line)
            axis.plot(points["x"], points["value"], label=str(line), **style)
        if told.axis in ("epsilon", "n", "k", "layers"):
            axis.set_xscale("log")
        ticks = sorted(set(part["x"]))
        if len(ticks) <= _MOST_TICKS:
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=30)
            axis.minorticks_off()
        axis.set(title=name, xlabel=told.axis, ylabel=told.value)
        axis.set_ylim(0, 1.05 * part["value"].max())
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    drawn.suptitle(told.heading)
    return drawn


def _styles(table: pd.DataFrame) -> dict[str, MethodStyle]:
    """Return the style of each line; PGM@ParamSelect has PGM's if no other line has it."""
    lines = [str(line) for line in dict.fromkeys(table["line"])]
    methods = [line.partition("@")[0] for line in lines]
    if len(set(methods)) < len(lines):
        methods = lines
    styles = method_styles(methods)
    return {line: styles[method] for line, method in zip(lines, methods, strict=True)}


def _bars(told: PaperFigure, table: pd.DataFrame) -> Figure:
    """Return a figure with a bar for each line, one panel for each position in ``told.parts``."""
    drawn = Figure(figsize=(3.4 * len(told.parts), 2.8), layout="constrained")
    axes = drawn.subplots(1, len(told.parts), squeeze=False)[0]
    styles = _styles(table)
    for x, (axis, name) in enumerate(zip(axes, told.parts, strict=True)):
        for _, row in table[table["x"] == x].iterrows():
            bar = axis.bar(str(row["line"]), row["value"], **styles[str(row["line"])].bar)
            axis.bar_label(bar, fmt="%.3g")
        axis.margins(y=0.15)
        axis.set_title(name)
        axis.tick_params(axis="x", labelrotation=20)
    drawn.suptitle(f"{told.heading}: {table['data'].iloc[0]}")
    return drawn
