"""Judges of the answers to exercises of lectures 12 to 14, on choices, composition and DP-SGD."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snhkit.teaching.judges import Verdict, function, result_of


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


def _position(result: Any) -> int | Verdict:
    """Return a position that a student's function returned, or a verdict that it is none."""
    if isinstance(result, (int, np.integer)) and not isinstance(result, bool):
        return int(result)
    told = f"It returns {result!r}, which is not a position (a whole number)."
    return Verdict(False, told, "Only the position is released: a count would cost more.")


_MAX_CASES = (
    ([5, 9, 7], 0.5, (0.3, -2.0, 1.1)),
    ([100, 90, 95, 20], 0.1, (-0.9, 1.4, 0.2, -0.1)),
    ([4, 4], 1.0, (-0.5, 0.25)),
)


def _noisy_max(answer: Any) -> Verdict:
    for counts, epsilon, units in _MAX_CASES:
        draws = _Draws(units)
        result = result_of(answer, list(counts), epsilon, draws.many)
        if isinstance(result, Verdict):
            return result
        place = _position(result)
        if isinstance(place, Verdict):
            return place
        told = f"For the counts {counts} and ε = {epsilon:g}"
        if not draws.scales:
            return Verdict(False, f"{told}, no noise is drawn.", "draw(len(counts), scale) draws.")
        if len(draws.scales) < len(counts):
            return Verdict(
                False,
                f"{told}, there are {len(draws.scales)} draws.",
                "The same noise for all counts changes no comparison. Each count needs its own.",
            )
        if not np.allclose(draws.scales, 1 / epsilon):
            return Verdict(
                False,
                f"{told}, the scale of the noise is {draws.scales[0]:g}.",
                f"The theorem has the scale 1/ε, here {1 / epsilon:g}.",
            )
        right = int(np.argmax(np.add(counts, np.divide(units, epsilon))))
        if place != right:
            told += f" and the noise {np.divide(units, epsilon).round(2).tolist()}"
            hint = "Add the noise to the counts, then take np.argmax."
            return Verdict(False, f"{told}, the position is {place}, but should be {right}.", hint)
    return Verdict(True, "Each count has its own noise of scale 1/ε. Only the position gets out.")


_QUIET_CASES = (
    ([60, 50, 40, 10, 60], 30, 1.0, (1.0, 0.1, -0.2, -3.0, 0.2, 0.1)),
    ([60, 50, 40], 30, 0.5, (-1.0, 0.2, 0.1, 0.3)),
    ([35, 34, 80], 30, 0.5, (2.0, 1.0, -0.9, 0.0)),
)


def _first_quiet(answer: Any) -> Verdict:
    for counts, threshold, epsilon, units in _QUIET_CASES:
        draws = _Draws(units)
        result = result_of(answer, list(counts), threshold, epsilon, draws.one)
        if isinstance(result, Verdict):
            return result
        place = _position(result)
        if isinstance(place, Verdict):
            return place
        known = _Draws(units)
        right = _quiet(counts, threshold, epsilon, known.one)
        told = f"For the counts {counts}, the threshold {threshold} and ε = {epsilon:g}"
        compared = min(max(place, 0) + 1, len(counts))
        if fault := _fault_of(draws.scales, known.scales, compared):
            return Verdict(False, f"{told}, the scales of the draws are {draws.scales}.", fault)
        if place != right:
            hint = "Stop at the first noisy count below the noisy threshold; without one, return k."
            return Verdict(False, f"{told}, the position is {place}, but should be {right}.", hint)
    return Verdict(True, "The threshold has one noise for all comparisons, each count its own.")


def _quiet(
    counts: Sequence[int], threshold: float, epsilon: float, draw: Callable[[float], float]
) -> int:
    line = threshold + draw(2 / epsilon)
    for place, count in enumerate(counts):
        if count + draw(4 / epsilon) < line:
            return place
    return len(counts)


def _fault_of(scales: list[float], wanted: list[float], compared: int) -> str:
    """Return what is wrong with the scales of the draws for a number of comparisons; "" if none."""
    line, each = wanted[:2]
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


def _clipped(gradients: ArrayLike, clip: float) -> NDArray[np.float64]:
    given = np.asarray(gradients, float)
    norms = np.linalg.norm(given, axis=1, keepdims=True)
    return (given * np.minimum(1, clip / np.maximum(norms, 1e-300))).sum(axis=0)


_GRADIENTS = [
    (np.array([[3.0, 4.0], [0.3, 0.4], [-6.0, 8.0]]), 1.0),
    (np.array([[0.0, 0.0], [1.0, -2.0]]), 0.5),
    (np.array([[0.1, 0.0, 0.2], [2.0, 2.0, 1.0]]), 2.0),
]
_INSIDE = [
    (np.array([[1, 0, 1, 1], [0, 1, 0, 0]]), 10.0),
    (np.array([[1, 1], [1, 1], [0, 1]]), 0.5),
    (np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), 1.0),
]

THEORY: dict[str, Callable[..., Verdict]] = {
    # 12. Choosing a place
    "12-chances": lambda answer: function(
        answer,
        lambda scores, epsilon, sensitivity: _softmax(scores * epsilon / 2 / sensitivity),
        [
            (np.array([3.0, 5.0, 4.0]), 1.0, 1.0),
            (np.array([-20.0, 0.0]), 0.1, 4.0),
            (np.array([12_000.0, 12_010.0, 11_000.0]), 0.5, 2.0),
        ],
        "The weight may change by e^(ε/2), and so may the sum of all weights.",
        "The weight of a score u is e^(εu / 2Δ). Subtract the largest score first, since e^3000 is "
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
    "13-advanced": lambda answer: function(
        answer,
        lambda epsilon, k, delta: (
            epsilon * np.sqrt(2 * k * np.log(1 / delta)) + k * epsilon * np.expm1(epsilon)
        ),
        [(0.1, 100, 1e-6), (0.01, 1_000, 1e-5), (0.5, 10, 1e-9)],
        "At ε = 0.1, a hundred answers cost 6.3 instead of 10, with δ = 10⁻⁶.",
        "The sum of the losses is at most its mean, kε(e^ε - 1), plus ε√(2k ln(1/δ)).",
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
    "13-from-rho": lambda answer: function(
        answer,
        lambda rho, delta: rho + 2 * np.sqrt(rho * np.log(1 / delta)),
        [(0.5, 1e-6), (0.005, 1e-5), (2.0, 1e-9)],
        "For ρ = 0.5 and δ = 10⁻⁶ it is 5.8.",
        "Solve (ε - ρ)² = 4ρ ln(1/δ) for ε.",
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
    "13-most-answers": lambda answer: function(
        answer,
        lambda epsilon, delta, std: np.floor(2 * std**2 * _rho(epsilon, delta)),
        [(1.0, 1e-6, 50.0), (0.5, 1e-5, 100.0), (3.0, 1e-9, 20.0)],
        "With noise of 50, 87 answers cost at most (1, 10⁻⁶) together.",
        "√ρ = √(L + ε) - √L, with L = ln(1/δ). Each answer costs 1/(2 std²) of this ρ.",
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
    "14-clipped-sum": lambda answer: function(
        answer,
        _clipped,
        _GRADIENTS,
        "Long gradients keep their direction, short ones stay as they are.",
        "Multiply each row by min(1, clip / its length), then add up the rows.",
        slips=[
            (
                lambda gradients, clip: np.clip(gradients, -clip, clip).sum(axis=0),
                "That cuts each coordinate. The length of a whole row must be at most clip.",
            ),
            (
                lambda gradients, clip: _clipped(gradients.sum(axis=0, keepdims=True), clip),
                "That clips the sum, which then says nothing about what one row can change.",
            ),
            (lambda gradients, clip: gradients.sum(axis=0), "No row is clipped."),
        ],
    ),
    "14-most-changed": lambda answer: function(
        answer,
        lambda inside, clip: 2 * clip * np.max(np.sum(inside, axis=1)),
        _INSIDE,
        "Each box that contains the record may turn its gradient round: 2 clip for each.",
        "How many boxes contain the place that is in most boxes? How far apart can two vectors of "
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
    "14-noise": lambda answer: function(
        answer,
        lambda rho, steps, sensitivity: sensitivity * np.sqrt(steps / (2 * rho)),
        [(0.5, 100, 1.0), (0.02, 300, 2.0), (0.1, 1, 0.5)],
        "A step has ρ / steps, so its noise is √steps times that of one look.",
        "Each step may cost ρ / steps, and noise of std costs sensitivity² / (2 std²).",
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
