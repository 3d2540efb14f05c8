"""Judges of the exercises about attacks, promises and costs, and the table of all judges."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.privacy.audit import epsilon_lower_bound, least_probability
from snhkit.teaching.betting import WITH, chance_to_win, surest
from snhkit.teaching.exercises_errors import ERRORS
from snhkit.teaching.exercises_theory import THEORY
from snhkit.teaching.judges import (
    Verdict,
    as_numbers,
    choice,
    function,
    number,
    numbers,
    result_of,
    unanswered,
)
from snhkit.teaching.suspects import FAULTS


def _bet(answer: Any, epsilon: float) -> Verdict:
    if isinstance(first := result_of(answer, WITH), Verdict):
        return first
    if not isinstance(first, (bool, np.bool_)):
        return Verdict(False, f"bet({WITH}) is {first!r}.", "Return True to bet that she is in.")
    try:
        won, best = chance_to_win(answer, epsilon), surest(epsilon)
    except Exception as error:  # for some other count
        said = f"bet raises {type(error).__name__} for some counts: {error}."
        return Verdict(False, said, "It must return True or False for every whole number.")
    if won > best - 1e-6:
        return Verdict(
            True,
            f"Your strategy wins {won:.1%} of the bets in the long run. No strategy wins more.",
        )
    if abs(won - 0.5) < 0.02:
        hint = "For which counts is it more likely that she is in?"
        told = f"Your strategy wins {won:.1%} of the bets, no more than a coin would."
        return Verdict(False, told, hint)
    if won < 0.5:
        told = f"Your strategy wins {won:.1%} of the bets."
        return Verdict(False, told, "The opposite bets would win more than half.")
    return Verdict(
        False,
        f"Your strategy wins {won:.1%} of the bets; {best:.1%} is possible.",
        "Which of 17 and 18 explains the count better? Look at the upper picture of section 2.",
    )


_GUILTY = {name for name, fault in FAULTS.items() if fault}


def _free(answer: Any) -> Verdict:
    if unanswered(answer) or not isinstance(answer, (list, tuple)) or len(answer) != 2:
        return Verdict(None, 'Give the split and the reason, such as "running", "different".')
    split, why = answer
    told = choice(
        split,
        "kinds",
        "A trip has one kind, and a person has at most two trips in all three maps together. In "
        "the daily release, the same person can be in all maps, whose costs add up.",
        {
            "running": "A trip at 8 o'clock is in the totals of all later hours as well: 16 maps.",
            "daily": "A person keeps 2 trips each day, and is in the map of every day. The costs "
            "of the days add up.",
        },
    )
    reason = choice(
        why,
        "again",
        told.says,
        {
            "unbounded": "The split is right. But trips are limited: 2 a day. Of how many days?",
            "different": "The split is right. But hours have different numbers of records too.",
        },
    )
    return reason if told else told


def _guilty(answer: Any) -> Verdict:
    if unanswered(answer):
        return Verdict(None, 'Name the mechanisms that are not ε-private, such as {"A", "B"}.')
    parts = answer.replace(",", " ").split() if isinstance(answer, str) else answer
    if not isinstance(parts, (list, tuple, set, frozenset)):
        told = f"The answer must be a set of letters, not {answer!r}."
        return Verdict(False, told, 'Such as {"A", "B"}.')
    named = {str(name).strip().upper() for name in parts}
    if unknown := sorted(repr(name) for name in named - set(FAULTS)):
        told = f"These are no mechanisms: {', '.join(unknown)}."
        return Verdict(False, told, "The mechanisms are A to E.")
    if innocent := sorted(named - _GUILTY):
        return Verdict(
            False,
            f"{innocent[0]} is ε-private.",
            "Only a lower bound on ε that is above the claimed ε proves a fault.",
        )
    if missing := sorted(_GUILTY - named):
        hint = {
            "B": "Compare the bounds of all five mechanisms for the counts 17 and 18.",
            "C": "Not every pair of neighbours reveals a fault. Try the counts 0 and 1.",
            "E": "Call the mechanism twice with the same count. Should the answers differ?",
        }[missing[0]]
        return Verdict(False, f"{len(missing)} more of the mechanisms are not ε-private.", hint)
    return Verdict(True, " ".join(f"{name}: {FAULTS[name]}" for name in sorted(_GUILTY)))


def _neighbour(answer: Any, counts: Any) -> Verdict:
    given = as_numbers(answer, (2,))
    if isinstance(given, Verdict):
        return given
    i, j = (int(part) for part in given)
    if not np.array_equal(given, [i, j]):
        return Verdict(False, "A cell has two whole numbers, such as (3, 5).")
    m = len(counts)
    if not (0 <= i < m and 0 <= j < m):
        return Verdict(False, f"Cell ({i}, {j}) is not on the map.", f"Cells go from 0 to {m - 1}.")
    if counts[i, j] > 0:
        return Verdict(
            False,
            f"Cell ({i}, {j}) holds {counts[i, j]} records, so it gets noise with or without one "
            "more.",
            "In which cells does one more record decide whether noise is added?",
        )
    return Verdict(
        True, "The cell is empty. Its count is always 0 without the record, and noisy with it."
    )


_STREET = [3, 0, 7, 1, 4, 0, 12, 2, 5, 5, 0, 9, 4, 0, 6, 1, 1, 8, 0, 3] * 2


def _server(first: int, last: int) -> int | None:
    """Return the homes from one plot to another, or None if the box is small."""
    return sum(_STREET[max(first, 0) : last + 1]) if last - first >= 9 else None


def _rebuilt(answer: Any, cases: list[tuple[tuple[NDArray, NDArray], list[float]]]) -> Verdict:
    """Compare totals of differences with those of the given counts, which are the smallest."""
    for (inside, answers), best in cases:
        if isinstance(result := result_of(answer, inside, answers), Verdict):
            hint = "If x is None, no values keep all limits. Check the signs of limits and right."
            return replace(result, hint=hint) if "None" in result.says else result
        plots = as_numbers(result, (len(best),))
        if isinstance(plots, Verdict):
            return replace(plots, hint="Return the counts of the plots, not the differences.")
        shown = f"For boxes {inside.tolist()} with the answers {answers.tolist()}, "
        shown += f"your plots are {(plots.round(3) + 0).tolist()}"
        if max(-plots.min(), plots.max() - 1) > 1e-6:
            hint = "Bounds of (0, 1) for plots, and of (0, None) for differences."
            return Verdict(False, f"{shown}. A plot has 0 to 1 people.", hint)
        off, least = (np.abs(inside @ counts - answers).sum() for counts in (plots, best))
        if off > least + 1e-6:
            told = f"{shown}, off by {off:.3g} in total. The smallest total is {least:.3g}."
            squares = np.linalg.lstsq(inside, answers, rcond=None)[0]
            if np.allclose(plots, squares.clip(0, 1)):
                return Verdict(False, told, "Those are least squares. Do not square differences.")
            hint = "The cost is 0 for each plot and 1 for each difference. Both limits need -d."
            return Verdict(False, told, hint)
    return Verdict(True, "No counts from 0 to 1 are nearer to the answers, in total.")


def _capped(answer: Any) -> Verdict:
    for users, most in (
        (["ada", "bo", "ada", "ada"], 1),
        (["eve"] * 6 + ["ada"] * 2, 4),
        (["bo"], 3),
    ):
        if isinstance(result := result_of(answer, users, most), Verdict):
            return result
        call = f"rows_kept({users}, {most})"
        try:
            rows = [range(len(users))[row] for row in result]
        except (TypeError, IndexError):
            return Verdict(False, f"{call} must return a list of positions in users.")
        if len(set(rows)) < len(rows):
            return Verdict(False, f"{call} is {rows}, which has a row twice.")
        for user in dict.fromkeys(users):
            found = sum(users[row] == user for row in rows)
            if found > most:
                return Verdict(False, f"{call} keeps {found} rows of {user}, more than {most}.")
            if found < min(most, users.count(user)):
                return Verdict(False, f"{call} keeps {found} rows of {user}; more are allowed.")
    return Verdict(True, "No person has more rows than allowed, and no row is dropped needlessly.")


def _least(hits: int, runs: int, confidence: float) -> float:
    return float(least_probability(hits, runs, (1 + confidence) / 2))


_TREE = [[5, 8, 2, 6, 7, 9, 1, 4], [15, 9, 14, 7], [29, 20], [49]]  # sums with noise


def _from_day_0(sums: list[list[int]], days: int) -> int:
    ones = [k for k in range(len(sums)) if days >> k & 1]
    return sum(sums[k][(days >> k) - 1] for k in ones)


def _laplace(u: float, scale: float) -> float:
    return -scale * np.sign(u - 0.5) * np.log(1 - abs(2 * u - 1))


def _around(noisy: float, half: float) -> tuple[float, float]:
    return noisy - half, noisy + half


JUDGES: dict[str, Callable[..., Verdict]] = {
    # 0. Before privacy
    "00-left-over": partial(
        function,
        cases=[((1_500_000, 50, 4), 0.24), ((20_000, 10, 2), 200), ((7, 3, 0), 7)],
        why="Of 1.5 million, 0.24 others are left on average, and nobody else in 79 % of cases.",
        hint="Each clue leaves one in one_in of the other people who are still possible.",
        slips=[
            (
                lambda people, one_in, k: people / max(one_in * k, 1),
                "That adds clues up, but each clue divides by one_in again.",
            ),
            (
                lambda people, one_in, k: people / one_in**k + 1,
                "That counts the person herself, too. How many others are left?",
            ),
        ],
    ),
    "00-rebuild": partial(
        _rebuilt,
        cases=[
            (
                (
                    np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]]),
                    np.array([1, 1, 2, 3]),
                ),
                [1, 0, 1, 1],
            ),
            ((np.array([[1, 0], [1, 0], [1, 0], [1, 1]]), np.array([1, 1, 0, 2])), [1, 1]),
            ((np.array([[1, 1], [0, 1], [0, 1]]), np.array([5, -2, 1])), [1, 1]),
        ],
    ),
    "00-difference": partial(
        function,
        cases=[
            ((12, _server), 4),
            ((0, _server), 3),
            ((3, _server), 1),
            ((31, _server), 9),
            ((39, _server), 3),
        ],
        why="Two boxes that differ by one plot reveal it, and the server refuses neither of them.",
        hint="Which two boxes of ten plots or more differ by this plot alone?",
        within=1e-9,
    ),
    "00-hidden": lambda answer, row=23, column=9: numbers(
        answer,
        [column - 6, row - 8 - 11 - (column - 6)],
        ["the first", "the second"],
        f"The column gives the first, {column} - 6. Then the row gives the second, "
        f"{row} - 8 - 11 - {column - 6}.",
        ["Begin with the column: only one of its cells is hidden.", f"The row sums to {row}."],
        within=1e-9,
    ),
    "00-kerckhoffs": lambda answer: choice(
        ("no", "yes")[answer] if isinstance(answer, bool) else answer,
        "no",
        "Only the random numbers must be secret. The attacker may know how they are distributed.",
        {"yes": "The attacker may compute the probabilities. What is secret then?"},
    ),
    # 1. Explore
    "01-not-in-the-bar": lambda answer: choice(
        answer,
        "uniformity",
        "± is the standard deviation of the noise. Uneven records in a cell add another error.",
        {"noise": "± is the standard deviation of the noise, so it does contain the noise."},
    ),
    "01-builds-left": lambda answer, left: number(
        answer,
        left // Fraction(1, 4),
        f"An epsilon of {float(left):g} is left, and each build costs 0.25.",
        f"The ledger shows that {float(left):g} is left. Each build costs its whole epsilon.",
        within=1e-9,
        slips={12: "The whole budget of 3 would allow that. Part of it has been spent."},
    ),
    # 2. Privacy by hand
    "02-largest-epsilon": partial(
        function,
        cases=[((0.6,), 0.405465108), ((0.75,), 1.09861229), ((0.99,), 4.59511985), ((0.5,), 0)],
        why="For 60 % the odds may grow from 1 to 0.6 / 0.4 = 1.5, and ln 1.5 is 0.405.",
        hint="The odds of 60 % are 0.6 / 0.4. Which ε makes e^ε that large?",
        slips=[
            (
                lambda sure: sure / (1 - sure),
                "That is how much the odds may grow. ε is the logarithm of that.",
            ),
            (np.log, "The probability is not the odds: turn 60 % into odds first."),
            (
                lambda sure: np.log10(sure / (1 - sure)),
                "That is the logarithm to base 10; the definition has e.",
            ),
        ],
    ),
    "02-laplace": partial(
        function,
        cases=[
            ((0.25, 1), -0.693147181),
            ((0.9, 10), 16.0943791),
            ((0.5, 4), 0),
            ((0.01, 2), -7.82404601),
            ((0.75, 0.5), 0.34657359),
        ],
        why="A quarter of the noise of scale 1 is below -0.693, and a quarter is above 0.693.",
        hint="Solve e^(x / scale) / 2 = u for u up to 1/2. By symmetry, the noise at 1 - u is the "
        "opposite of that at u.",
        slips=[
            (lambda u, scale: -scale * np.log(1 - u), "But half of the noise must be negative."),
            (lambda u, scale: -scale * np.log(u), "But half of the noise must be negative."),
            (
                lambda u, scale: -_laplace(u, scale),
                "Noise of this kind is right, but falls with u: Pr[X ≤ x] must be u.",
            ),
            (lambda u, scale: _laplace(u, 1 / scale), "A larger scale must make the noise larger."),
            (
                lambda u, scale: 2**-0.5 * _laplace(u, scale),
                "The standard deviation is √2 times the scale.",
            ),
            (
                lambda u, scale: scale * 2**0.5 * NormalDist().inv_cdf(u),
                "That is normal noise, which no ε bounds.",
            ),
        ],
    ),
    "02-bet": _bet,
    "02-answers": partial(
        function,
        cases=[((0.1, 0.5), [800, 80]), ((0.05, 0.5), [3200, 160]), ((0.1, 2.0), [50, 5])],
        why="At ε = 0.1, half a record needs about 800 answers, whose ε add up to 80.",
        hint="The variance of the mean of k answers is that of one, divided by k. Costs add up.",
        within=0.02,
        slips=[
            (
                lambda epsilon, error: (2 / (epsilon * error) ** 2, epsilon),
                "The second number is the ε of all answers together.",
            ),
        ],
    ),
    "02-whole-laplace": partial(
        function,
        cases=[
            ((0.05, 0.5), -5),
            ((0.71, 1), 0),
            ((0.28, 1), 0),
            ((0.95, 0.5), 5),
            ((0.999, 0.1), 62),
        ],
        why="Each whole number has the probability of the formula, up to the rounding of u.",
        hint="Which is the smallest whole x with a^(-x) / (1 + a) ≥ u, for u up to 1/2? By "
        "symmetry, the noise at 1 - u is the opposite of that at u.",
        slips=[
            (
                lambda u, epsilon: np.trunc(_laplace(u, 1 / epsilon)),
                "All noise between -1 and 1 becomes 0, so 0 is 2 e^ε times as probable as 1: more "
                "than ε allows.",
            ),
            (
                lambda u, epsilon: np.rint(_laplace(u, 1 / epsilon)),
                "Rounded noise is 0 with probability 1 - e^(-ε/2), not (1 - a) / (1 + a).",
            ),
            (
                lambda u, epsilon: np.floor(_laplace(u, 1 / epsilon)),
                "Rounding down makes the mean -1/2, not 0.",
            ),
        ],
    ),
    # 6. Your own data
    "06-exponents": lambda answer, trips=40, epsilon=1: numbers(
        answer,
        [trips * epsilon, epsilon],
        ["by record", "by user"],
        f'With unit="record", {trips} trips are protected by {trips} ε; with unit="user", by ε.',
        [
            f'With unit="record", ε hides one trip, and the epsilons of {trips} trips add up.',
            'With unit="user", the noise is max_per_user times as large, so ε protects all trips.',
        ],
    ),
    "06-average": partial(
        function,
        cases=[
            ((2,), [0.707106781, 0.5]),
            ((4,), [0.5, 0.25]),
            ((1,), [1, 1]),
            ((10,), [0.316227766, 0.1]),
        ],
        why="A mean of k grids has 1/√k of the noise; one grid with all of their ε has 1/k.",
        hint="Averaging divides variances by k. The standard error of one grid is in proportion "
        "to 1/ε.",
        within=0.02,
        slips=[
            (
                lambda k: (1 / k, 1 / k),
                "Averaging divides the variance by k; the error bar is its root.",
            ),
        ],
    ),
    "06-people": _capped,
    "06-interval": partial(
        function,
        cases=[
            ((57, 10.0, 0.9), [33.9741491, 80.0258509]),
            ((3, 20.0, 0.5), [-10.8629436, 16.8629436]),
            ((240, 2.0, 0.99), [230.78966, 249.21034]),
        ],
        why="With noise of scale 10, it is 23 to each side at 90 %: 34 to 80, for a noisy 57.",
        hint="Laplace noise is farther from 0 than w with a probability of e^(-w / scale). Which "
        "w makes that 1 - level?",
        slips=[
            (
                lambda noisy, scale, level: _around(
                    noisy, 2**0.5 * scale * NormalDist().inv_cdf((1 + level) / 2)
                ),
                "That is for normal noise of this variance. Laplace noise is large more often.",
            ),
            (
                lambda noisy, scale, level: _around(noisy, scale * np.log(0.5 / (1 - level))),
                "That leaves out 1 - level on each side, twice as much as allowed.",
            ),
            (
                lambda noisy, scale, level: _around(noisy, 2**0.5 * scale),
                "That is the standard deviation, which is the same for all levels.",
            ),
            (
                lambda noisy, scale, level: _around(noisy, np.log(1 / (1 - level)) / scale),
                "A larger scale needs a wider interval.",
            ),
        ],
    ),
    # 8. Scale out
    "08-memory": lambda answer, numbers=3, billions=1: number(
        answer,
        8 * numbers * billions,
        f"Each record takes {8 * numbers} bytes, which makes {8 * numbers * billions} GB.",
        f"{numbers} numbers of 8 bytes for each record.",
        slips={
            8 * billions: f"That is for one number per record, but there are {numbers}.",
            numbers * billions: "That is for one byte per number, but each number takes 8 bytes.",
        },
    ),
    "08-relative": lambda answer, times=100: number(
        answer,
        1 / times,
        f"The noise stays the same, and the counts are {times} times as large.",
        f"Divide the same noise by counts that are {times} times as large.",
        slips={
            1: "The noise itself stays the same, but the counts grow.",
            times**-0.5: "No root is needed, since the noise does not grow at all.",
        },
    ),
    "08-machines": lambda answer, machines=16: number(
        answer,
        machines**0.5,
        f"{machines} variances add up, and the root of {machines} is {machines**0.5:.3g}.",
        "Variances add up, standard deviations do not.",
        slips={machines: "That is the factor of the variance."},
    ),
    # 9. Auditing
    "09-bound": partial(
        function,
        cases=[
            ((60, 20, 100, 0.99), 0.373053921),
            ((600, 200, 1000, 0.9), 0.949863118),
            ((8, 0, 10, 0.95), 0.363897066),
            ((50, 50, 50, 0.8), 0),
            ((0, 7, 20, 0.95), 0),
        ],
        why="With 60 and 20 hits in a hundred runs, ε is at least 0.37 at 99 %, a third of ln 3.",
        hint="Divide the lower limit for the first file by the upper limit for the second. Each "
        "has α = (1 - confidence) / 2. The bound is at least 0.",
        slips=[
            (
                lambda a, b, n, c: np.log(max(a, 1) / max(b, 1)),
                "Those are frequencies. How much of them may be chance?",
            ),
            (
                lambda a, b, n, c: epsilon_lower_bound(([a], [b]), (n, n), 2 * c - 1)[0],
                "Either limit may be wrong. Together they may fail in 1 - confidence of all cases.",
            ),
            (
                lambda a, b, n, c: np.log(max(_least(a, n, c) / (_least(b, n, c) or np.inf), 1)),
                "The second probability needs an upper limit: the larger it is, the smaller is ε.",
            ),
        ],
    ),
    "09-guilty": _guilty,
    "09-neighbour": _neighbour,
    # 10. People over time
    "10-free": _free,
    "10-week": partial(
        function,
        cases=[
            (
                ([(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25), (4, 0.25), (5, 0.25), (6, 0.25)],),
                [0.25, 1.75],
            ),
            (([(1, 0.5), (2, 0.25), (1, 0.25)],), [0.75, 1]),
            (([(6, 1.0), (3, 0.5), (6, 0.5), (3, 0.25)],), [1.5, 2.25]),
        ],
        why="Costs of one day add up. Another day's records are others, but the person is the "
        "same.",
        hint="Add up the ε of each day; the records of a day are in no other day's maps. A person "
        "is in "
        "all of them.",
        slips=[
            (
                lambda maps: (max(e for _, e in maps), sum(e for _, e in maps)),
                "A day may have several maps, whose ε add up.",
            ),
        ],
    ),
    "10-share": partial(
        function,
        cases=[
            ((1, 365), [0.00273972603, 516.18795]),
            ((2, 7), [0.285714286, 4.94974747]),
            ((0.5, 30), [0.0166666667, 84.8528137]),
        ],
        why="For a year at ε = 1 it is 1/365 a day, so the noise of each count is about 516.",
        hint="The days add up to ε. The standard deviation is √2/ε, with the ε of one day.",
        within=0.02,
        slips=[
            (
                lambda epsilon, days: (epsilon / days, 2**0.5 / epsilon),
                "That is the noise for the whole ε. A map has the ε of one day.",
            ),
        ],
    ),
    "10-tree": partial(
        function,
        cases=[
            ((_TREE, 0, 7), 49),
            ((_TREE, 2, 6), 24),
            ((_TREE, 5, 5), 9),
            ((_TREE, 1, 6), 32),
            ((_TREE, 0, 4), 36),
        ],
        why="Any total of up to 2^k days is a sum of at most 2k noisy sums.",
        hint="Begin on the first day, and take the longest sum that begins there and ends in time.",
        slips=[
            (
                lambda sums, first, last: sum(sums[0][first : last + 1]),
                "That adds up single days. Longer sums have less noise together.",
            ),
            (
                lambda sums, first, last: _from_day_0(sums, last + 1) - _from_day_0(sums, first),
                "A difference of two totals from day 0 on has the noise of both.",
            ),
        ],
    ),
    **ERRORS,
    **THEORY,
}
