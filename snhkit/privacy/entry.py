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

_BELOW = 1 - 1e-8  # rounds down, so that a charge of the whole remaining epsilon is not refused

State = Literal["open", "settled", "failed"]
"""The state of an entry: its build has not ended, has succeeded, or has failed."""


@dataclass(frozen=True)
class Entry:
    """One charge to a ledger, which stays spent even if the measurements fail.

    Entries are made by ``Ledger.charge`` and closed by ``Ledger.settle`` or ``Ledger.fail``.
    """

    number: int  # from 1
    when: datetime  # in UTC
    who: str  # the method that the charge pays for
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)  # the charge in zCDP, if the ledger's budget has a delta
    replayable: bool = False  # whether the noise comes from a seed, and can be removed with it
    state: State = "open"
    spends: tuple[Spend, ...] = ()  # of a settled entry
    reason: str = ""  # of a failed entry: the exception's type, as its text may quote records
    checksum: str = ""  # of a settled entry: that of the release's file, as ``verify`` needs


def left(budget: Budget, entries: Iterable[Entry], rho: Fraction | None = None) -> Cost:
    """Return what is left of a budget: rho with a delta, else epsilon; ``rho`` is the budget's."""
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
