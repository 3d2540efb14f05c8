"""The privacy cost of noisy results."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from snhkit.errors import InputError
from snhkit.privacy.budget import Epsilon, epsilon_share, written
from snhkit.privacy.zcdp import Rho

__all__ = ["Spend", "total", "total_delta", "total_rho"]


@dataclass(frozen=True)
class Spend:
    """The privacy cost of one noisy measurement, such as the noisy counts of a grid's cells.

    Parameters
    ----------
    epsilon : Fraction
        The cost of the whole measurement; 0 if ``rho`` is the cost.
    what : str
        A description of the noisy results, which must not depend on private records.
    composition : "sequential" or "parallel"
        "parallel" if each record is counted in one of the noisy numbers only, so that all of them
        together cost epsilon once. Only ``noisy_histogram`` sets "parallel".
    delta : Fraction
        The delta of the measurement, above 0 only for the Gaussian noise of demonstrations.
    rho : Fraction
        The cost of discrete Gaussian noise in zCDP (``snhkit.privacy.zcdp``), instead of epsilon.

    Raises
    ------
    InputError
        If epsilon or rho is not a Fraction of at least 0, if both are 0, if a positive rho comes
        with an epsilon or a delta, if delta is not a Fraction in [0, 1), or if composition is not
        "sequential" or "parallel".

    Examples
    --------
    >>> print(Spend(Fraction(1, 5), "number of records"))
    0.2 for number of records
    """

    epsilon: Fraction
    what: str
    composition: Literal["sequential", "parallel"] = "sequential"
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    @classmethod
    def of(
        cls,
        price: Epsilon | Rho,
        what: str,
        composition: Literal["sequential", "parallel"] = "sequential",
    ) -> "Spend":
        """Return the Spend for a price: an epsilon for Laplace noise, a Rho for Gaussian noise."""
        if isinstance(price, Rho):
            return cls(Fraction(0), what, composition, rho=price.value)
        return cls(epsilon_share(price), what, composition)

    def __post_init__(self) -> None:
        if not isinstance(self.rho, Fraction) or self.rho < 0:
            raise InputError(f"Spend: rho must be a Fraction, at least 0, not {self.rho!r}.")
        if not isinstance(self.epsilon, Fraction) or (self.epsilon <= 0 and not self.rho):
            raise InputError(f"Spend: epsilon must be a positive Fraction, not {self.epsilon!r}.")
        if self.rho and (self.epsilon or self.delta):
            raise InputError("Spend: with rho as the cost, epsilon and delta must be 0.")
        if self.composition not in ("sequential", "parallel"):
            raise InputError(
                f"Spend: composition must be 'sequential' or 'parallel', not {self.composition!r}."
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise InputError(
                f"Spend: delta must be a Fraction, at least 0 and below 1, not {self.delta!r}."
            )

    def __str__(self) -> str:
        once = ", in parallel" if self.composition == "parallel" else ""
        delta = f" (delta = {written(self.delta)})" if self.delta else ""
        cost = f"rho {float(self.rho):.4g}" if self.rho else written(self.epsilon)
        return f"{cost}{delta} for {self.what}{once}"


def total(spends: Iterable[Spend]) -> Fraction:
    """Return the sum of the epsilons of several measurements of the same records.

    Parameters
    ----------
    spends : iterable of Spend
        The costs of the measurements.

    Returns
    -------
    Fraction
        The sum, by sequential composition; 0 without measurements.

    Examples
    --------
    >>> total([Spend(Fraction(1, 10), "one"), Spend(Fraction(1, 5), "two")])
    Fraction(3, 10)
    """
    return sum((spend.epsilon for spend in spends), Fraction(0))


def total_delta(spends: Iterable[Spend]) -> Fraction:
    """Return the sum of the deltas of several measurements of the same records.

    Parameters
    ----------
    spends : iterable of Spend
        The costs of the measurements.

    Returns
    -------
    Fraction
        The sum, by sequential composition; 0 without measurements.

    Examples
    --------
    >>> total_delta([Spend(Fraction(1), "one"), Spend(Fraction(1), "two", delta=Fraction(1, 9))])
    Fraction(1, 9)
    """
    return sum((spend.delta for spend in spends), Fraction(0))


def total_rho(spends: Iterable[Spend]) -> Fraction:
    """Return the sum of the rhos of several measurements of the same records.

    Parameters
    ----------
    spends : iterable of Spend
        The costs of the measurements.

    Returns
    -------
    Fraction
        The sum, by composition of zCDP; 0 without measurements.

    Examples
    --------
    >>> part = Spend(Fraction(0), "counts", rho=Fraction(1, 100))
    >>> total_rho([part, part])
    Fraction(1, 50)
    """
    return sum((spend.rho for spend in spends), Fraction(0))
