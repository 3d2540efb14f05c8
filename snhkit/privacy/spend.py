"""What a noisy number has cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from snhkit.errors import InputError
from snhkit.privacy.budget import written

__all__ = ["Spend", "total", "total_delta"]


@dataclass(frozen=True)
class Spend:
    """The epsilon, and the delta if any, that one call of a noise function has used.

    Parameters
    ----------
    epsilon : Fraction
        The cost of the whole call.
    what : str
        What was bought, in plain words and without a private number.
    composition : "sequential" or "parallel"
        Parallel where many numbers cost epsilon once, since a record is in only one of them.
        Only ``noisy_histogram`` says so.
    delta : Fraction
        0 where the noise keeps the pure promise, as all but Gaussian noise does here.

    Raises
    ------
    InputError
        If epsilon is not a fraction above 0, delta not one from 0 to below 1, or composition is
        another word.

    Examples
    --------
    >>> print(Spend(Fraction(1, 5), "number of records"))
    0.2 for number of records
    """

    epsilon: Fraction
    what: str
    composition: Literal["sequential", "parallel"] = "sequential"
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise InputError(f"Spend: epsilon must be a Fraction above 0, not {self.epsilon!r}.")
        if self.composition not in ("sequential", "parallel"):
            raise InputError(
                f"Spend: composition must be 'sequential' or 'parallel', not {self.composition!r}."
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise InputError(
                f"Spend: delta must be a Fraction from 0 to below 1, not {self.delta!r}."
            )

    def __str__(self) -> str:
        once = ", in parallel" if self.composition == "parallel" else ""
        delta = f" (delta = {written(self.delta)})" if self.delta else ""
        return f"{written(self.epsilon)}{delta} for {self.what}{once}"


def total(spends: Iterable[Spend]) -> Fraction:
    """The cost of several calls on the same records: the sum (sequential composition).

    Examples
    --------
    >>> total([Spend(Fraction(1, 10), "one"), Spend(Fraction(1, 5), "two")])
    Fraction(3, 10)
    """
    return sum((spend.epsilon for spend in spends), Fraction(0))


def total_delta(spends: Iterable[Spend]) -> Fraction:
    """The delta of several calls on the same records: the sum, as for epsilon.

    Examples
    --------
    >>> total_delta([Spend(Fraction(1), "one"), Spend(Fraction(1), "two", delta=Fraction(1, 9))])
    Fraction(1, 9)
    """
    return sum((spend.delta for spend in spends), Fraction(0))
