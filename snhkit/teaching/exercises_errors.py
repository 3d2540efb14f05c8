"""Judges of the exercises of lectures 3, 4, 5 and 7: errors of grids, networks and comparisons."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.builders import Identity
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment import compare
from snhkit.geometry import Grid, Points, RangeQueries, Region, SummedArea
from snhkit.methods import METHODS
from snhkit.teaching.judges import Verdict, function, number, unanswered

_PLAYERS = ("ug", "identity", "ag", "privtree", "dawa")
_EPSILON, _LEAST, _MOST = 0.2, 1_000, 200_000


_noise_of_a_box = partial(
    function,
    cases=[
        ((500, 100, 0.2), 35.3553391),
        ((500, 25, 0.2), 141.421356),
        ((100, 100, 1), 1.41421356),
        ((600, 50, 0.1), 169.705627),
    ],
    why="25 variances of 2/ε² add up to 1,250 at ε = 0.2, and the root of that is 35 records.",
    hint="Each cell has the variance 2/ε². Add up the variances, then take the root.",
    within=0.02,
    slips=[
        (
            lambda side, cell, e: 2**0.5 / e,
            "That is the noise of one cell. How many cells lie in the box?",
        ),
        (
            lambda side, cell, e: 2**0.5 / e * (side / cell) ** 2,
            "Standard deviations do not add up, but variances do.",
        ),
        (
            lambda side, cell, e: 2 / e**2 * (side / cell) ** 2,
            "That is the variance. The standard error is its root.",
        ),
        (
            lambda side, cell, e: side / cell / e,
            "Each cell has the standard deviation √2/ε, not 1/ε.",
        ),
    ],
)


def _one_cell_wins(answer: Any, city: Region) -> Verdict:
    if unanswered(answer):
        return Verdict(None, "Put the positions of about 30,000 records in the place of the dots.")
    try:
        records = Points(city, answer)
    except InputError as error:
        return Verdict(False, str(error), "Positions are in metres from the lower-left corner.")
    if not _LEAST <= len(records) <= _MOST:
        told = f"There are {len(records):,} records."
        return Verdict(False, told, f"Give {_LEAST:,} to {_MOST:,} records.")
    data = PrivateDataset(records, budget=2, unit="record", n_public=True)
    builders = {"one cell": Identity(city.side_m)}
    builders |= {METHODS[name].title: METHODS[name].builder() for name in _PLAYERS}
    built = {k: data.release(b, epsilon=_EPSILON, seed=1) for k, b in builders.items()}
    boxes = RangeQueries.sample(city, 500, (300, 1_000), seed=1)
    table = compare(built, boxes, truth=records)
    errors = dict(zip(table["method"], table["rel_error"], strict=True))
    one = errors.pop("one cell")
    rival = min(errors, key=errors.__getitem__)
    told = f"The error of one cell is {one:.2%}, that of {rival} {errors[rival]:.2%}."
    if one < errors[rival]:
        return Verdict(True, told)
    even = np.bincount((records.xy // (city.side_m / 4) @ [4, 1]).astype(int), minlength=16)
    if even.max() > 1.2 * even.min():
        hint = "The answer of one cell is right if the records are spread evenly. Are yours?"
        return Verdict(False, told, hint)
    return Verdict(False, told, "Random positions form clusters. Use equal distances.")


_CELLS = np.array([[4, -2, 9], [10, 6, 8], [1, 3, -5]])


def _square(
    noisy: NDArray, cell_m: float, x: float, y: float, side_m: float, whole: bool = False
) -> float:
    corner, end = np.array([x, y]), np.array([x, y]) + side_m
    if whole:
        corner, end = np.floor(corner / cell_m) * cell_m, np.ceil(end / cell_m) * cell_m
    grid = Grid(Region.around(lat=0, lon=0, side_m=len(noisy) * cell_m), len(noisy))
    box = RangeQueries(grid.region, *corner[:, None], *(end - corner)[:, None])
    return float(SummedArea(grid, noisy).sums(box)[0])


def _best(off: NDArray) -> int:
    return int(off.mean(axis=1).argmin())


def _from_nearest(counts: NDArray, sizes_m: NDArray, side_m: float, power: int) -> float:
    nearest = np.abs(sizes_m - side_m).argmin()
    return counts[nearest] * (side_m / sizes_m[nearest]) ** power


ERRORS: dict[str, Callable[..., Verdict]] = {
    # 3. Why grids fail
    "03-noise-of-a-box": _noise_of_a_box,
    "03-one-cell-wins": _one_cell_wins,
    "03-ug-width": partial(
        function,
        cases=[
            ((10_000, 50_000, 0.2), 312.5),
            ((3_000, 1_000, 0.42), 428.571429),
            ((900, 20, 0.1), 900),
        ],
        why="50,000 records at ε = 0.2 give √1,000 = 31.6, so 32 cells a side.",
        hint="m is √(nε/10), rounded up. How wide is one of m cells?",
        slips=[
            (lambda side, n, e: side / (n * e / 10) ** 0.5, "Round m up to a whole number."),
            (
                lambda side, n, e: side / max(round((n * e / 10) ** 0.5), 1),
                "Round m up, not to the nearest whole number.",
            ),
            (
                lambda side, n, e: side / max(int((n * e / 10) ** 0.5), 1),
                "Round m up, not down.",
            ),
            (lambda side, n, e: np.ceil((n * e / 10) ** 0.5), "That is m, not the width."),
            (lambda side, n, e: side / np.ceil(n * e / 10), "m is the root of nε/10."),
        ],
    ),
    "03-split": partial(
        function,
        cases=[
            ((np.array([40, 9, 0, 5]), 2, 4.0, np.array([1.5, -2.0, 5.0, 2.0])), [1, 0, 1, 0]),
            ((np.array([3, 1, 0, 30]), 0, 8.0, np.array([-4.0, 2.0, 0.0, -9.5])), [0, 1, 0, 1]),
            ((np.array([25, 16, 9, 0]), 3, 5.0, np.array([-9.0, 0.5, 5.5, 4.5])), [1, 1, 1, 0]),
        ],
        why="So the cost of all splits does not depend on the depth of the tree.",
        hint="Lower the counts, replace those below -step by -step, add noise, compare with 0.",
        slips=[
            (lambda c, depth, step, noise: c + noise > 0, "The counts are not lowered."),
            (
                lambda c, depth, step, noise: c - depth * step + noise > 0,
                "A count is never lowered to less than -step: noise may split an empty square.",
            ),
            (
                lambda c, depth, step, noise: np.maximum(c - depth * step, 0) + noise > 0,
                "The least lowered count is -step, not 0.",
            ),
            (
                lambda c, depth, step, noise: np.maximum(c - depth * step, -step) > 0,
                "Without noise the decision reveals the count.",
            ),
            (
                lambda c, depth, step, noise: np.maximum(c - depth * step, -step) + noise,
                "These are the noisy lowered counts. Which of them are above 0?",
            ),
        ],
    ),
    # 4. Inside SNH
    "04-square": partial(
        function,
        cases=[
            ((_CELLS, 40, 30, 10, 70), 15.625),
            ((_CELLS, 40, 50, 90, 20), 2),
            ((_CELLS, 40, 80, 40, 40), 3),
            ((_CELLS, 10, 12.5, 0.0, 5.0), 2.5),
            ((_CELLS, 40, 0, 0, 120), 34),
        ],
        why="Each count is multiplied by the shares of its column and its row.",
        hint="Column i reaches from i · cell_m to (i + 1) · cell_m. Which part of it is between x "
        "and x + side_m? The weight of a cell is the product of two shares.",
        slips=[
            (
                partial(_square, whole=True),
                "That counts each cell that the square touches as a whole cell.",
            ),
            (
                lambda noisy, cell_m, x, y, side_m: _square(noisy.T, cell_m, x, y, side_m),
                "The first position in noisy is the column, which goes with x.",
            ),
            (
                lambda noisy, cell_m, x, y, side_m: noisy.mean() * (side_m / cell_m) ** 2,
                "That is for records that are spread evenly over the whole region.",
            ),
        ],
    ),
    "04-blind": partial(
        function,
        cases=[
            (
                (
                    [25, 50, 100],
                    np.array([[5, 5, 5, 5], [3, 6, 8, 4], [1, 9, 12, 2]]),
                    np.array([1, 9, 12, 2]),
                    np.array([4, 7, 9, 3]),
                ),
                50,
            ),
            (
                (
                    [100, 200, 400, 800],
                    np.array([[10, 20, 36], [13, 23, 33], [0, 0, 0], [14, 24, 34]]),
                    np.array([14, 24, 34]),
                    np.array([10, 20, 30]),
                ),
                200,
            ),
            (
                (
                    [0, 500],
                    np.array([[2, 2], [0, 7]]),
                    np.array([0, 7]),
                    np.array([3, 1]),
                ),
                0,
            ),
        ],
        why="The second noise adds the same to the squared errors of all steps, on average.",
        hint="Compare the answers after each number of steps with second, by the mean squared "
        "difference.",
        slips=[
            (
                lambda steps, answers, labels, second: steps[_best((answers - labels) ** 2)],
                "The networks have learned the noise of labels, so more steps look better.",
            ),
            (
                lambda steps, answers, labels, second: _best((answers - second) ** 2),
                "That is the position. Return the number of steps.",
            ),
            (
                lambda steps, answers, labels, second: steps[_best(np.abs(answers - second))],
                "Only in squared differences does noise add the same to all steps.",
            ),
            (
                lambda steps, answers, labels, second: steps[
                    np.abs(np.mean(answers - second, axis=1)).argmin()
                ],
                "Differences of both signs cancel. Square them first.",
            ),
        ],
    ),
    "04-one-network": partial(
        function,
        cases=[
            ((np.array([8.0, 12.0, 30.0]), np.array([37.5, 62.5, 87.5]), 70.0), 15.0528),
            ((np.array([8.0, 12.0, 30.0]), np.array([37.5, 62.5, 87.5]), 25.0), 3.55555556),
            ((np.array([12.0]), np.array([62.5]), 25.0), 1.92),
        ],
        why="The nearest size answers, and a count grows with the area.",
        hint="Find the position of the nearest size, then multiply its count by (side_m / size)².",
        slips=[
            (lambda *given: _from_nearest(*given, power=1), "A count grows with the area."),
            (lambda *given: _from_nearest(*given, power=-2), "The factor is inverted."),
        ],
    ),
    "04-fresh-grids": lambda answer, networks=8, epsilon=0.1: number(
        answer,
        networks * epsilon,
        f"{networks} grids of the same people are {networks} entries in the ledger, and costs add "
        "up.",
        "Is a record in one cell of one of the grids, or in one cell of each grid?",
        slips={
            epsilon: f"That is the epsilon of one grid. The epsilons of {networks} grids add up.",
            2
            * epsilon
            * networks: "That is for replacing a record. One record is in each grid once.",
        },
    ),
    # 5. Choosing the cell, without cheating
    "05-bill": lambda answer, widths=3, draws=8, epsilon=0.2: number(
        answer,
        widths * draws * epsilon,
        f"{widths * draws} builds from the same records cost {epsilon:g} each, even if all but one "
        "are not published.",
        "Each build used the records, even if its grid was not published.",
        slips={
            epsilon: "That is what she meant to spend. All grids were built from the records.",
            widths * epsilon: f"There are {widths} widths, but also {draws} draws of each.",
            draws * epsilon: f"There are {draws} draws, but also {widths} widths.",
        },
    ),
    "05-scaled": partial(
        function,
        cases=[((0.2, 40_000, 8000), 1), ((1, 5000, 20_000), 0.25)],
        why="n·ε is the same for both cities.",
        hint="n·ε must be the same for both cities.",
        slips=[
            (
                lambda e, private, public: e * public / private,
                "The quotient is inverted: fewer records need a larger ε.",
            ),
            (
                lambda e, *n: e,
                "With the same ε, noise dominates the smaller city, which needs wider cells.",
            ),
        ],
    ),
    # 7. Reproduce the paper
    "07-relative": partial(
        function,
        cases=[
            ((10, 3, 20_000), 0.35),
            ((90, 100, 20_000), 0.1),
            ((0, 0, 1000), 0),
            ((-5, 0, 5000), 1),
        ],
        why="10 instead of 3 is off by 7, divided by 20 (0.1 % of n), since the truth is below "
        "that.",
        hint="What is 0.1 % of n, and is the truth below it?",
        slips=[
            (lambda answer, truth, n: abs(answer - truth), "That is the absolute error."),
            (
                lambda a, t, n: abs(a - t) / max(a, 0.001 * n),
                "Divide by the truth or by 0.1 % of n (the larger), not by the answer.",
            ),
        ],
    ),
    "07-luck": partial(
        function,
        cases=[((5, 3), 0.04), ((2, 1), 1), ((4, 2), 0.25)],
        why="5 · (1/5)³ = 1/25: if all are equally good, one figure in 25 has one winner "
        "throughout.",
        hint="A given method wins one run with probability 1/methods. With what probability does "
        "it win "
        "all runs? And any of the methods?",
        slips=[
            (
                lambda m, runs: m ** -float(runs),
                "That is the probability for one given method. It could be any of them.",
            ),
            (lambda methods, runs: 1 / methods, "That is the probability of winning one run."),
        ],
    ),
}
"""The judges by exercise name."""
