"""The entries of a ledger, each of which is one charge, and what they cost together."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Literal

from snhkit.privacy.budget import Budget
from snhkit.privacy.spend import Cost, Spend, total
from snhkit.privacy.zcdp import epsilon_of, rounded

__all__ = ["Entry", "State", "left", "remaining", "spent"]

_BELOW = 1 - 1e-8  # rounds down, so that a charge of the whole remaining epsilon is not refused

State = Literal["open", "settled", "failed"]
"""The state of an entry: its build has not ended, has succeeded, or has failed."""


@dataclass(frozen=True)
class Entry:
    """One charge to a ledger, which stays spent even if the measurements fail.

    Entries are made by ``Ledger.charge`` and closed by ``Ledger.settle`` or ``Ledger.fail``.

    Parameters
    ----------
    number : int
        The entry's position in the ledger, from 1.
    when : datetime
        The time of the charge, in UTC.
    who : str
        The name of the method that the charge pays for, such as "UG".
    epsilon : Fraction
        The epsilon that was charged.
    delta : Fraction
        The delta that was charged; 0 for pure differential privacy.
    rho : Fraction
        If the ledger's budget has a delta, the charge as the rho of zero-concentrated differential
        privacy (zCDP); otherwise 0.
    replayable : bool
        Whether the noise comes from a seed, so that anyone who knows the seed can remove the noise.
    state : "open", "settled" or "failed"
        "open" at first; "settled" after the measurements succeeded, "failed" otherwise.
    spends : tuple of Spend
        For a settled entry, the cost of each of its measurements.
    reason : str
        For a failed entry, the type name of the exception. The exception's text is not kept,
        because it may quote records.
    checksum : str
        For a settled entry, the checksum of the release's file, by which ``snhkit verify`` finds
        the entry of a file.

    Examples
    --------
    >>> from snhkit.privacy import Ledger
    >>> entry = Ledger(1).charge("0.2", "UG")
    >>> entry.number, entry.who, entry.epsilon, entry.state
    (1, 'UG', Fraction(1, 5), 'open')
    """

    number: int
    when: datetime
    who: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    replayable: bool = False
    state: State = "open"
    spends: tuple[Spend, ...] = ()
    reason: str = ""
    checksum: str = ""


def left(budget: Budget, entries: Iterable[Entry], rho: Fraction | None = None) -> Cost:
    """Return what is left of a budget: of rho with a delta, else of epsilon.

    Callers may give the budget's ``rho``, which is computed slowly.
    """
    used = total(entries)
    if not budget.delta:
        return Cost(budget.epsilon - used.epsilon, Fraction(0), Fraction(0))
    return Cost(Fraction(0), Fraction(0), (budget.rho if rho is None else rho) - used.rho)


def spent(budget: Budget, entries: Iterable[Entry]) -> Fraction:
    """Return the epsilon that all entries together have spent, at the budget's delta."""
    if not budget.delta:
        return total(entries).epsilon
    return epsilon_of(total(entries).rho, budget.delta)


def remaining(budget: Budget, rho: Fraction, entries: Iterable[Entry]) -> Fraction:
    """Return the epsilon of one more entry, at the budget's delta; ``rho`` is the budget's."""
    if not budget.delta:
        return left(budget, entries).epsilon
    rest = left(budget, entries, rho).rho
    if rest <= 0:
        return Fraction(0)
    return rounded(_BELOW * float(epsilon_of(rest, budget.delta)), ROUND_FLOOR)
