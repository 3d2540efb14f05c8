"""Zero-concentrated differential privacy (zCDP): rho, and its conversion to (epsilon, delta)."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError

_DIGITS = 9  # significant digits of results, which are rounded to the safe side
_ERROR = 1e-11  # far above the relative error of the floating-point arithmetic


@dataclass(frozen=True)
class Rho:
    """The cost of a measurement with Gaussian noise, in zCDP: a Fraction greater than 0."""

    value: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.value, Fraction) or self.value <= 0:
            raise InputError(f"Rho: value must be a positive Fraction, not {self.value!r}.")


def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho such that rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : Fraction
        The wanted epsilon, greater than 0.
    delta : Fraction
        The wanted delta, between 0 and 1.

    Returns
    -------
    Fraction
        The largest rho that the theorem in the notes allows, rounded down to 9 significant digits.

    Raises
    ------
    InputError
        If epsilon is not positive, delta is not between 0 and 1, or epsilon is so small that the
        theorem allows no positive rho.

    Examples
    --------
    >>> float(rho_of(Fraction(1), Fraction(1, 10**6)))
    0.0243559703

    Notes
    -----
    For every order alpha > 1, rho-zCDP implies (epsilon, delta)-DP with epsilon = alpha rho +
    log(1 - 1 / alpha) - log(alpha delta) / (alpha - 1) (Canonne, Kamath and Steinke, "The Discrete
    Gaussian for Differential Privacy", 2020, Corollary 13). A search finds a good order; the
    result is valid for any order.
    """
    _check(epsilon, delta)

    def rho(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        return (float(epsilon) - _offset(alpha, delta)) / alpha

    best = float(rho(_best_order(lambda alpha: -rho(alpha))).max())
    if best <= 0:
        raise InputError(
            f"epsilon = {float(epsilon):g} is too small for delta = {float(delta):g}; "
            "give a larger epsilon."
        )
    return rounded(best * (1 - _ERROR), ROUND_FLOOR)


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho : Fraction
        The rho, 0 or more.
    delta : Fraction
        The wanted delta, between 0 and 1.

    Returns
    -------
    Fraction
        The smallest epsilon that the theorem in the notes of ``rho_of`` allows, rounded up to 9
        significant digits; 0 if rho is 0.

    Raises
    ------
    InputError
        If rho is negative, or delta is not between 0 and 1.

    Examples
    --------
    >>> round(float(epsilon_of(Fraction(1, 8), Fraction(1, 10**6))), 3)
    2.419
    """
    if rho == 0:
        return Fraction(0)
    _check(rho, delta, "rho")

    def epsilon(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        return alpha * float(rho) + _offset(alpha, delta)

    best = max(float(epsilon(_best_order(epsilon)).min()), 0.0)
    return rounded(best * (1 + _ERROR), ROUND_CEILING)


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return epsilon**2 / 2, which pure epsilon costs (Bun and Steinke 2016, Prop. 1.4)."""
    return epsilon**2 / 2


def _offset(alpha: NDArray[np.float64], delta: Fraction) -> NDArray[np.float64]:
    """Return the terms of epsilon in the formula of ``rho_of`` that do not depend on rho."""
    return np.log1p(-1 / alpha) - (np.log(alpha) + np.log(float(delta))) / (alpha - 1)


def _best_order(loss) -> NDArray[np.float64]:
    """Return three orders alpha close to the order with the smallest ``loss(alpha)``."""
    low, high = -12.0, 40.0  # logarithms of alpha - 1
    for _ in range(6):
        logs = np.linspace(low, high, 401)
        at, step = logs[np.argmin(loss(1 + np.exp(logs)))], logs[1] - logs[0]
        low, high = at - step, at + step
    return 1 + np.exp(np.linspace(low, high, 3))


def rounded(value: float, rounding: str) -> Fraction:
    """Return a number rounded to 9 significant digits; ``rounding`` is a mode of ``decimal``."""
    return Fraction(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value)))


def _check(amount: Fraction, delta: Fraction, name: str = "epsilon") -> None:
    if amount <= 0:
        raise InputError(f"{name} must be greater than 0, not {amount}.")
    if not 0 < delta < 1:
        raise InputError(f"delta must be greater than 0 and below 1, not {float(delta):g}.")
