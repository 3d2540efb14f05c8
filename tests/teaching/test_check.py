"""The door to the exercises, in a class and under nbgrader."""

import json
import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import beta, binomtest, dlaplace, expon, laplace, norm

from snhkit.builders import UniformGrid
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.privacy.splits import Lattice
from snhkit.teaching import (
    Verdict,
    check,
    claim,
    exercise_names,
    own_numbers,
    rebuilt,
    with_solutions,
)
from snhkit.teaching.assignments import OWN_NUMBERS
from snhkit.teaching.copies import lectures, tagged
from snhkit.teaching.hidden import NAMES


def _weights(scores, epsilon):
    return np.exp(epsilon * (scores - np.max(scores))).sum()


def _root_rho(epsilon, delta):
    return np.sqrt(epsilon - np.log(delta)) - np.sqrt(-np.log(delta))


def _quiet(counts, threshold, epsilon, draw, line=2, each=4, again=False):
    """The sparse vector technique, or one with other scales, or with a new threshold each time."""
    limit = threshold + (draw(line / epsilon) if line else 0)
    for place, count in enumerate(counts):
        if count + (draw(each / epsilon) if each else 0) < limit:
            return place
        limit = threshold + draw(line / epsilon) if again else limit
    return len(counts)


def _bounded(a, b, n, confidence, alpha=None, more=1):
    """The audit's bound, or one with another share of errors, or with two lower limits."""
    share = alpha or (1 - confidence) / 2
    low, high = (beta.ppf(share, k, n - k + 1) if k else 0 for k in (a, b))
    if more:
        high = beta.ppf(1 - share, b + 1, n - b) if b < n else 1
    return np.log(max(low / high, 1))


def _halved(sums, first, last, level, place):
    """The total by halving: a node that lies inside, or what its halves have."""
    start, end = place << level, (place + 1 << level) - 1
    if last < start or end < first:
        return 0
    if first <= start and end <= last:
        return sums[level][place]
    return sum(_halved(sums, first, last, level - 1, 2 * place + half) for half in (0, 1))


def _till(sums, days):
    return _halved(sums, 0, days - 1, len(sums) - 1, 0)


def _sums(cells, cell_m, x, y, side_m):
    """The count of a square by the library."""
    grid = Grid(Region.around(lat=43, lon=-88, side_m=len(cells) * cell_m), len(cells))
    square = RangeQueries(grid.region, [x], [y], [side_m], [side_m])
    return SummedArea(grid, cells).sums(square)


def _touched(cells, cell_m, x, y, side_m):
    """The same, with whole cells."""
    columns, rows = (
        [k for k in range(len(cells)) if low < (k + 1) * cell_m and k * cell_m < low + side_m]
        for low in (x, y)
    )
    return cells[np.ix_(columns, rows)].sum()


FACTS = {
    "01-builds-left": {"left": Fraction(3, 4)},
    "02-bet": {"epsilon": 1},
    "03-one-cell-wins": {"city": Region.around(lat=43.04, lon=-87.91, side_m=3_000)},
    "09-neighbour": {"counts": np.eye(5, dtype=int)},
}
"""Facts of a notebook, for the exercises whose judges need any."""

RIGHT = {
    "00-left-over": lambda people, one_in, clues: people / one_in**clues,
    "00-difference": lambda k, server: server(k - 20, k) - server(k - 20, k - 1),
    "00-hidden": (3, 1),
    "00-kerckhoffs": False,
    "00-rebuild": rebuilt,
    "01-builds-left": 3,
    "01-not-in-the-bar": "Uniformity",
    "02-answers": lambda epsilon, error: [2 / (epsilon * error) ** 2, 2 / (epsilon * error**2)],
    "02-bet": lambda count: count > 17,
    "02-laplace": lambda u, scale: np.array([laplace.ppf(u, 0, scale)]),
    "02-largest-epsilon": lambda sure: -np.log(1 / sure - 1),
    "02-whole-laplace": dlaplace.ppf,
    "03-noise-of-a-box": lambda side, cell, e: np.sqrt(2) * side / cell / e,
    "03-one-cell-wins": np.stack(np.meshgrid(*2 * [np.arange(10, 3_000, 20)]), -1).reshape(-1, 2),
    "03-split": lambda counts, depth, step, noise: [
        lowered + draw > 0
        for lowered, draw in zip(Lattice(1, 1, step).biased(counts, depth), noise, strict=True)
    ],
    "03-ug-width": lambda side, n, e: side / UniformGrid().cells_per_side(n, e),
    "04-square": _sums,
    "04-blind": lambda steps, answers, labels, second: min(
        (sum((row - second) ** 2), step) for step, row in zip(steps, answers, strict=True)
    )[1],
    "04-fresh-grids": "0.8",
    "04-one-network": lambda counts, sizes, side: min(
        (abs(size - side), count * side**2 / size**2)
        for count, size in zip(counts, sizes, strict=True)
    )[1],
    "05-bill": 4.8,
    "05-scaled": lambda epsilon, private, public: np.array([epsilon * private / public]),
    "06-average": lambda grids: np.array([grids**-0.5, 1 / grids]),
    "06-exponents": [40, 1],
    "06-interval": lambda noisy, scale, level: np.array(
        laplace.interval(level, loc=noisy, scale=scale)
    ),
    "06-people": lambda users, most: np.array(
        [k for k, user in enumerate(users) if users[:k].count(user) < most]
    ),
    "07-luck": lambda methods, runs: methods / methods**runs,
    "07-relative": lambda answer, truth, n: np.abs(answer - truth) / np.maximum(truth, n / 1_000),
    "08-machines": np.float64(4),
    "08-memory": np.array([24]),
    "08-relative": 0.01,
    "09-bound": lambda a, b, n, c: np.log(
        max(binomtest(a, n).proportion_ci(c).low / binomtest(b, n).proportion_ci(c).high, 1)
    ),
    "09-guilty": "B, C, E",
    "09-neighbour": (0, 1),
    "10-free": ("kinds", "again"),
    "10-share": lambda epsilon, days: (epsilon / days, 1.414 * days / epsilon),
    "10-tree": lambda sums, first, last: _halved(sums, first, last, len(sums) - 1, 0),
    "10-week": lambda maps: (
        max(sum(e for d, e in maps if d == day) for day, _ in maps),
        sum(e for _, e in maps),
    ),
    "11-apart": lambda km, epsilon: np.e ** (km * epsilon),
    "11-council": "c",
    "11-delta": True,
    "11-truthful": lambda k, epsilon: 1 / (1 + (k - 1) * np.exp(-epsilon)),
    "12-chances": lambda scores, epsilon, sensitivity: [
        1
        / sum(
            np.exp(np.minimum(epsilon * (other - score) / sensitivity / 2, 700)) for other in scores
        )
        for score in scores
    ],
    "12-first-quiet": _quiet,
    "12-noisy-max": lambda counts, epsilon, draw: max(
        zip(counts + draw(len(counts), 1 / epsilon), range(len(counts)), strict=True)
    )[1],
    "13-advanced": lambda e, k, d: e * (-2 * k * np.log(d)) ** 0.5 + k * e * (np.exp(e) - 1),
    "13-from-rho": lambda rho, delta: rho + np.sqrt(-4 * rho * np.log(delta)),
    "13-most-answers": lambda e, d, std: max(
        k for k in range(2_000) if k / 2 / std**2 + 2 * (-k / 2 / std**2 * np.log(d)) ** 0.5 <= e
    ),
    "14-clipped-sum": lambda gradients, clip: sum(
        row / max(np.hypot.reduce(row) / clip, 1) for row in gradients
    ),
    "14-most-changed": lambda inside, clip: max(2 * clip * sum(row) for row in inside),
    "14-noise": lambda rho, steps, sensitivity: (steps * sensitivity**2 / rho / 2) ** 0.5,
}  # in the types that students write
SLIPS = [
    ("00-left-over", lambda people, one_in, k: people / one_in**k + 1, "the person herself"),
    ("00-left-over", lambda people, one_in, k: people * one_in**-k / 2, "but should be 0.24"),
    ("00-left-over", 0.24, "not a function"),
    ("00-left-over", lambda people, one_in, k: people / (one_in * k), "clues up"),
    ("00-left-over", lambda people, one_in, k: (people - 1) / one_in**k, "is 199.99, but should"),
    ("00-difference", lambda plot, server: server(plot, plot), "(12, ...) returns None"),
    ("00-difference", lambda plot, server: server(plot), "Which two boxes"),
    ("00-difference", lambda plot: 3, "Keep the parameters"),
    ("00-hidden", [3, 4], "Off: the second"),
    ("00-kerckhoffs", True, "What is secret then"),
    ("00-rebuild", lambda a, b: np.linalg.lstsq(a, b)[0].clip(0, 1), "least squares"),
    ("00-rebuild", lambda a, b: rebuilt(a, b, most=None), "A plot has 0 to 1"),
    ("00-rebuild", lambda a, b: [*rebuilt(a, b), *b], "4 numbers, not 8. Hint: Return the counts"),
    ("00-rebuild", lambda a, b: 1 - rebuilt(a, b), "off by 4 in total. The smallest total is 0."),
    ("00-rebuild", lambda a, b: rebuilt(a[:2], b[:2]), "Both limits need -d"),
    ("00-rebuild", lambda a, b: rebuilt(a, b[:2]), "raises InputError"),
    ("00-rebuild", lambda a, b: linprog(b, a, -b).x[:4], "If x is None"),
    ("01-builds-left", 12, "whole budget"),
    ("01-not-in-the-bar", "noise", "does contain the noise"),
    ("02-answers", lambda epsilon, error: 2 / epsilon, "2 numbers, not 1. "),
    ("02-answers", lambda epsilon, error: (2 / (epsilon * error) ** 2, epsilon), "all answers"),
    ("02-laplace", lambda u, scale: expon.ppf(u, 0, scale), "half of the noise"),
    ("02-laplace", lambda u, scale: -np.log(u) * scale, "half of the noise"),
    ("02-laplace", lambda u, scale: laplace.isf(u, 0, scale), "falls with u"),
    ("02-laplace", lambda u, scale: laplace.ppf(u, 0, 1 / scale), "the noise larger"),
    ("02-laplace", lambda u, scale: laplace.ppf(u, 0, scale / 2**0.5), "√2 times"),
    ("02-laplace", lambda u, scale: norm.ppf(u, 0, 2**0.5 * scale), "no ε bounds"),
    ("02-laplace", lambda u, scale: scale * (u - 0.5), "is -0.25, but should be -0.6931. Hint"),
    ("02-largest-epsilon", lambda sure: sure / (1 - sure), "the logarithm of that"),
    ("02-largest-epsilon", lambda sure: np.log(1.5), "(0.75) is 0.4055"),
    ("02-whole-laplace", lambda u, e: int(laplace.ppf(u, 0, 1 / e)), "is 2 e^ε times as"),
    ("02-whole-laplace", lambda u, e: np.rint(laplace.ppf(u, 0, 1 / e)), "is 0 with probability"),
    ("02-whole-laplace", lambda u, e: laplace.ppf(u, 0, 1 / e) // 1, "the mean -1/2"),
    ("02-whole-laplace", lambda u, e: dlaplace.ppf(u, e) - 1, "is -6, but should be -5. Hint"),
    ("03-noise-of-a-box", lambda side, cell, e: 2**0.5 / e, "noise of one cell"),
    ("03-one-cell-wins", np.zeros((5, 2)), "There are 5 records"),
    ("03-one-cell-wins", np.zeros((30_000, 2)), "spread evenly. Are yours?"),
    ("03-split", lambda c, depth, step, noise: c + noise > 0, "not lowered"),
    ("03-split", lambda c, d, step, noise: np.maximum(c - d * step + noise, -step) > 0, "never"),
    ("03-split", lambda c, d, step, noise: np.clip(c - d * step, 0, None) > -noise, "not 0"),
    ("03-split", lambda c, d, step, noise: c > d * step, "reveals the count"),
    ("03-split", lambda c, d, step, _: np.maximum(c - d * step, -step) + _, "Which of them"),
    ("03-split", lambda c, d, s, z: np.maximum(c - (d + 1) * s, -s) + z > 0, "Lower the counts"),
    ("03-split", lambda c, d, s, z: np.maximum(c - d * s, -s) + z >= 0, "1, 1, but should be"),
    ("03-ug-width", lambda side, n, e: side / np.sqrt(n * e / 10), "Round m up to"),
    ("03-ug-width", lambda side, n, e: side / max(int((n * e / 10) ** 0.5), 1), "not down"),
    ("03-ug-width", lambda side, n, e: side / max(round((n * e / 10) ** 0.5), 1), "not to the ne"),
    ("03-ug-width", lambda side, n, e: np.ceil(np.sqrt(n * e / 10)), "That is m"),
    ("03-ug-width", lambda side, n, e: side / np.ceil(n * e / 10), "the root of"),
    ("03-ug-width", lambda side, n, e: side / np.ceil(np.sqrt(n * e)), "one of m cells"),
    ("04-square", _touched, "as a whole cell"),
    ("04-square", lambda cells, *square: _sums(cells.T, *square), "is the column"),
    ("04-square", lambda cells, cell_m, x, y, side_m: cells.sum(), "but should be 15.62"),
    ("04-blind", lambda steps, answers, labels, second: steps[-1], "more steps look"),
    ("04-blind", lambda t, a, _, c: np.square(a - c).sum(axis=1).argmin(), "the position"),
    ("04-blind", lambda t, a, _, c: t[np.abs(a - c).sum(axis=1).argmin()], "Only in squared"),
    ("04-blind", lambda t, a, _, c: t[np.abs((a - c).sum(axis=1)).argmin()], "signs cancel"),
    ("04-blind", lambda t, a, _, c: t[np.square(a - c).mean(axis=1).argmax()], "be 50. Hint"),
    ("04-fresh-grids", 1.6, "replacing a record"),
    ("04-one-network", lambda counts, sizes, side: counts[0], "but should be"),
    ("05-bill", 1.6, "also 3 widths"),
    ("05-scaled", lambda e, private, public: e * public / private, "inverted"),
    ("06-average", lambda k: (1 / k, 1 / k), "the error bar is its root"),
    ("06-exponents", [40, 10], "by user"),
    ("06-interval", lambda x, b, p: norm.interval(p, loc=x, scale=2**0.5 * b), "normal noise"),
    ("06-interval", lambda x, b, p: laplace.interval(2 * p - 1, x, b), "on each side"),
    ("06-interval", lambda x, b, p: laplace.interval(p, x, 1 / b), "needs a wider"),
    ("06-interval", lambda x, b, p: (x - 2**0.5 * b, x + 2**0.5 * b), "for all levels"),
    ("06-interval", lambda x, b, p: (x, x + b), "Which w makes"),
    ("06-people", lambda users, most: list(range(len(users))), "keeps 3 rows of ada"),
    ("06-people", lambda users, most: [], "keeps 0 rows of ada; more are allowed"),
    ("06-people", lambda users, most: [0, 0], "a row twice"),
    ("06-people", lambda users, most: users, "a list of positions"),
    ("07-luck", lambda methods, runs: methods**-runs, "any of them"),
    ("07-relative", lambda answer, truth, n: abs(answer - truth), "absolute error"),
    ("08-machines", 16, "variance"),
    ("08-memory", 8, "one number per record"),
    ("08-relative", 0.1, "No root"),
    ("09-bound", lambda a, b, n, c: np.log(a / b), "may be chance"),
    ("09-bound", lambda a, b, n, c: _bounded(a, b, n, c, alpha=1 - c), "Either limit may be"),
    ("09-bound", lambda a, b, n, c: _bounded(a, b, n, c, more=0), "an upper limit"),
    ("09-bound", lambda a, b, n, c: _bounded(a, b, n, c) + (a < b), "but should be 0"),
    ("09-guilty", 5, "a set of letters"),
    ("09-guilty", "A, B", "A is ε-private"),
    ("09-guilty", "B, Q", "'Q'"),
    ("09-neighbour", ("a", "b"), "must be 2 numbers"),
    ("09-neighbour", (0.5, 1), "whole numbers"),
    ("09-neighbour", (0, 0), "holds 1 records"),
    ("09-neighbour", (0, 5), "is not on the map"),
    ("10-free", ("running", "again"), "16 maps"),
    ("10-free", ["daily", "again"], "every day"),
    ("10-free", ["kinds", "unbounded"], "Of how many days"),
    ("10-free", ["kinds", "different"], "different numbers"),
    ("10-share", lambda epsilon, days: (epsilon / days, 2**0.5 / epsilon), "the ε of one day"),
    ("10-tree", lambda sums, first, last: sum(sums[0][first : last + 1]), "Longer sums have"),
    ("10-tree", lambda sums, a, b: _till(sums, b + 1) - _till(sums, a), "the noise of both"),
    ("10-tree", lambda sums, a, b: _halved(sums, a, b - 1, len(sums) - 1, 0), "but should be 49"),
    ("10-tree", lambda sums, first, last: sums[-1][0], "Begin on the first day"),
    ("10-week", lambda maps: (max(e for _, e in maps), sum(e for _, e in maps)), "several maps"),
    ("11-apart", lambda km, epsilon: km * epsilon, "the exponent"),
    ("11-council", "A", "absolutely safe"),
    ("11-delta", 1e-5, "for one record"),
    ("11-truthful", lambda k, epsilon: 1 / (1 + np.exp(-epsilon)), "right for two cells"),
    ("12-chances", lambda u, e, d: np.exp(e * (u - max(u)) / d) / _weights(u, e / d), "half of ε"),
    ("12-chances", lambda u, e, d: np.exp(e * (u - max(u)) / 2) / _weights(u, e / 2), "as slowly"),
    ("12-first-quiet", partial(_quiet, line=0), "every comparison costs ε"),
    ("12-first-quiet", partial(_quiet, each=0), "its own noise of scale 4/ε"),
    ("12-first-quiet", partial(_quiet, line=1), "scales 2/ε and 4/ε"),
    ("12-first-quiet", partial(_quiet, again=True), "once, before the first"),
    ("12-first-quiet", lambda c, t, e, draw: _quiet(c, t + 40, e, draw), "but should be"),
    ("12-first-quiet", lambda c, t, e, draw: c[0] + draw(2 / e), "not a position"),
    ("12-first-quiet", lambda c, t, e, draw: c[_quiet(c, t, e, draw)], "from 0 to 5"),
    ("12-noisy-max", lambda counts, e, draw: counts.argmax(), "no noise is drawn"),
    ("12-noisy-max", lambda c, e, draw: int(np.argmax(c + draw(1, 1 / e))), "its own"),
    ("12-noisy-max", lambda c, e, draw: int(np.argmax(c + draw(len(c), e))), "scale 1/ε"),
    ("12-noisy-max", lambda c, e, draw: max(c + draw(len(c), 1 / e)), "not a position"),
    ("12-noisy-max", lambda c, e, draw: int(np.argmin(c + draw(len(c), 1 / e))), "should be"),
    ("13-advanced", lambda e, k, delta: e * k, "basic composition"),
    ("13-advanced", lambda e, k, d: e * np.sqrt(2 * k * np.log(1 / d)), "Add the mean"),
    ("13-from-rho", lambda rho, delta: 2 * np.sqrt(rho * np.log(1 / delta)), "Add ρ"),
    ("13-most-answers", lambda e, d, std: 2 * std**2 * _root_rho(e, d) ** 2, "Round down"),
    ("13-most-answers", lambda e, d, std: round(2 * std**2 * _root_rho(e, d) ** 2), "be 126"),
    ("13-most-answers", lambda e, d, std: int(std**2 * _root_rho(e, d) ** 2), "2 std²"),
    ("14-clipped-sum", lambda g, clip: np.clip(g, -clip, clip).sum(axis=0), "each coordinate"),
    ("14-clipped-sum", lambda g, clip: np.sum(g, axis=0), "No row is clipped"),
    ("14-most-changed", lambda inside, clip: 2 * clip * len(inside[0]), "no place is in all"),
    ("14-most-changed", lambda inside, clip: clip * max(map(sum, inside)), "its opposite"),
    ("14-noise", lambda rho, steps, s: s / np.sqrt(2 * rho), "on one step"),
    ("14-noise", lambda rho, steps, s: s * steps / np.sqrt(2 * rho), "the root of that"),
]
ABSURD = [
    ..., None, True, "", "Ω", "B, C, E", 5, -1e300, float("nan"), 1j, b"x", [], {}, [[]], [1, "b"],
    ("a", "b"), {"A", 3}, [...], np.zeros((2, 3)), np.array(["x"]), object(), len,
    lambda count: "no", lambda *args: None, lambda *args: [1, 2, 3], lambda *args: {}[1],
]  # fmt: skip


def test_every_exercise_is_named_after_its_lecture():
    names = exercise_names()
    assert len(names) == len(set(names))
    assert all(name[:2].isdigit() and name[2] == "-" for name in names)


def test_an_unknown_exercise_is_refused_by_name():
    with pytest.raises(InputError, match="no exercise '02-nothing'"):
        check("02-nothing", 1)


def test_under_nbgrader_a_wrong_answer_raises_and_a_right_one_does_not(monkeypatch):
    assert not check("00-hidden", [3, 4])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(AssertionError, match="the second"):
        check("00-hidden", [3, 4])
    with pytest.raises(AssertionError, match="Nothing to check"):
        check("00-hidden", ...)
    assert check("00-hidden", [3, 1])


def test_a_verdict_shows_text_not_markup():
    shown = Verdict(False, "<b> & more", "x < 1")._repr_html_()
    assert "&lt;b&gt; &amp; more" in shown
    assert "x &lt; 1" in shown


@pytest.mark.parametrize(
    ("bet", "says"),
    [
        (True, "not a function"),
        (lambda count: ..., "Nothing to check"),
        (lambda count: True, "no more than a coin would"),
        (lambda count: count < 18, "opposite"),
        (lambda count: 18 if count > 17 else 17, "bet(18) is 18"),
        (lambda a, b: True, "raises TypeError"),
    ],
)
def test_a_bet_that_is_not_the_best_is_told_what_is_wrong_with_it(bet, says):
    verdict = check("02-bet", bet, epsilon=1)
    assert not verdict
    assert says in repr(verdict)


@pytest.mark.parametrize("exercise", exercise_names())
def test_every_judge_returns_a_verdict_whatever_the_answer_is(exercise):
    for answer in ABSURD:
        verdict = check(exercise, answer, **FACTS.get(exercise, {}))
        assert isinstance(verdict, Verdict)
        assert verdict.says


@pytest.mark.parametrize("exercise", RIGHT)
def test_a_right_answer_is_accepted_as_students_write_it(exercise):
    assert check(exercise, RIGHT[exercise], **FACTS.get(exercise, {}))


OWN = {
    "00-hidden": lambda row, column: (column - 6, row - column - 13),
    "04-fresh-grids": lambda networks, epsilon: networks * epsilon,
    "05-bill": lambda widths, draws, epsilon: widths * draws * epsilon,
    "06-exponents": lambda trips, epsilon: (trips * epsilon, epsilon),
    "08-machines": lambda machines: machines**0.5,
    "08-memory": lambda numbers, billions: 8 * numbers * billions,
    "08-relative": lambda times: 1 / times,
    "11-delta": lambda records, one_in: records / one_in,
}


@pytest.mark.parametrize("exercise", OWN_NUMBERS)
def test_an_own_answer_is_accepted_and_that_of_a_neighbour_or_the_lecture_is_not(exercise):
    sets = OWN_NUMBERS[exercise]
    answers = [OWN[exercise](**numbers) for numbers in sets]
    assert all(check(exercise, a, **own) for a, own in zip(answers, sets, strict=True))
    assert not any(check(exercise, RIGHT[exercise], **own) for own in sets)
    copied = [check(exercise, a, **own) for a in answers for own in sets]
    assert len(answers) <= sum(map(bool, copied)) < 0.08 * len(copied)


def test_own_numbers_follow_from_key_and_name_and_differ():
    assert OWN.keys() == OWN_NUMBERS.keys()
    mine = own_numbers("05-bill", "key", "Ada")
    assert mine == own_numbers("05-bill", "key", "ada")
    assert mine != own_numbers("05-bill", "other", "ada")
    drawn = [own_numbers("05-bill", "key", f"student {k}") for k in range(300)]
    assert 80 < len({str(numbers) for numbers in drawn}) <= 96
    with pytest.raises(InputError, match="write your name into the first code cell"):
        own_numbers("05-bill", "key", " ")


@pytest.mark.parametrize("path", lectures(), ids=lambda path: path.stem)
def test_functions_in_solutions_are_right(path):
    cells = with_solutions(json.loads(path.read_text(encoding="utf-8")))["cells"]
    for cell in cells:
        source = "".join(cell["source"])
        if tagged(cell, "exercise") and source.startswith("def "):
            names = dict(NAMES)
            exec(source.partition("\n\n\n")[0], names)  # the rest uses names of the lecture
            name = cell["id"].removeprefix("ex-")
            written = names[source[4 : source.index("(")]]
            assert check(name, written, **FACTS.get(name, {})), name


@pytest.mark.parametrize(("exercise", "answer", "says"), SLIPS)
def test_a_common_slip_is_explained(exercise, answer, says):
    verdict = check(exercise, answer, **FACTS.get(exercise, {}))
    assert not verdict
    assert says in repr(verdict)


@pytest.mark.parametrize("exercise", exercise_names())
def test_random_answers_are_not_right(exercise):
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, two = rng.uniform(5, 15), rng.uniform(5, 15, 2)
        for answer in (one, two, lambda *args: rng.normal(3, 9), lambda *args: rng.normal(3, 9, 2)):
            assert not check(exercise, answer, **FACTS.get(exercise, {}))


def test_a_right_and_a_wrong_answer_of_every_exercise_are_tried():
    assert set(RIGHT) == {name for name, _, _ in SLIPS} | {"02-bet"} == set(exercise_names())


def test_a_bet_by_coin_tosses_is_not_accepted():
    coin = random.Random(1)
    for _ in range(50):
        assert not check("02-bet", lambda count: coin.random() < 0.5, epsilon=1)
        assert not check("02-bet", lambda count: count > 17 or coin.random() < 0.1, epsilon=1)


def test_a_claim_says_one_of_two_things(capsys):
    claim(True, "It fell.", "It rose.")
    claim(False, "It fell.", "It rose.")
    assert capsys.readouterr().out.splitlines() == [
        "✓ It fell.",
        "≠ In this run it is different. It rose.",
    ]
