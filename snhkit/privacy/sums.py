"""The epsilon that a ledger's entries have spent, and the epsilon that is left."""

from collections.abc import Iterable
from decimal import ROUND_FLOOR
from fractions import Fraction

from snhkit.privacy.budget import Budget
from snhkit.privacy.entry import Entry
from snhkit.privacy.zcdp import epsilon_of, rounded

__all__ = ["remaining", "spent"]

_BELOW = 1 - 1e-8  # rounds down, so that a charge of the whole remaining epsilon is not refused


def spent(budget: Budget, entries: Iterable[Entry]) -> Fraction:
    """Return the epsilon that all entries together have spent, at the budget's delta."""
    if not budget.delta:
        return sum((entry.epsilon for entry in entries), Fraction(0))
    return epsilon_of(sum((entry.rho for entry in entries), Fraction(0)), budget.delta)


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
        return budget.epsilon - spent(budget, entries)
    left = rho - sum((entry.rho for entry in entries), Fraction(0))
    if left <= 0:
        return Fraction(0)
    return rounded(_BELOW * float(epsilon_of(left, budget.delta)), ROUND_FLOOR)
