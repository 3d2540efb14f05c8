"""Cell widths chosen from public numbers, or from noisy measurements that cost epsilon."""

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from snhkit.builders.base import MAX_CELLS_PER_SIDE
from snhkit.builders.width.evenness import bought_evenness
from snhkit.checks import positive
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Region
from snhkit.privacy import Measurements

if TYPE_CHECKING:
    from snhkit.select.paramselect import Pretrained

__all__ = ["Width", "check_width", "chosen_grid", "default_cell_width", "given_grid", "narrowing"]

Width = float | Literal["auto", "bought"] | None
"""A cell width in metres, or a way to choose it: None computes ``default_cell_width``; "auto" uses
the prediction of ``ParamSelect``; "bought" suits the records, at a cost of up to 3 % of epsilon."""


def default_cell_width(
    n: int, epsilon: float, sizes_m: tuple[float, float] = DEFAULT_SIZES_M
) -> float:
    """Return a cell width, from 5 to 2,000 m, that suits squares of the given sizes.

    For given sizes, the width depends only on the product of n and epsilon, since counts grow with
    n and the noise with 1 / epsilon. The width is a constant times a power of the product. The
    authors of SNH found the best widths on nine cities at five epsilons each, and the exponent was
    fitted to the dependence of these 45 widths on epsilon. The constant was chosen on public and
    synthetic cities. ``benchmarks/cell_width.py`` prints the exponent and the constant. The width
    also grows with the square root of the mean side of the squares, because a large square sums
    more noise, and less of its error comes from its border.

    Parameters
    ----------
    n : int
        The number of records: public, or measured with noise.
    epsilon : float
        Epsilon divided by the sensitivity, as ``Measurements.record_epsilon``.
    sizes_m : (float, float)
        Smallest and largest side of the squares in metres.

    Examples
    --------
    >>> round(default_cell_width(n=100_000, epsilon=0.2), 1)
    34.7
    """
    width = _CONSTANT_M * (max(n, 1) * epsilon) ** _EXPONENT
    return float(np.clip(width * math.sqrt(sum(sizes_m) / sum(DEFAULT_SIZES_M)), 5, 2000))


_CONSTANT_M, _EXPONENT = 1_600.0, -0.3869


def narrowing(
    n: int, epsilon: float, evenness: float, sizes_m: tuple[float, float] = DEFAULT_SIZES_M
) -> float:
    """Return the factor by which to multiply the default cell width if evenness is known.

    The factor's logarithm is linear in evenness and log(n epsilon). The coefficients were fitted
    for the least error of ``DenoisedGrid`` on public and synthetic cities
    (``benchmarks/denoised_widths.py``). For squares larger than the default sizes, the factor is
    nearer to 1, since the positions inside a cell matter less.

    Parameters
    ----------
    n : int
        The number of records: public, or measured with noise.
    epsilon : float
        Epsilon divided by the sensitivity, as ``Measurements.record_epsilon``.
    evenness : float
        The result of ``bought_evenness``: near 0 if most records are at a few spots, and near 1 if
        records are everywhere. It is measured with cells of half the default width for the default
        sizes.
    sizes_m : (float, float)
        Smallest and largest side of the squares in metres.

    Examples
    --------
    >>> [round(narrowing(100_000, 0.2, evenness), 2) for evenness in (1.0, 0.5, 0.1)]
    [1.15, 0.67, 0.35]
    """
    factor = math.exp(_AT_0 + _SLOPE * evenness) * (max(n, 1) * epsilon) ** _POWER
    return min(factor, _WIDEST) ** min(1.0, math.sqrt(sum(DEFAULT_SIZES_M) / sum(sizes_m)))


_AT_0, _SLOPE, _POWER = -2.55, 1.631, 0.135
_WIDEST = 1.15  # larger factors were no better


def check_width(cell_m: Width) -> None:
    """Raise InputError if ``cell_m`` is not a ``Width``."""
    if isinstance(cell_m, str):
        if cell_m not in ("auto", "bought"):
            raise InputError(
                f"cell_m must be a positive number, 'auto' or 'bought', not {cell_m!r}."
            )
    elif cell_m is not None:
        positive("cell_m", cell_m)


def given_grid(region: Region, cell_m: Width) -> Grid | None:
    """Return the grid of a width given in metres, or None if the width is still to be chosen.

    If the width makes too many cells, InputError is raised.
    """
    return None if cell_m is None or isinstance(cell_m, str) else Grid.of_width(region, cell_m)


def chosen_grid(
    private: Measurements,
    cell_m: Width,
    share: float = 1.0,
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    labels: "Pretrained" = "published",
    least_m: float = 0.0,
    wider: float = 1.0,
) -> Grid:
    """Return the grid of a given or chosen width; n and evenness are measured if they are needed.

    Parameters
    ----------
    private : Measurements
        The access to the records. If a width is chosen, a part of the remaining epsilon is spent on
        a noisy n unless n is public, and on a noisy evenness if ``cell_m`` is "bought".
    cell_m : float, "auto", "bought" or None
        The width in metres, or the way to choose it (see ``Width``).
    share : float
        The share of the remaining epsilon that the counts of the grid will get.
    sizes_m : (float, float)
        Smallest and largest side of the squares in metres that the width should suit.
    labels : str
        If ``cell_m`` is "auto": the training examples of the prediction, as in
        ``ParamSelect.pretrained``.
    least_m : float
        The least width in metres that may be chosen.
    wider : float
        A factor by which a bought width is multiplied.

    Returns
    -------
    Grid
        The grid over the region of the records.

    Raises
    ------
    InputError
        If a given width makes more cells than a grid may have.
    """
    region = private.region
    given = given_grid(region, cell_m)
    if given is not None:
        return given
    n = private.number()
    # n has been paid for by now, so a very large region gets wider cells instead of an error.
    finest = max(region.side_m / MAX_CELLS_PER_SIDE, min(least_m, region.side_m))
    if cell_m == "auto":
        from snhkit.select import ParamSelect

        select = ParamSelect.pretrained(labels)
        width = select.cell_width(n, share * private.record_epsilon, private.public)
    else:
        width = default_cell_width(n, share * private.record_epsilon, sizes_m)
    if cell_m == "bought":
        usual = default_cell_width(n, share * private.record_epsilon)
        half = Grid.of_width(region, max(usual / 2, finest))
        evenness = bought_evenness(private, half)
        width *= wider * narrowing(n, share * private.record_epsilon, evenness, sizes_m)
    return Grid.of_width(region, max(width, finest))
