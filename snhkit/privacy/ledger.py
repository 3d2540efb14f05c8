"""The account of a dataset's privacy: who spent what, and what is left."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from snhkit.errors import BudgetExceeded, InputError
from snhkit.privacy import ledger_table
from snhkit.privacy.budget import Budget, Epsilon, exact, written
from snhkit.privacy.entry import Entry
from snhkit.privacy.spend import Spend, total, total_delta

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Ledger"]

_NONE = Fraction(0)


class Ledger:
    """An exact account of one dataset's epsilon; many threads may charge it.

    Charges compose sequentially: they add up. What was charged stays charged. Deltas add up as
    well, and are shown; there is no budget for them.

    Parameters
    ----------
    budget : Budget or number
        All that may ever be spent.

    Raises
    ------
    InputError
        If the budget is not a positive, finite number.

    Examples
    --------
    >>> ledger = Ledger(1.0)
    >>> entry = ledger.charge(0.7, "UG")
    >>> ledger.charge(0.4, "SNH")
    Traceback (most recent call last):
    ...
    snhkit.errors.BudgetExceeded: SNH: asked 0.4, left 0.3, short by 0.1. Nothing was looked at.
    >>> ledger.fail(entry).state, ledger.remaining
    ('failed', Fraction(3, 10))
    """

    def __init__(self, budget: Budget | Epsilon) -> None:
        self._budget = budget if isinstance(budget, Budget) else Budget(budget)
        self._entries: tuple[Entry, ...] = ()
        self._lock = threading.Lock()

    @property
    def total(self) -> Fraction:
        """The whole budget."""
        return self._budget.epsilon

    @property
    def spent(self) -> Fraction:
        """The sum of all charges, failed ones included."""
        return sum((entry.epsilon for entry in self.entries), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """What may still be charged."""
        return self.total - self.spent

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges in order, as they are now."""
        return self._entries

    def charge(
        self, epsilon: Epsilon, who: str, *, delta: Fraction = _NONE, replayable: bool = False
    ) -> Entry:
        """Spend epsilon and delta, before any noise is drawn.

        Parameters
        ----------
        epsilon : int, float, str, Decimal or Fraction
            How much.
        who : str
            What for: a method's name, one printable line.
        delta : Fraction
            From 0 to below 1.
        replayable : bool
            Whether the noise will come from a seed.

        Returns
        -------
        Entry
            To be handed to ``settle`` or ``fail``.

        Raises
        ------
        BudgetExceeded
            If less than epsilon is left; names the shortfall, and spends nothing.
        InputError
            If epsilon is not a positive, finite number, delta none from 0 to below 1, or ``who``
            is empty or not printable.
        """
        asked = exact(epsilon)
        if not who.strip() or not who.isprintable():
            raise InputError(f"who must be one line of printable text, not {who!r}.")
        if not 0 <= delta < 1:
            raise InputError(f"{who}: delta must be a number from 0 to below 1, not {delta!r}.")
        with self._alone():
            left = self.total - sum((entry.epsilon for entry in self._entries), Fraction(0))
            if asked > left:
                raise BudgetExceeded(
                    f"{who}: asked {written(asked)}, left {written(left)}, "
                    f"short by {written(asked - left)}. Nothing was looked at."
                )
            now = datetime.now(UTC)
            entry = Entry(len(self._entries) + 1, now, who, asked, delta, bool(replayable))
            self._store(entry)
            self._entries = (*self._entries, entry)
        return entry

    def settle(self, entry: Entry, spends: Iterable[Spend]) -> Entry:
        """Write down what a charge has bought, and return the settled entry.

        Raises
        ------
        BudgetExceeded
            If the spends add up to more than was charged; the entry stays open, to be failed.
        InputError
            If the entry is not an open one of this ledger.
        """
        spends = tuple(spends)
        for name, used, charged in (
            ("", total(spends), entry.epsilon),
            ("delta ", total_delta(spends), entry.delta),
        ):
            if used > charged:
                raise BudgetExceeded(
                    f"{entry.who}: used {name}{written(used)} of {written(charged)} charged, "
                    f"{written(used - charged)} too much; its result must not be released."
                )
        return self._close(entry, replace(entry, state="settled", spends=spends))

    def fail(self, entry: Entry, reason: BaseException | None = None) -> Entry:
        """Write down that a charge bought nothing, and return the failed entry.

        It stays spent: noise may have been drawn. Of the reason only the type's name is kept.

        Raises
        ------
        InputError
            If the entry is not an open one of this ledger.
        """
        name = "" if reason is None else type(reason).__name__
        return self._close(entry, replace(entry, state="failed", reason=name))

    def _close(self, entry: Entry, closed: Entry) -> Entry:
        with self._alone():
            at = entry.number - 1
            if not (0 <= at < len(self._entries) and self._entries[at] is entry) or (
                entry.state != "open"
            ):
                raise InputError("This is not an open entry of this ledger.")
            self._store(closed)
            self._entries = (*self._entries[:at], closed, *self._entries[at + 1 :])
        return closed

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep all others from changing the ledger."""
        with self._lock:
            yield

    def _store(self, entry: Entry) -> None:
        """Write an entry, new or changed, before it counts; in memory there is nothing to do."""

    @property
    def summary(self) -> str:
        """Return one line: the budget, what was spent and what is left."""
        return ledger_table.summary(self._budget, self.entries)

    def to_frame(self) -> "pd.DataFrame":
        """The entries as a pandas DataFrame, one row each; epsilon, delta as floats."""
        return ledger_table.as_frame(self.entries)

    def __repr__(self) -> str:
        return ledger_table.as_text(self._budget, self.entries)

    def _repr_html_(self) -> str:
        return ledger_table.as_html(self._budget, self.entries)
