"""Epsilon as an exact fraction, so that ten times 0.1 is 1."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational

import numpy as np

from snhkit.checks import cut, is_plain
from snhkit.errors import InputError
from snhkit.privacy.zcdp import rho_of

Epsilon = int | float | str | Decimal | Fraction
"""The types that are accepted as an epsilon; a str is a decimal or a fraction such as "1/3"."""

MAX_PART = 2**62
"""Numerators and denominators must be below this, as the noise is drawn with 64-bit integers."""

_NUMBER = re.compile(r"[0-9]{1,1000}(/[1-9][0-9]{0,999})?")
_MAX_TEXT = 64  # characters
_MAX_EXPONENT = 40  # of ten, in absolute value


def exact(epsilon: Epsilon) -> Fraction:
    """Return epsilon as the exact fraction that the user wrote, so 0.1 is one tenth.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        A positive number. A float stands for the decimal that Python prints for it. A str is a
        decimal such as "0.1" or a fraction such as "1/3".

    Returns
    -------
    Fraction
        Epsilon, with a numerator and a denominator below 2**62.

    Raises
    ------
    InputError
        If epsilon is not a number, not finite, not positive, or has more digits than the integer
        arithmetic of the noise holds (about 18).

    Examples
    --------
    >>> exact(0.1), exact("1/3"), 10 * exact(0.1) == 1
    (Fraction(1, 10), Fraction(1, 3), True)
    """
    value = _fraction(epsilon)
    if value <= 0:
        raise InputError(f"epsilon must be greater than 0, not {cut(str(epsilon), 24)}.")
    if max(value.numerator, value.denominator) >= MAX_PART:
        raise _too_many_digits(epsilon)
    return value


def exact_delta(delta: Epsilon) -> Fraction:
    """Return delta, from 0 to below 1, as an exact fraction, as ``exact`` does for epsilon."""
    try:
        value = _fraction(delta)
    except InputError as error:
        raise InputError(str(error).replace("epsilon", "delta")) from None
    if not 0 <= value < 1 or value.denominator >= MAX_PART:
        raise InputError(
            f"delta must be 0, or a number below 1 such as 1e-6, not {cut(str(delta), 24)}."
        )
    return value


def epsilon_share(epsilon: Epsilon) -> Fraction:
    """Return epsilon as ``exact`` does; a Fraction, as builders divide it, may have more digits."""
    return epsilon if isinstance(epsilon, Fraction) and epsilon > 0 else exact(epsilon)


def _fraction(epsilon: object) -> Fraction:
    """Return a number, or a text that holds a number, as a fraction."""
    if isinstance(epsilon, (bool, np.bool_)):
        raise InputError(f"epsilon must be a number, not {epsilon}.")
    if isinstance(epsilon, Rational):
        return Fraction(int(epsilon.numerator), int(epsilon.denominator))
    if isinstance(epsilon, (float, np.floating)):
        if not math.isfinite(epsilon):
            raise InputError(f"epsilon must be finite, not {epsilon}.")
        return _from_decimal(Decimal(str(epsilon)), epsilon)
    if isinstance(epsilon, Decimal):
        return _from_decimal(epsilon, epsilon)
    if isinstance(epsilon, str):
        return _from_text(epsilon)
    raise InputError(f"epsilon must be a number, not a {type(epsilon).__name__}.")


def _from_text(text: str) -> Fraction:
    """Return a text such as "0.1" or "1/3" as a fraction."""
    if len(text) > _MAX_TEXT:
        raise _too_many_digits(text)
    if not is_plain(text):
        raise InputError(
            f"epsilon must be written with the digits 0 to 9, such as '0.1' or '1/3', not {text!r}."
        )
    try:
        return _from_decimal(Decimal(text), text)
    except InvalidOperation:
        pass
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"epsilon must be a number such as '0.1' or '1/3', not {text!r}."
        ) from None


def _from_decimal(value: Decimal, given: object) -> Fraction:
    """Return a decimal as a fraction; error messages quote ``given``, the caller's value."""
    if not value.is_finite():
        raise InputError(f"epsilon must be finite, not {cut(str(given), 24)}.")
    # The size is checked before the conversion, since 1e999999999 would fill the memory.
    if value and abs(value.adjusted()) > _MAX_EXPONENT:
        raise _too_many_digits(given)
    return Fraction(value)


def _too_many_digits(given: object) -> InputError:
    return InputError(
        f"epsilon {cut(str(given), 24)} has too many digits: the noise is drawn with 64-bit "
        "integers, so its numerator and denominator must be below 2**62 (about 18 digits). Round "
        "it, for instance to '0.0123'."
    )


def fraction(name: str, text: str) -> Fraction:
    """Return the number of a text such as "2" or "1/3" in a file; errors begin with ``name``."""
    # Fraction("1e999999999") would take unbounded time and memory.
    if not _NUMBER.fullmatch(text):
        raise InputError(
            f"{name} must be written as p or p/q with at most 1,000 digits each, not {text[:40]!r}."
        )
    return Fraction(text)


def written(value: Fraction) -> str:
    """Return a fraction as text: a decimal if the decimal is exact, and "p/q" otherwise.

    >>> written(Fraction(2, 5)), written(Fraction(1, 3)), written(Fraction(2))
    ('0.4', '1/3', '2')
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(value)
    places = 0
    while value.denominator != 1 and (value * 10**places).denominator != 1:
        places += 1
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


@dataclass(frozen=True, order=True)
class Budget:
    """An exact amount of epsilon, with or without a delta, that releases may spend.

    Budgets can be compared, added, multiplied, divided and printed. With a delta, releases may use
    Gaussian noise, and their costs add up in zero-concentrated differential privacy (zCDP): all
    releases together are (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        The amount, greater than 0; stored as an exact fraction (see ``exact``).
    delta : int, float, str, Decimal or Fraction
        The delta, from 0 to below 1; 0 for pure differential privacy.

    Raises
    ------
    InputError
        If epsilon is not a number, not finite, not positive, or has too many digits, if delta is
        not a number from 0 to below 1, or if a budget with a delta is added to another.

    Examples
    --------
    >>> print(Budget(0.1) + Budget("1/5"))
    0.3
    >>> 10 * Budget(0.1) == Budget(1)
    True
    >>> print(Budget(1, delta="1e-6"), float(Budget(1, delta="1e-6").rho))
    1 at delta 0.000001 0.0243559703
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Epsilon, delta: Epsilon = 0) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon))
        object.__setattr__(self, "delta", exact_delta(delta))

    @classmethod
    def of(cls, budget: "Budget | Epsilon") -> "Budget":
        """Return a ``Budget``; a number is taken as the epsilon of a budget without a delta."""
        return budget if isinstance(budget, Budget) else cls(budget)

    @property
    def rho(self) -> Fraction:
        """The rho of zCDP that implies epsilon and delta (see ``rho_of``); 0 without a delta."""
        return rho_of(self.epsilon, self.delta) if self.delta else Fraction(0)

    def __add__(self, other: "Budget") -> "Budget":
        if self.delta or other.delta:
            raise InputError("Budgets with a delta cannot be added; make one Budget for the total.")
        return Budget(self.epsilon + other.epsilon)

    def __mul__(self, times: int | Fraction) -> "Budget":
        return Budget(self.epsilon * times, self.delta)

    __rmul__ = __mul__

    def __truediv__(self, parts: int | Fraction) -> "Budget":
        return Budget(self.epsilon / parts, self.delta)

    def __str__(self) -> str:
        return written(self.epsilon) + (f" at delta {written(self.delta)}" if self.delta else "")
