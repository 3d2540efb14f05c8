"""The rule that chooses the width of cells, for all methods that count in one noisy grid.

Narrow cells locate records well, but a square then sums the noise of many cells. Three numbers
decide which width has the least error:

1. n times epsilon. The more records and the less noise, the narrower the cells
   (``default_cell_width``).
2. The sizes of the squares that will be asked about. Larger squares suit wider cells.
3. How evenly the records are spread. If most of them are at a few spots, narrow cells around these
   spots hold many records, so the noise matters less; the best width is then a third or half as
   large (``narrowing``).

n and the sizes are public or bought; nobody knows the third number without looking at the records.
The rule therefore buys it, with noise, for at most 3 % of epsilon (``bought_evenness``).
``ParamSelect``, the paper's way, costs nothing, and learned from other cities which width suits
public points of this city. It does not know the records: check-ins are at a few venues, the starts
of taxi rides are along all streets. So it is asked with ``cell_m="auto"`` only.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from snhkit.builders.base import MAX_CELLS_PER_SIDE
from snhkit.checks import positive
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Region
from snhkit.privacy import Measurements

if TYPE_CHECKING:
    from snhkit.select.paramselect import Pretrained

Width = float | Literal["auto"] | None
"""A cell width in metres; None for the rule; or "auto" for ``ParamSelect``, at no cost."""

_CONSTANT_M, _EXPONENT = 1_600.0, -0.3869
_MIN_SHARE, _MAX_SHARE = Fraction(3, 1000), Fraction(3, 100)  # of the epsilon or rho that is left
_TARGET_N_EPSILON = 50  # wanted n times epsilon per record; the noise scale is then 2 % of n
_PARTS = 10**6  # prices are multiples of a millionth
_CAP_FACTOR = 3  # the cap on a cell's count, in units of the mean count of a cell
_PRIOR_STD = 0.2  # standard deviation of evenness among cities, roughly


def default_cell_width(
    n: int, epsilon: float, sizes_m: tuple[float, float] = DEFAULT_SIZES_M
) -> float:
    """Return a cell width, from 5 to 2,000 m, that suits squares of the given sizes.

    A constant, chosen on public cities, times a power of n epsilon, fitted to the authors' 45 best
    widths (``benchmarks/cell_width.py``), times the root of the squares' mean side.
    """
    width = _CONSTANT_M * (max(n, 1) * epsilon) ** _EXPONENT
    return float(np.clip(width * math.sqrt(sum(sizes_m) / sum(DEFAULT_SIZES_M)), 5, 2000))


class _Narrowing(NamedTuple):
    """The coefficients of ``narrowing`` for a kind of method, and the largest factor."""

    at_0: float
    even: float
    power: float
    even_power: float
    widest: float


_NARROWING = {
    "snh": _Narrowing(-2.76, 3.673, 0.163, -0.163, 2.49),
    "denoised": _Narrowing(-2.55, 1.631, 0.135, 0.0, 1.15),
}


def narrowing(
    n: int,
    epsilon: float,
    evenness: float,
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    labels: "Pretrained" = "snh",
) -> float:
    """Return the factor by which to multiply the default cell width if evenness is known.

    Its logarithm is linear in evenness, log(n epsilon) and their product, fitted to public cities
    (``benchmarks/widths.py``). For larger squares, in which places matter less, it is nearer to 1.
    """
    b = _NARROWING.get(labels, _NARROWING["snh"])
    scale = math.log(max(n, 1) * epsilon)
    factor = math.exp(b.at_0 + b.even * evenness + (b.power + b.even_power * evenness) * scale)
    return min(factor, b.widest) ** min(1.0, math.sqrt(sum(DEFAULT_SIZES_M) / sum(sizes_m)))


def check_width(cell_m: Width) -> None:
    """Raise InputError if ``cell_m`` is not a ``Width``."""
    if isinstance(cell_m, str):
        if cell_m != "auto":
            raise InputError(
                f"cell_m must be a positive number, 'auto' or None (the default), not {cell_m!r}."
            )
    elif cell_m is not None:
        positive("cell_m", cell_m)


def given_grid(region: Region, cell_m: Width, most_cells: int = MAX_CELLS_PER_SIDE) -> Grid | None:
    """Return the grid of a width given in metres, or None if the width is still to be chosen.

    InputError is raised for more than ``most_cells`` cells per side.
    """
    if cell_m is None or isinstance(cell_m, str):
        return None
    grid = Grid.of_width(region, cell_m)
    if grid.m > most_cells:
        raise InputError(
            f"cell_m = {cell_m:g} makes {grid.m:,} cells per side, more than the {most_cells:,} "
            f"that this method can use; make cell_m {region.side_m / most_cells:.3g} or more."
        )
    return grid


def chosen_grid(
    private: Measurements,
    cell_m: Width,
    share: float = 1.0,
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    labels: "Pretrained" = "snh",
    wider: float = 1.0,
    most_cells: int = MAX_CELLS_PER_SIDE,
) -> Grid:
    """Return the grid of a given or chosen width; n and evenness are measured if they are needed.

    A chosen width is at least half the side of the smallest squares, below which it does not help.
    """
    region = private.region
    given = given_grid(region, cell_m, most_cells)
    if given is not None:
        return given
    n = private.number()
    # n has been paid for by now, so a very large region gets wider cells instead of an error.
    finest = max(region.side_m / most_cells, min(sizes_m[0] / 2, region.side_m))
    if cell_m == "auto":
        from snhkit.select import ParamSelect

        select, epsilon = ParamSelect.pretrained(labels), share * private.record_epsilon
        width = select.cell_width(n, epsilon, private.public)
    else:
        usual = default_cell_width(n, share * private.record_epsilon)
        width = default_cell_width(n, share * private.record_epsilon, sizes_m)
        half = Grid.of_width(region, max(usual / 2, region.side_m / MAX_CELLS_PER_SIDE))
        evenness = bought_evenness(private, half)
        width *= wider * narrowing(n, share * private.record_epsilon, evenness, sizes_m, labels)
    return Grid.of_width(region, max(width, finest))


def bought_evenness(private: Measurements, grid: Grid) -> float:
    """Return a noisy evenness: the share of records that remain if each cell's count is capped.

    The cap is thrice the mean count, or the noise scale if that is larger. Near 0, most records are
    at few spots. Noise shrinks the result towards 1. It costs 0.3 to 3 % of what is left.
    """
    n = max(private.n or 0, 1)
    most = _cap(grid, n, private.record_epsilon)
    sensitivity = private.unit.sensitivity
    enough = sensitivity * Fraction(math.ceil(_TARGET_N_EPSILON * _PARTS / n), _PARTS)
    if private.exponent == 1:
        enough = (enough / 2) ** 2  # the rho of Gaussian noise with the same variance
    price = min(max(enough, private.left * _MIN_SHARE), private.left * _MAX_SHARE)
    noisy = private.capped_sum(grid, most, price)
    noise = math.sqrt(2) / (private.inverse_scale(price) * n)
    trust = 1 / (1 + (noise / _PRIOR_STD) ** 2)
    return 1 - trust * (1 - min(max(noisy / n, 0.0), 1.0))


def _cap(grid: Grid, n: int, epsilon: float) -> int:
    """Return the most records of a cell that count towards evenness."""
    return math.ceil(max(1 / epsilon, _CAP_FACTOR * max(n, 1) / grid.m**2))
