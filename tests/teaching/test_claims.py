"""What lectures say of their results holds in nearly all runs, not in some only.

A scene is a part of a lecture, whose own cells run again and again with fresh noise. A claim quotes
the lecture; the function below the quotation computes the claim from the names that the cells
define. What a lecture passes to ``teaching.claim`` is a claim as well.

Times are in no scene, since they depend on the machine. Lecture 1 lets students find nearly all
results themselves; its scene has the claims of its solutions.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import MagicMock

import matplotlib.pyplot as plt
import numpy as np
import pytest

import snhkit as snh
from snhkit import teaching
from snhkit.experiment import compare
from snhkit.privacy import audited_epsilon

FOLDER = Path(__file__).parents[2] / "notebooks"
SEEDS, RELEASE_SEEDS = 5, 50
PRINTED = 0.9
"""How often a statement of ``teaching.claim`` must hold."""


@dataclass(frozen=True)
class Scene:
    """Code cells of a lecture, by their ids: those to run once, and those to run for each seed."""

    lecture: str
    once: str
    again: str
    slow: bool = False
    claims: list[tuple[str, Callable[..., Any], float]] = field(default_factory=list)

    def claim(self, says: str, rate: float = 1.0) -> Callable[..., Any]:
        """Add a quotation, the function that computes it, and how often it must be true."""

        def add(holds: Callable[..., Any]) -> Callable[..., Any]:
            self.claims.append((says, holds, rate))
            return holds

        return add


class Names(dict[str, Any]):
    """The names that cells defined, as attributes."""

    __getattr__ = dict.__getitem__


def sources(lecture: str) -> dict[str, str]:
    (path,) = FOLDER.glob(f"{lecture}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in cells}


def run(lecture: str, cells: str, names: Names) -> None:
    for name in cells.split():
        lines = sources(lecture)[name].splitlines()
        with redirect_stdout(StringIO()):
            exec("\n".join(line for line in lines if not line.startswith("%")), names)
    plt.close("all")


def rates(scene: Scene, seeds: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple]:
    """Return for each claim the share of seeds in which it holds, and the share that must."""
    held, printed = defaultdict(list), []
    monkeypatch.setattr(teaching, "claim", lambda holds, says, other: printed.append((holds, says)))
    names = Names(display=MagicMock(), seed=0)
    run(scene.lecture, scene.once, names)
    for seed in range(seeds):
        names["seed"] = seed
        printed.clear()
        run(scene.lecture, scene.again, names)
        for says, holds, rate in scene.claims:
            held[says, rate].append(bool(holds(names)))
        for place, (holds, _) in enumerate(printed):
            held[f"printed statement {place + 1}", PRINTED].append(bool(holds))
    for value in names.values():
        if isinstance(value, TemporaryDirectory):
            value.cleanup()
    return {says: (float(np.mean(values)), rate) for (says, rate), values in held.items()}


TRACES = Scene("00", "set-up parameters a-trace", "")
REBUILDING = Scene("00", "set-up parameters quarter", "")
DEFENCE = Scene(
    "00", "set-up parameters a-trace quarter rebuilt a-table", "the-defence still-of-use"
)


@TRACES.claim("But every curve rises with the\nnumber of clues until it is at 100 %")
def _(n):
    hours = teaching.invented_hours(n.records, seed=n.seed)
    traces = [teaching.Traces(n.records, hours, *width) for width in ((250, 1), (2_000, 24))]
    n["curves"] = np.array([[t.unicity(k, people=80) for k in (1, 3, 8)] for t in traces])
    return ((np.diff(n.curves) > 0) | (n.curves[:, :-1] == 1)).all()


@TRACES.claim("Rounding lowers the curves, by much if cells and intervals are large")
def _(n):
    return n.curves[1, 1] < 0.5 * n.curves[0, 1]


def share_right(n, boxes: int, multiple: int) -> float:
    asked = teaching.random_boxes(n.quarter, boxes, seed=n.seed)
    answers = multiple * np.rint(snh.exact_counts(n.homes, asked) / multiple)
    found = teaching.rebuilt(teaching.cells_in(n.quarter, asked), answers).reshape(15, 15) > 0.5
    return float(np.mean(found == n.lives))


@REBUILDING.claim("all answers together reveal every home, for nearly all draws of boxes", 0.9)
def _(n):
    return share_right(n, 400, 1) == 1


@REBUILDING.claim("Against multiples of 3, he nearly always needs only more questions", 0.9)
def _(n):
    return share_right(n, 100, 3) < 0.8 < share_right(n, 1_600, 3) - 0.05


@REBUILDING.claim("so it is zero with a probability of $e^{-0.24}$, or 79 %")
def _(n):
    others = np.random.default_rng(n.seed).binomial(1_500_000, 50.0**-4, 100_000)
    return abs(np.mean(others == 0) - 0.79) < 0.01


@DEFENCE.claim("the noise is larger than the counts")
def _(n):
    answers = n.release.answer(n.quarter.boxes()).reshape(15, 15)
    return np.abs(answers - n.lives).mean() > 1


@DEFENCE.claim("No count is hidden, and none is exact. Noise makes some counts negative")
def _(n):
    return (n.noisy_counts < 0).any()


READING = Scene("01", "setup parameters", "")


def bars(n, method, side_m: float) -> tuple[float, float, float]:
    """Return the error bar at ε, that at 4 ε, and the mean error at ε, of squares round records."""
    data = snh.PrivateDataset(n.records, budget=3, unit="record", n_public=True)
    boxes = snh.RangeQueries.squares(n.records.region, n.records.xy[:300], side_m)
    few, many = (data.release(method, epsilon=times * n.EPSILON) for times in (1, 4))
    off = np.abs(few.answer(boxes) - snh.exact_counts(n.records, boxes)).mean()
    return few.noise_sd(boxes).mean(), many.noise_sd(boxes).mean(), off


@READING.claim("By a little more than two, not by four")
def _(n):
    n["records"] = snh.synthetic_points(n.CITY, n=n.N)
    at, at_four, _ = bars(n, snh.Identity(), 3_000)
    return 2 < at / at_four < 3


@READING.claim("UG's error bars shrink by two, and in\nsmall boxes hardly at all")
def _(n):
    (wide, wide_at_four, _), (at, at_four, _) = (bars(n, snh.UniformGrid(), m) for m in (3_000, 20))
    return 1.8 < wide / wide_at_four < 2.2 and at / at_four < 1.3


@READING.claim("large for Identity in the large box")
def _(n):
    return bars(n, snh.Identity(), 3_000)[0] > 2 * bars(n, snh.UniformGrid(), 3_000)[0]


@READING.claim("In the small box, UG's ± is small, but its error may still be\nlarge")
def _(n):
    at, _, off = bars(n, snh.UniformGrid(), 100)
    return off > 5 * at


BEGIN_02 = "set-up set-up-snhkit parameters the-file-drawn two-worlds"
MAP = Scene("02", BEGIN_02, "the-ledger three-answers a-grid repaired")
BEGIN_02B = "set-up parameters the-file-drawn"
SERVERS = Scene("02b", BEGIN_02B, "sloppy-server naive bits-attack")
GUESSES = Scene("02b", BEGIN_02B + " four-boxes", "guessing guessing-run", slow=True)


@MAP.claim("Errors of ten, five or two records are small compared with this count")
def _(n):
    return n.true_count > 100


@MAP.claim("the sum is far too large")
def _(n):
    return n.clipped.sum() > 1.1 * n.N and n.clipped.sum() - n.N > abs(n.noisy.sum() - n.N)


@SERVERS.claim("At a smaller ε the attack works more often")
def _(n):
    answers = {scale: n.some_answers(17, scale=scale) for scale in (10, 50)}
    shown = [1 - n.possible(a, 18, scale).mean() for scale, a in answers.items()]
    return 0.1 < shown[0] < shown[1]


@SERVERS.claim("the mean of enough answers has almost no noise")
def _(n):
    return round(n.means[-1]) == n.true_count


@GUESSES.claim("The direct\nquestion *reaches* the bound")
def _(n):
    return np.abs(n.right.iloc[:, 2] - n.right.iloc[:, 0]).max() < 0.01


@GUESSES.claim("four boxes do much worse")
def _(n):
    return (n.right["four boxes"] < n.right.iloc[:, 2] - 0.02)[2:].all()


BEGIN_03 = "set-up set-up-snhkit parameters buy-grids one-box one-box-in-numbers measure measured"
WIDTHS = Scene("03", BEGIN_03 + " the-stars", "")


def bought(n, **builders):
    data = snh.PrivateDataset(n.records, budget=2, unit="record", n_public=True)
    return {name: data.release(b, epsilon=n.EPSILON) for name, b in builders.items()}


@WIDTHS.claim("the error is many times larger than noise explains")
def _(n):
    (release,) = bought(n, widest=snh.Identity(400)).values()
    return abs(release.answer(n.box) - n.truth)[0] > 5 * release.noise_sd(n.box)[0]


@WIDTHS.claim("for small boxes its cells are far too wide")
def _(n):
    return n.rule > 2 * n.best[100]


@WIDTHS.claim(
    "On small boxes in a city like this, the errors of both adaptive methods are much smaller"
)
def _(n):
    boxes = snh.RangeQueries.squares(n.city, n.some, 100)
    releases = bought(n, UG=snh.UniformGrid(), AG=snh.AdaptiveGrid(), tree=snh.PrivTree())
    errors = compare(releases, boxes, truth=n.records).set_index("method")["rel_error"]
    return errors[["AG", "tree"]].max() < 0.8 * errors["UG"]


CELLS = Scene("04", "setup parameters records", "")
TOY = Scene("04", "setup toy", "")


@CELLS.claim("With ε = 0.1 the error of a\ncount is about ten")
def _(n):
    release = n.data.__class__(n.records, budget=1, unit="record", n_public=True).release(
        snh.Identity(cell_m=n.CELL_M), epsilon=n.EPSILON
    )
    grid = release.model.grid
    return abs(np.abs(release.model.values - grid.count(n.records).counts).mean() - 10) < 2


@TOY.claim("or by 0\nif noise explains the mean of the row")
def _(n):
    return n.off["cleaned"] < n.off["noisy"]


TUNED = Scene("05", "setup parameters village risk plant verdict audit", "audited", slow=True)
WIDTHS_05 = Scene("05", "setup parameters city labels", "")


@TUNED.claim("With Ada's record it is *always* this width, and without it *never*, so no ε holds")
def _(n):
    return n.tuned > n.EPSILON


@TUNED.claim("and computes a lower bound on ε, with 99 % certainty", 0.96)
def _(n):
    return n.fixed <= n.EPSILON


@WIDTHS_05.claim("The best of 24 releases is partly the best by chance", 0.9)
def _(n):
    data = snh.PrivateDataset(n.private, budget=32 * n.EPSILON, unit="record", n_public=True)
    asked = snh.RangeQueries.sample(n.private, 20, seed=n.seed)
    tried = {
        (width, draw): data.release(snh.Identity(cell_m=width), epsilon=n.EPSILON)
        for width in (24, 35, 50)
        for draw in range(8)
    }
    errors = compare(tried, asked, truth=n.private).set_index("method").rel_error
    best = snh.Identity(cell_m=errors.idxmin()[0])
    fresh = {draw: data.release(best, epsilon=n.EPSILON) for draw in range(8)}
    return errors.min() < compare(fresh, asked, truth=n.private).rel_error.mean()


@WIDTHS_05.claim("Each line ends lower than it begins")
def _(n):
    known = n.select.labels.assign(people=lambda t: t.n * t.epsilon).sort_values("people")
    ends = known.groupby("dataset")["cell_m"].agg(["first", "last"])
    return (ends["last"] < ends["first"]).all()


@WIDTHS_05.claim("spends up to 3 % of ε on one noisy number")
def _(n):
    data = snh.PrivateDataset(n.private, budget=n.EPSILON, unit="record", n_public=True)
    choice, *_ = data.release(snh.Identity(), epsilon=n.EPSILON).spends
    return choice.epsilon <= 0.03 * n.EPSILON


INTERVALS = Scene(
    "06", "file parameters file-written read", "promise release ask coverage", slow=True
)


@INTERVALS.claim('So "nine in ten" is true of boxes anywhere only', 0.9)
def _(n):
    return n.coverage.loc["anywhere"].min() >= 0.85


@INTERVALS.claim("around records its errors are larger than the\nintervals allow", 0.9)
def _(n):
    return n.coverage.loc["around records", "denoised grid"] < 0.85


LUCK = Scene("07", "", "")


@LUCK.claim("one in 25 of these experiments ends with such a figure")
def _(n):
    winners = np.random.default_rng(n.seed).integers(5, size=(100_000, 3))
    return abs(np.mean((winners == winners[:, :1]).all(axis=1)) - 1 / 25) < 0.005


SIZES = Scene("08", "set-up parameters written", "scanned-run errors-by-size", slow=True)


@SIZES.claim("The relative noise falls in proportion to 1/n, but the total error does not")
def _(n):
    falls = n.by_size.iloc[0] / n.by_size.iloc[-1]  # the file is a hundred times as large
    return 80 < falls["of noise alone"] < 125 and falls["mean relative error"] < 50


@SIZES.claim("The releases have the same size, since they contain cells and no records")
def _(n):
    sizes = [len(release.to_bytes()) for release in n.releases.values()]
    return max(sizes) < 1.1 * min(sizes)


AUDITS = Scene("09", "set-up parameters suspects-drawn", "first-audit-run", slow=True)
FAULTY = Scene("09", "set-up parameters the-map", "")


@AUDITS.claim("but not on 0 and 1: an answer other than 0 *proves* that a record is there")
def _(n):
    return audited_epsilon(n.suspects["C"], 0, 1, n.RUNS // 2) > n.EPSILON


@AUDITS.claim("A and D are private, so the audit refutes them only by chance", 0.96)
def _(n):
    return max(audited_epsilon(n.suspects[k], 0, 1, n.RUNS // 2) for k in "AD") <= n.EPSILON


@FAULTY.claim(
    "Any empty cell. In a cell with records, one more record changes a noisy count by one"
)
def _(n):
    def bound(at):
        place = (np.array(at) + 0.5) * n.grid.cell_m
        more = snh.Points(n.records.region, np.vstack([n.records.xy, place]))
        return audited_epsilon(
            lambda file: teaching.faulty_map(file, n.grid, n.EPSILON)[at], n.records, more, runs=200
        )

    empty = tuple(np.argwhere(n.counts == 0)[0])
    fullest = np.unravel_index(n.counts.argmax(), n.counts.shape)
    return bound(fullest) <= n.EPSILON < bound(empty)


UNITS = Scene("10", "set-up parameters hours-drawn a-week-drawn", "three-units")
HABITS = Scene("10", "set-up parameters", "habit-drawn", slow=True)
TREE = Scene("10", "set-up parameters", "tree-theory")


@UNITS.claim("Even the error of the first map is larger than its noise")
def _(n):
    _, noise, error, _ = n.rows["record"]
    return error > noise


@UNITS.claim("The other two lack many records")
def _(n):
    return all(n.rows[unit][0] < 0.9 for unit in ("user-day", "user"))


@HABITS.claim("the curve stays below the dotted line all year")
def _(n):
    return np.max(n.curves["ε = 1 a year"]) < teaching.surest(1)


@TREE.claim("for a year of daily counts, adding up the counts was good enough")
def _(n):
    return n.theory.loc[365, "added up"] < n.theory.loc[365, "tree, at most"]


PROMISES = Scene("11", "set-up parameters", "central-and-local geo-moved maps-drawn")


@PROMISES.claim("In the central map, the mean error of a cell is about 1/ε, in any city")
def _(n):
    return abs(n.errors[f"central, ε = {n.EPSILON:g}"] * n.EPSILON - 1) < 0.35


@PROMISES.claim("but its errors are √n times as large")
def _(n):
    central, local = (n.errors[f"{who}, ε = {n.EPSILON:g}"] for who in ("central", "local"))
    return local > 20 * central


CHOICES = Scene("12", "set-up parameters squares chances windows", "lost stops")
LOSSES = Scene("13", "set-up parameters", "losses losses-drawn exact bounds")
MAPS = Scene("13", "set-up parameters", "maps by-hand", slow=True)
WAYS = Scene(
    "14", "set-up parameters model-made noise-drawn on-boxes on-records",
    "on-boxes-run bought", slow=True,
)  # fmt: skip


@CHOICES.claim("One record changes up to 25 of them by 1")
def _(n):
    place = np.random.default_rng(n.seed).uniform(0, n.city.side_m, 2)
    holds = ((n.corners <= place) & (place < n.corners + n.SIDE_M)).all(axis=1)
    return holds.sum() <= 25 == n.covering


@CHOICES.claim("the chosen one has at least $\\max c - \\ln(k/\\beta)/\\varepsilon$ records")
def _(n):
    return np.mean(n.lost["exponential mechanism"] <= n.bound) >= 0.95 - 0.08  # 200 runs


@CHOICES.claim("Both stop too early more often than too late")
def _(n):
    return all(np.mean(places < n.end) > np.mean(places > n.end) for places in n.stops.values())


@LOSSES.claim("The walk ends near its mean, which is much smaller.")
def _(n):
    mean = n.ANSWERS * n.EACH * np.tanh(n.EACH / 2)
    return abs(n.losses.mean() - mean) < 0.05 and mean < 0.1 * n.ANSWERS * n.EACH


@LOSSES.claim("which have the probability δ at most")
def _(n):
    return n.losses.max() <= n.bound  # 20,000 runs, and δ is a millionth


@LOSSES.claim("For a few answers, basic composition is the smallest of the three bounds")
def _(n):
    return n.bills.iloc[0, :3].idxmin() == n.bills.columns[0]


@MAPS.claim("The ledger's ε is a little smaller")
def _(n):
    return 0.8 * n.by_hand < float(n.data.ledger.spent) < n.by_hand


@WAYS.claim("Neither $C$ nor the number of records changes this ratio")
def _(n):
    return n.error(n.trained_on_boxes(100, clip=1_000)) > n.error(n.even)


@WAYS.claim("any number of steps")
def _(n):
    return n.curves["counts first"][-1] < n.curves["counts first"][0]


SCENES = {name: scene for name, scene in globals().items() if isinstance(scene, Scene)}


@pytest.mark.parametrize("name", SCENES)
def test_a_claim_is_quoted_from_its_lecture(name):
    text = "\n".join(sources(SCENES[name].lecture).values())
    assert [says for says, _, _ in SCENES[name].claims if says not in text] == []


def judged(name: str, seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNHKIT_LEDGERS", os.devnull)
    monkeypatch.setattr(plt, "show", lambda: None)
    found = rates(SCENES[name], seeds, monkeypatch)
    for says, (share, rate) in found.items():
        print(f"{name.lower()}: {share:.0%} of {seeds} (at least {rate:.0%}): {says}")
    assert [
        says for says, (share, rate) in found.items() if share < int(rate * seeds) / seeds
    ] == []


@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if not scene.slow])
def test_claims_hold_over_some_seeds(name, monkeypatch):
    judged(name, SEEDS, monkeypatch)


@pytest.mark.release
@pytest.mark.parametrize("name", SCENES)
def test_claims_hold_over_many_seeds(name, monkeypatch, capsys):
    with capsys.disabled():  # the table of rates, which pytest -n 0 shows
        judged(name, RELEASE_SEEDS, monkeypatch)
