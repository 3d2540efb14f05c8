"""Judges of the answers to all exercises, by exercise name, lecture after lecture."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.builders import Identity
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment import compare
from snhkit.geometry import Points, RangeQueries, Region
from snhkit.methods import METHODS
from snhkit.teaching.betting import WITH, chance_to_win, surest
from snhkit.teaching.judges import Verdict, as_numbers, choice, number, numbers, unanswered
from snhkit.teaching.suspects import FAULTS

__all__ = ["JUDGES"]


def _bet(answer: Any, epsilon: float) -> Verdict:
    missing = Verdict(None, "The function must return True or False for a count such as 18.")
    if unanswered(answer):
        return missing
    bet: Callable[[int], bool] = answer
    if not callable(bet):
        return Verdict(False, f"{answer!r} is not a function.", "Keep the line `def bet(count):`.")
    try:
        first = bet(WITH)
    except Exception as error:  # whatever a student's function raises
        said = f"bet({WITH}) raises {type(error).__name__}: {error}."
        return Verdict(False, said, "The function gets one number, the released count.")
    if unanswered(first):
        return missing
    try:
        won, best = chance_to_win(bet, epsilon), surest(epsilon)
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


_PLAYERS = ("ug", "identity", "ag", "privtree", "dawa")


_EPSILON, _LEAST, _MOST = 0.2, 1_000, 200_000


def _noise_of_a_box(answer: Any) -> Verdict:
    one = 2**0.5 / 0.2
    return number(
        answer,
        5 * one,
        "25 variances of 2/ε² add up to 1,250, and the root of that is 35 records.",
        "Each of the 25 cells has the variance 2/ε². Add up the variances, then take the root.",
        slips={
            one: "That is the noise of one cell; 25 cells lie in the box.",
            25 * one: "Standard deviations do not add up, but variances do.",
            1_250: "That is the variance. The standard error is its root.",
            25: "Each cell has the standard deviation √2/ε, not 1/ε.",
        },
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


def _by_hand(answer: Any, noisy: NDArray, cell_m: float, box: RangeQueries) -> Verdict:
    starts = np.arange(len(noisy)) * cell_m
    parts = []
    for low, width in ((box.x[0], box.width[0]), (box.y[0], box.height[0])):
        inside = np.minimum(starts + cell_m, low + width) - np.maximum(starts, low)
        parts.append(np.clip(inside, 0, None) / cell_m)
    across, up = parts
    right, touched = across @ noisy @ up, (across > 0) @ noisy @ (up > 0)
    given = as_numbers(answer, ())
    if isinstance(given, Verdict):
        return given
    if abs(given - right) <= 0.51:
        return Verdict(True, f"The box covers parts of six cells: {right:.2f} records in all.")
    if abs(given - touched) <= 0.51:
        return Verdict(False, "That counts each cell that the box touches as a whole cell.",
                       "For each cell, take the share of its area inside the box.")  # fmt: skip
    return Verdict(
        False,
        f"{float(given):.4g} differs from the right number by {abs(float(given) - right):.1f}.",
        "The columns have the weights 1/4, 1 and 1/2, and the rows 3/4 and 1. The weight of a cell "
        "is the product.",
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


JUDGES: dict[str, Callable[..., Verdict]] = {
    # 0. Before privacy
    "00-left-over": lambda answer: number(
        answer,
        1_500_000 / 50**4,
        "0.24 others are left on average, and nobody else in 79 % of cases.",
        "Each clue leaves one in 50 of the other people who are still possible.",
        slips={
            1_500_000 / 200: "Four clues do not leave one in 200: each clue divides by 50 again.",
            30_000: "That is what one clue leaves.",
            1.24: "1.24 counts the person herself, too. How many others are left?",
        },
    ),
    "00-difference": lambda answer: numbers(
        answer,
        [4, 0],
        ["plot 10", "plot 11"],
        "131 - 127 = 4 homes are in plot 10. Both plots have 4 together, so plot 11 has none.",
        ["The two boxes differ by plot 10 alone.", "Plots 10 and 11 hold 4 together."],
        within=1e-9,
    ),
    "00-hidden": lambda answer: numbers(
        answer,
        [3, 1],
        ["the first", "the second"],
        "The column gives the first, 9 - 6. Then the row gives the second, 23 - 8 - 11 - 3.",
        ["Begin with the column: only one of its cells is hidden.", "The row sums to 23."],
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
    "02-largest-epsilon": lambda answer: number(
        answer,
        np.log(1.5),
        "The odds may grow from 1 to 0.6 / 0.4 = 1.5, and ln 1.5 is 0.405.",
        "The odds of 60 % are 0.6 / 0.4. Which ε makes e^ε that large?",
        slips={
            1.5: "1.5 is how much the odds may grow. ε is the logarithm of that.",
            np.log(0.6): "The chance is not the odds: turn 60 % into odds first.",
            -np.log(0.6): "The chance is not the odds: turn 60 % into odds first.",
            np.log10(1.5): "That is the logarithm to base 10; the definition has e.",
        },
    ),
    "02-sensitivity": lambda answer: numbers(
        answer,
        [1, 2],
        ["removed", "moved"],
        "A removed record changes one cell. A moved record changes two cells.",
        [
            "In how many of the 1,600 cells was the record counted?",
            "One cell loses the record. Does another gain it?",
        ],
    ),
    "02-bet": _bet,
    "02-answers": lambda answer: numbers(
        answer,
        [800, 80],
        ["how many answers", "their total ε"],
        "The variance of the mean is 199.8 / k, or 1/4 at k ≈ 800 answers, whose ε add up to 80.",
        [
            "The variance of a mean of k answers is that of one, divided by k. It should be 1/4.",
            "Each answer costs 0.1, and costs add up.",
        ],
    ),
    # 3. Why grids fail
    "03-noise-of-a-box": _noise_of_a_box,
    "03-one-cell-wins": _one_cell_wins,
    # 4. Inside SNH
    "04-by-hand": _by_hand,
    "04-one-network": lambda answer: numbers(
        answer,
        [62.5, (70 / 62.5) ** 2],
        ["the size", "the factor"],
        "The only network is for the middle of 25 to 100 m, and a count grows with the area.",
        [
            "One network is trained for the middle of 25 to 100 m.",
            "The factor is a quotient of areas, (70 / size)².",
        ],
        within=0.01,
    ),
    "04-fresh-grids": lambda answer: number(
        answer,
        0.8,
        "Eight grids of the same people are eight entries in the ledger, and costs add up.",
        "Is a record in one cell of one of the grids, or in one cell of each grid?",
        slips={
            0.1: "That is the epsilon of one grid. The epsilons of eight grids add up.",
            1.6: "That is for replacing a record by another. One record is in each grid once.",
        },
    ),
    # 5. Choosing the cell, without cheating
    "05-bill": lambda answer: number(
        answer,
        24 * 0.2,
        "24 builds from the same records cost 0.2 each, even if 23 of them are not published.",
        "Each build used the records, even if its grid was not published.",
        slips={
            0.2: "That is what she meant to spend. All 24 grids were built from the records.",
            0.6: "There are three widths, but also eight draws of each.",
            1.6: "There are eight draws, but also three widths.",
        },
    ),
    "05-scaled": lambda answer, epsilon, private, public: number(
        answer,
        epsilon * private / public,
        f"n·ε is {epsilon * private:,.0f} for both cities.",
        "n·ε must be the same for both cities.",
        slips={
            epsilon * public / private: "The quotient is inverted: fewer records need a larger ε.",
            epsilon: "With the same ε, noise dominates the smaller city, which needs wider cells.",
        },
    ),
    # 6. Your own data
    "06-exponents": lambda answer: numbers(
        answer,
        [40, 1],
        ["by record", "by user"],
        'With unit="record", forty trips are protected by 40 ε; with unit="user", by ε.',
        [
            'With unit="record", ε hides one trip, and the epsilons of forty trips add up.',
            'With unit="user", the noise is max_per_user times as large, so ε protects all trips.',
        ],
    ),
    "06-average": lambda answer: numbers(
        answer,
        [2**-0.5, 0.5],
        ["averaged", "one grid"],
        "A mean of two grids has half the variance; one grid at 2 ε has half the standard error.",
        [
            "The variance of the mean of two counts is half of one variance; take the root.",
            "The standard error of the noise is in proportion to 1/ε.",
        ],
    ),
    "06-people": lambda answer: number(
        answer,
        1,
        "One trip of each person is kept, so each person is counted once.",
        "A count of trips is a count of people if each person has one trip.",
        within=1e-9,
    ),
    # 7. Reproduce the paper
    "07-relative": lambda answer: number(
        answer,
        0.35,
        "The error of 7 is divided by 0.1 % of n, which is 20, since the truth is below that.",
        "What is 0.1 % of 20,000, and is the truth below it?",
        slips={
            7 / 3: "The truth is below 0.1 % of n, so 0.1 % of n is the divisor.",
            7: "That is the absolute error.",
            0.7: "Divide by the truth or by 0.1 % of n (the larger), not by the answer.",
        },
    ),
    "07-luck": lambda answer: number(
        answer,
        0.04,
        "5 · (1/5)³ = 1/25: if all are equally good, one figure in 25 has one winner throughout.",
        "A given method wins at one ε with probability 1/5. With what probability does it win at "
        "all three? And any of the five?",
        slips={
            0.008: "That is the probability for one given method. It could be any of the five.",
            0.2: "That is the probability of winning at one ε.",
        },
    ),
    # 8. Scale out
    "08-memory": lambda answer: number(
        answer,
        24,
        "Each of a billion records takes 24 bytes, which makes 24 GB.",
        "Three numbers of 8 bytes for each record.",
        slips={
            8: "That is for one number per record, but there are three.",
            3: "That is for one byte per number, but each number takes 8 bytes.",
        },
    ),
    "08-relative": lambda answer: number(
        answer,
        0.01,
        "The noise stays the same, and the counts are a hundred times as large.",
        "Divide the same noise by counts that are a hundred times as large.",
        slips={
            1: "The noise itself stays the same, but the counts grow.",
            0.1: "No root is needed, since the noise does not grow at all.",
        },
    ),
    "08-machines": lambda answer: number(
        answer,
        4,
        "16 variances add up, and the root of 16 is 4.",
        "Variances add up, standard deviations do not.",
        slips={16: "That is the factor of the variance."},
    ),
    # 9. Auditing
    "09-bound": lambda answer: number(
        answer,
        np.log(0.6 / 0.2),
        "ln 3 = 1.1 is the least ε that allows such a quotient.",
        "The definition bounds the quotient of the two probabilities by e^ε.",
        slips={
            3: "3 is the quotient. ε is its logarithm.",
            0.4: "That is the difference of the probabilities. The definition has their quotient.",
        },
    ),
    "09-guilty": _guilty,
    "09-neighbour": _neighbour,
    # 10. People over time
    "10-free": _free,
    "10-week": lambda answer: numbers(
        answer,
        [0.2, 1.4],
        ["one day of a person", "all seven days of a person"],
        "A day of a person is in one release. The person is in seven, whose epsilons add up.",
        [
            "A day of a person is in only one of the seven releases.",
            "The person is in all seven releases.",
        ],
    ),
    "10-share": lambda answer: numbers(
        answer,
        [1 / 365, 365 * 2**0.5],
        ["ε a day", "noise"],
        "ε is 1/365 a day, so the noise of each count has a standard deviation of about 516.",
        ["The days add up to 1.", "The standard deviation is √2/ε, with the ε of one day."],
    ),
    "10-total": lambda answer: number(
        answer,
        365**0.5,
        "The variances of 365 days add up, and the root of 365 is 19.1.",
        "Add 365 variances, then take the root.",
        slips={365: "That is the factor of the variances. The error is its root."},
    ),
    # 11. Other promises
    "11-delta": lambda answer: number(
        answer,
        1,
        "With probability 1/100,000 for each of 100,000 records, one is expected to be revealed.",
        "Multiply the probability for one record by the number of records.",
        slips={1e-5: "That is the probability for one record. There are 100,000 records."},
    ),
    "11-local-noise": lambda answer: number(
        answer,
        10_000**0.5,
        "Variances add up: 10,000 people add 10,000 times the variance of one noise.",
        "Each person adds noise of her own. What is the variance of a sum?",
        slips={
            10_000: "That is the quotient of the variances. Errors are their roots.",
            1: "The owner adds noise once. Without an owner, every person adds noise.",
        },
    ),
    "11-apart": lambda answer: number(
        answer,
        np.exp(3),
        "The factor for 3 km, at an ε of 1 per km, is e³ ≈ 20.",
        "The factor is e to the distance in km times ε per km.",
        slips={3: "That is the exponent. The factor is e to this exponent."},
    ),
    "11-council": lambda answer: choice(
        answer,
        "C",
        "C says how much may be learned, from which data, and what is not hidden.",
        {
            "A": "Nothing is absolutely safe, and lecture 0 showed that anonymising does not help.",
            "B": "ε is not the probability of a leak: it bounds what every release reveals.",
            "D": "Facts about crowds are not hidden, and should not be.",
        },
    ),
}
