"""The epsilon that a ledger's entries have spent, and the epsilon that is left."""

from collections.abc import Iterable
from decimal import ROUND_FLOOR
from fractions import Fraction

from snhkit.privacy.budget import Budget
from snhkit.privacy.entry import Entry
from snhkit.privacy.spend import Cost, total
from snhkit.privacy.zcdp import epsilon_of, rounded

__all__ = ["left", "remaining", "spent"]

_BELOW = 1 - 1e-8  # rounds down, so that a charge of the whole remaining epsilon is not refused


def left(budget: Budget, entries: Iterable[Entry], rho: Fraction | None = None) -> Cost:
    """Return what is left of a budget after all entries: of rho with a delta, else of epsilon.

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
    """Return the epsilon that one more entry can be charged, at the budget's delta.

    Parameters
    ----------
    budget : Budget
        The budget of the ledger.
    rho : Fraction
        The rho of the budget. Callers keep this number, since ``budget.rho`` computes it slowly.
    entries : iterable of Entry
        The entries of the ledger.
    """
    if not budget.delta:
        return left(budget, entries).epsilon
    rest = left(budget, entries, rho).rho
    if rest <= 0:
        return Fraction(0)
    return rounded(_BELOW * float(epsilon_of(rest, budget.delta)), ROUND_FLOOR)
