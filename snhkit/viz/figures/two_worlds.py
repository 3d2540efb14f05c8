"""A figure of what differential privacy guarantees: answers with and without one record."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import InputError
from snhkit.viz.maps.surface import COLOURS

_IMPOSSIBLE = "possible with one of the files only: not differentially private"


def two_worlds(
    answers: ArrayLike, with_it: ArrayLike, without_it: ArrayLike, epsilon: float
) -> Figure:
    """Draw the probability of each answer from two files that differ in one record.

    Parameters
    ----------
    answers : array, shape (a,)
        The possible answers in increasing order, such as the released counts 0, 1, 2; a is the
        number of answers.
    with_it, without_it : array, shape (a,)
        The probability of each answer from the file with the record, and from the file without the
        record.
    epsilon : float
        The privacy parameter. The ratios that epsilon allows, from e^-epsilon to e^epsilon, are
        shaded.

    Raises
    ------
    InputError
        If shapes differ, a probability is negative or not finite, or epsilon is not positive.

    Examples
    --------
    >>> two_worlds([0, 1], [0.5, 0.5], [0.6, 0.4], epsilon=0.3).axes[0].get_ylabel()
    'probability'

    Notes
    -----
    The upper part shows the probabilities, the lower part the ratio of the two probabilities of
    each answer. An answer with two probabilities of 0 has no ratio and is not drawn.
    """
    x, p, q = (np.asarray(a, float) for a in (answers, with_it, without_it))
    if x.ndim != 1 or not x.shape == p.shape == q.shape:
        raise InputError(
            "two_worlds: answers, with_it and without_it must be lists of equal length, not "
            f"arrays of shapes {x.shape}, {p.shape} and {q.shape}."
        )
    if not (np.isfinite([p, q]).all() and (np.stack([p, q]) >= 0).all()):
        raise InputError(
            "two_worlds: probabilities must be finite and not negative; the smallest is "
            f"{np.min([p, q])} and the largest {np.max([p, q])}."
        )
    if not 0 < epsilon < np.inf:
        raise InputError(f"two_worlds: epsilon must be a positive number, not {epsilon!r}.")
    figure = Figure(figsize=(8, 5.2), layout="constrained")
    top, bottom = figure.subplots(2, sharex=True, height_ratios=[3, 2])
    step = np.diff(x).min() if len(x) > 1 else 1.0
    for side, chance, label, colour, hatch in (
        (-0.2, q, "without the record", COLOURS[0], ""),
        (+0.2, p, "with the record", COLOURS[1], "///"),
    ):
        top.bar(
            x + side * step,
            chance,
            0.4 * step,
            label=label,
            color=colour,
            hatch=hatch,
            edgecolor="white",
        )
    top.set_ylabel("probability")
    top.legend(frameon=False)
    _draw_ratios(bottom, x, p, q, epsilon)
    bottom.set_xlabel("released count")
    for axis in (top, bottom):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_ratios(axis: Axes, x: NDArray, p: NDArray, q: NDArray, epsilon: float) -> None:
    """Draw the ratio p / q for each x, on a logarithmic scale with 0 and infinity at its ends."""
    seen, both = (p > 0) | (q > 0), (p > 0) & (q > 0)
    log = np.log(p[both] / q[both])
    edge = 1.6 * max(epsilon, np.abs(log).max(initial=0))
    axis.axhspan(
        np.exp(-epsilon),
        np.exp(epsilon),
        color=COLOURS[2],
        alpha=0.2,
        label=f"allowed at ε = {epsilon:.3g}: 1/{np.exp(epsilon):.3g} to {np.exp(epsilon):.3g}",
    )
    axis.plot(x[both], np.exp(log), "o", color="#1a1a1a", markersize=5)
    one = seen & ~both
    if one.any():
        at = np.exp(np.where(p[one] > 0, 0.9, -0.9) * edge)
        axis.plot(x[one], at, "X", color=COLOURS[5], markersize=9, label=_IMPOSSIBLE)
    axis.set_yscale("log")
    axis.set_ylim(np.exp(-edge), np.exp(edge))
    ticks = np.exp([-epsilon, 0, epsilon])
    axis.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylabel("with : without")
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 0.97), ncols=2)
