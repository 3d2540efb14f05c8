"""Judges of the exercises of lectures 11 to 14: promises, choices, composition and DP-SGD."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snhkit.teaching.judges import Verdict, choice, function, number, result_of


def _softmax(exponents: ArrayLike) -> NDArray[np.float64]:
    weights = np.exp(np.subtract(exponents, np.max(exponents)))
    return weights / weights.sum()


class _Draws:
    """Known draws of noise for a student's function, of which the scales are kept."""

    def __init__(self, units: Sequence[float]) -> None:
        self.scales: list[float] = []
        self._units = units

    def many(self, count: int, scale: float) -> NDArray[np.float64]:
        """Return some draws of a scale."""
        return np.array([self.one(scale) for _ in range(count)])

    def one(self, scale: float) -> float:
        """Return one draw of a scale."""
        unit = self._units[len(self.scales) % len(self._units)]
        self.scales.append(float(scale))
        return unit * self.scales[-1]


def _position(result: Any, k: int) -> int | Verdict:
    """Return a position that a student's function returned, or a verdict that it is none."""
    whole = isinstance(result, (int, np.integer)) and not isinstance(result, bool)
    if whole and 0 <= result <= k:
        return int(result)
    told = f"It returns {result!r}, which is not a position (a whole number from 0 to {k})."
    return Verdict(False, told, "Only the position is released: a count would cost more.")


_MAX_CASES = (
    ([5, 9, 7], 0.5, (0.3, -2.0, 1.1), 2),
    ([100, 90, 95, 20], 0.1, (-0.9, 1.4, 0.2, -0.1), 1),
    ([4, 4], 1.0, (-0.5, 0.25), 1),
)


def _noisy_max(answer: Any) -> Verdict:
    for counts, epsilon, units, right in _MAX_CASES:
        draws = _Draws(units)
        result = result_of(answer, np.array(counts), epsilon, draws.many)
        if isinstance(result, Verdict):
            return result
        place = _position(result, len(counts))
        if isinstance(place, Verdict):
            return place
        told = f"For the counts {counts} and ε = {epsilon:g}"
        if not draws.scales:
            return Verdict(False, f"{told}, no noise is drawn.", "draw(len(counts), scale) draws.")
        if len(draws.scales) < len(counts):
            return Verdict(
                False,
                f"{told}, noise is drawn for {len(draws.scales)} of {len(counts)} counts.",
                "The same noise for all counts changes no comparison. Each count needs its own.",
            )
        if not np.allclose(draws.scales, 1 / epsilon):
            return Verdict(
                False,
                f"{told}, the scale of the noise is {draws.scales[0]:g}.",
                f"The theorem has the scale 1/ε, here {1 / epsilon:g}.",
            )
        if place != right:
            told += f" and the noise {np.divide(units, epsilon).round(2).tolist()}"
            hint = "Add the noise to the counts, then take np.argmax."
            return Verdict(False, f"{told}, the position is {place}, but should be {right}.", hint)
    return Verdict(True, "Each count has its own noise of scale 1/ε. Only the position gets out.")


_QUIET_CASES = (
    ([60, 50, 40, 10, 60], 30, 1.0, (1.0, 0.1, -0.2, -3.0, 0.2, 0.1), 2),
    ([60, 50, 40], 30, 0.5, (-1.0, 0.2, 0.1, 0.3), 3),
    ([35, 34, 80], 30, 0.5, (2.0, 1.0, -0.9, 0.0), 1),
)


def _first_quiet(answer: Any) -> Verdict:
    for counts, threshold, epsilon, units, right in _QUIET_CASES:
        draws = _Draws(units)
        result = result_of(answer, np.array(counts), threshold, epsilon, draws.one)
        if isinstance(result, Verdict):
            return result
        place = _position(result, len(counts))
        if isinstance(place, Verdict):
            return place
        told = f"For the counts {counts}, the threshold {threshold} and ε = {epsilon:g}"
        compared = min(max(place, 0) + 1, len(counts))
        if fault := _fault_of(draws.scales, 2 / epsilon, 4 / epsilon, compared):
            return Verdict(False, f"{told}, the scales of the draws are {draws.scales}.", fault)
        if place != right:
            hint = "Stop at the first noisy count below the noisy threshold; without one, return k."
            return Verdict(False, f"{told}, the position is {place}, but should be {right}.", hint)
    return Verdict(True, "The threshold has one noise for all comparisons, each count its own.")


def _fault_of(scales: list[float], line: float, each: float, compared: int) -> str:
    """Return what is wrong with the scales of the draws for a number of comparisons; "" if none."""
    if not np.isin(np.round(scales, 9), np.round([line, each], 9)).all():
        return f"The theorem has the scales 2/ε and 4/ε, here {line:g} and {each:g}."
    if line not in scales:
        return "Without noise in the threshold, every comparison costs ε. Draw it first."
    if scales.count(line) > 1:
        return "The threshold gets noise once, before the first comparison."
    if scales[0] != line:
        return "Draw the noise of the threshold first."
    if len(scales) < compared + 1:
        return "Each count that is compared needs its own noise of scale 4/ε."
    return ""


def _rho(epsilon: float, delta: float) -> float:
    """Return the rho whose conversion in the lecture, rho + 2 sqrt(rho ln(1/delta)), is epsilon."""
    return (np.sqrt(np.log(1 / delta) + epsilon) - np.sqrt(np.log(1 / delta))) ** 2


THEORY: dict[str, Callable[..., Verdict]] = {
    # 11. Other promises
    "11-delta": lambda answer, records=100_000, one_in=100_000: number(
        answer,
        records / one_in,
        f"With probability 1/{one_in:,} for each of {records:,} records, {records / one_in:.3g} "
        "are published on average.",
        "Multiply the probability for one record by the number of records.",
        slips={1 / one_in: f"That is the probability for one record. There are {records:,}."},
    ),
    "11-truthful": partial(
        function,
        cases=[
            ((2, 1), 0.731058579),
            ((400, 1), 0.0067666371),
            ((10, 0.5), 0.154828099),
            ((10, 3), 0.690567858),
        ],
        why="The true cell is e^ε times as probable as each other one, and all k add up to 1.",
        hint="Let each other cell have the probability q, and the true one e^ε · q. Their sum is "
        "1.",
        slips=[
            (
                lambda k, epsilon: 1 / (1 + np.exp(-epsilon)),
                "That is right for two cells, as in Warner's method. There are k.",
            ),
            (
                lambda k, epsilon: np.exp(epsilon) / (np.exp(epsilon) + k),
                "There are k - 1 other cells, not k.",
            ),
        ],
    ),
    "11-apart": partial(
        function,
        cases=[((3, 1), 20.0855369), ((0.5, 2), 2.71828183), ((0, 1), 1)],
        why="The factor for 3 km, at an ε of 1 per km, is e³ ≈ 20.",
        hint="The factor is e to the distance in km times ε per km.",
        slips=[
            (
                lambda km, epsilon: km * epsilon,
                "That is the exponent. The factor is e to this exponent.",
            ),
        ],
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
    # 12. Choosing a place
    "12-chances": partial(
        function,
        cases=[
            ((np.array([3.0, 5.0, 4.0]), 1.0, 1.0), [0.186323723, 0.506480391, 0.307195886]),
            ((np.array([-20.0, 0.0]), 0.1, 4.0), [0.437823499, 0.562176501]),
            (
                (np.array([12_000.0, 12_010.0, 11_000.0]), 0.5, 2.0),
                [0.222700139, 0.777299861, 1.15056259e-55],
            ),
        ],
        why="The weight may change by e^(ε/2), and so may the sum of all weights.",
        hint="The weight of a score u is e^(εu / 2Δ). Subtract the largest score first, since "
        "e^3000 is "
        "too large for a computer.",
        slips=[
            (
                lambda scores, epsilon, sensitivity: _softmax(scores * epsilon / sensitivity),
                "That is for scores that all rise. Here the sum of the weights can change the "
                "other way, so each part gets half of ε.",
            ),
            (
                lambda scores, epsilon, sensitivity: _softmax(scores * epsilon / 2),
                "Scores that change by up to Δ need a weight that changes Δ times as slowly.",
            ),
        ],
    ),
    "12-noisy-max": _noisy_max,
    "12-first-quiet": _first_quiet,
    # 13. Composition
    "13-advanced": partial(
        function,
        cases=[
            ((0.1, 100, 1e-06), 6.30823095),
            ((0.01, 1000, 1e-05), 1.6179288),
            ((0.5, 10, 1e-09), 13.422817),
        ],
        why="At ε = 0.1, a hundred answers cost 6.3 instead of 10, with δ = 10⁻⁶.",
        hint="The sum of the losses is at most its mean, kε(e^ε - 1), plus ε√(2k ln(1/δ)).",
        slips=[
            (lambda epsilon, k, delta: epsilon * k, "That is the sum: basic composition."),
            (
                lambda epsilon, k, delta: epsilon * np.sqrt(2 * k * np.log(1 / delta)),
                "That is how far the sum of the losses gets from its mean. Add the mean.",
            ),
            (
                lambda epsilon, k, delta: (
                    epsilon * np.sqrt(2 * k * np.log10(1 / delta)) + k * epsilon * np.expm1(epsilon)
                ),
                "The logarithm is the natural one, np.log.",
            ),
        ],
    ),
    "13-from-rho": partial(
        function,
        cases=[
            ((0.5, 1e-06), 5.75652177),
            ((0.005, 1e-05), 0.484852591),
            ((2.0, 1e-09), 14.8757962),
        ],
        why="For ρ = 0.5 and δ = 10⁻⁶ it is 5.8.",
        hint="Solve (ε - ρ)² = 4ρ ln(1/δ) for ε.",
        slips=[
            (
                lambda rho, delta: 2 * np.sqrt(rho * np.log(1 / delta)),
                "That is the distance of ε from ρ. Add ρ.",
            ),
            (
                lambda rho, delta: rho + np.sqrt(rho * np.log(1 / delta)),
                "The 4 in front of ρ has the root 2.",
            ),
        ],
    ),
    "13-most-answers": partial(
        function,
        cases=[((1.0, 1e-06, 50.0), 87), ((0.5, 1e-05, 100.0), 106), ((3.0, 1e-09, 25.0), 126)],
        why="With noise of 50, 87 answers cost at most (1, 10⁻⁶) together.",
        hint="√ρ = √(L + ε) - √L, with L = ln(1/δ). Each answer costs 1/(2 std²) of this ρ.",
        slips=[
            (
                lambda epsilon, delta, std: 2 * std**2 * _rho(epsilon, delta),
                "Round down: a part of an answer cannot be given.",
            ),
            (
                lambda epsilon, delta, std: np.floor(std**2 * _rho(epsilon, delta)),
                "An answer costs ρ = 1/(2 std²), so 2 std² of them cost 1.",
            ),
        ],
    ),
    # 14. DP-SGD beside SNH
    "14-clipped-sum": partial(
        function,
        cases=[
            ((np.array([[3.0, 4.0], [0.3, 0.4], [-6.0, 8.0]]), 1.0), [0.3, 2]),
            ((np.array([[0.0, 0.0], [1.0, -2.0]]), 0.5), [0.223606798, -0.447213595]),
            (
                (np.array([[0.1, 0.0, 0.2], [2.0, 2.0, 1.0]]), 2.0),
                [1.43333333, 1.33333333, 0.866666667],
            ),
        ],
        why="Long gradients keep their direction, short ones stay as they are.",
        hint="Multiply each row by min(1, clip / its length), then add up the rows.",
        slips=[
            (
                lambda gradients, clip: np.clip(gradients, -clip, clip).sum(axis=0),
                "That cuts each coordinate. The length of a whole row must be at most clip.",
            ),
            (
                lambda gradients, clip: (
                    gradients.sum(axis=0) * min(1, clip / np.linalg.norm(gradients.sum(axis=0)))
                ),
                "That clips the sum, which then says nothing about what one row can change.",
            ),
            (lambda gradients, clip: gradients.sum(axis=0), "No row is clipped."),
        ],
    ),
    "14-most-changed": partial(
        function,
        cases=[
            ((np.array([[1, 0, 1, 1], [0, 1, 0, 0]]), 10.0), 60),
            ((np.array([[1, 1], [1, 1], [0, 1]]), 0.5), 2),
            ((np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), 1.0), 2),
        ],
        why="Each box that contains the record may turn its gradient round: 2 clip for each.",
        hint="How many boxes contain the place that is in most boxes? How far apart can two "
        "vectors of "
        "length clip be?",
        slips=[
            (
                lambda inside, clip: clip * np.max(np.sum(inside, axis=1)),
                "A gradient of length clip can become its opposite, which is 2 clip away.",
            ),
            (
                lambda inside, clip: 2 * clip * np.sum(inside),
                "A record is at one place. Take the place that is in most boxes.",
            ),
            (lambda inside, clip: 2 * clip, "The record may be in several boxes of the batch."),
            (
                lambda inside, clip: 2 * clip * np.shape(inside)[1],
                "That holds, but no place is in all boxes of some batches.",
            ),
        ],
    ),
    "14-noise": partial(
        function,
        cases=[((0.5, 100, 1.0), 10), ((0.02, 300, 2.0), 173.205081), ((0.1, 1, 0.5), 1.11803399)],
        why="A step has ρ / steps, so its noise is √steps times that of one look.",
        hint="Each step may cost ρ / steps, and noise of std costs sensitivity² / (2 std²).",
        slips=[
            (
                lambda rho, steps, sensitivity: sensitivity / np.sqrt(2 * rho),
                "That is the noise if the whole ρ is spent on one step.",
            ),
            (
                lambda rho, steps, sensitivity: sensitivity * steps / np.sqrt(2 * rho),
                "Each step gets ρ / steps, and the noise grows with the root of that.",
            ),
        ],
    ),
}
"""The judges by exercise name."""
