"""The ledger of a dataset's privacy budget."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from snhkit.errors import BudgetExceeded, InputError
from snhkit.markup import html_table
from snhkit.privacy.budget import Budget, Epsilon, exact, written
from snhkit.privacy.count_source import CountSource
from snhkit.privacy.entry import Entry, left, remaining, spent
from snhkit.privacy.fingerprint import fingerprint
from snhkit.privacy.spend import Spend, total
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.zcdp import pure_rho

if TYPE_CHECKING:
    import pandas as pd

_NONE = Fraction(0)
_COLUMNS = ("#", "when (UTC)", "who", "epsilon", "state", "bought")
_RIGHT_ALIGNED = (0, 3)  # columns of numbers
# White on red is legible in light and dark notebook themes.
_RED = "background:#b3261e;color:#fff;padding:0 .4em;border-radius:.3em"


class Ledger:
    """An exact, thread-safe account of the epsilon that was spent on one dataset.

    Charges add up (sequential composition), and no charge is ever taken back. A budget without a
    delta limits epsilon only. Demonstrations such as ``DPSGD``, which can be charged to such a
    budget, also have a delta; these deltas are added up and shown, but not limited.

    If the budget has a delta, costs are measured by the rho of zero-concentrated differential
    privacy (zCDP), and the rhos add up. A release with Gaussian noise costs the rho that implies
    its epsilon and delta, and a release without a delta costs a rho of epsilon^2 / 2.

    Parameters
    ----------
    budget : Budget, int, float, str, Decimal or Fraction
        The largest epsilon that all charges together may reach.
    unit : PrivacyUnit, optional
        The unit of privacy that each release hides. The ledger only shows this unit.
    records : callable, optional
        A function that returns the records that the ledger belongs to, or None if they were
        deleted; ``PrivateDataset`` passes such a function.

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

    def __init__(
        self,
        budget: Budget | Epsilon,
        unit: PrivacyUnit | None = None,
        records: Callable[[], CountSource | None] = lambda: None,
    ) -> None:
        self._unit, self._records = unit, records
        self._budget = Budget.of(budget)
        self._rho = self._budget.rho
        self._entries: tuple[Entry, ...] = ()
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def unit(self) -> PrivacyUnit | None:
        """The unit of privacy that each release hides, or None if it is unknown."""
        return self._unit

    @property
    def budget(self) -> Budget:
        """The epsilon, and delta if there is one, that all charges together may reach."""
        return self._budget

    def records_are(self, others: CountSource) -> bool:
        """Return whether the ledger's records are in memory and equal to other records."""
        known = self._records()
        return known is not None and fingerprint(known, b"") == fingerprint(others, b"")

    @property
    def total(self) -> Fraction:
        """The budget's epsilon, as a Fraction."""
        return self._budget.epsilon

    @property
    def delta(self) -> Fraction:
        """The budget's delta, as a Fraction; 0 for pure differential privacy."""
        return self._budget.delta

    @property
    def rho(self) -> Fraction:
        """The budget's rho in zCDP, as a Fraction; 0 for pure differential privacy."""
        return self._rho

    @property
    def spent(self) -> Fraction:
        """The epsilon of all charges together, failed ones included, at the budget's delta."""
        return spent(self._budget, self.entries)

    @property
    def remaining(self) -> Fraction:
        """The epsilon that can still be charged, as a Fraction.

        With a delta, ``spent`` and ``remaining`` add up to more than the total.
        """
        return remaining(self._budget, self._rho, self.entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in the order of their charges, in their current states."""
        return self._entries

    def charge(
        self,
        epsilon: Epsilon,
        who: str,
        *,
        delta: Fraction = _NONE,
        rho: Fraction = _NONE,
        replayable: bool = False,
    ) -> Entry:
        """Add an open entry that charges epsilon and delta, before any noise is drawn.

        Parameters
        ----------
        epsilon : int, float, str, Decimal or Fraction
            The epsilon to charge.
        who : str
            The name of the method that is charged, one printable line.
        delta : Fraction
            The delta to charge, from 0 to below 1.
        rho : Fraction
            For Gaussian noise, the rho of zCDP that implies epsilon and delta.
        replayable : bool
            Whether the noise will come from a seed.

        Returns
        -------
        Entry
            The open entry. Pass this entry to ``settle`` or ``fail`` later.

        Raises
        ------
        BudgetExceeded
            If less than the cost is left. The message names the shortfall, and nothing is charged.
        InputError
            If epsilon is not a positive, finite number, if delta is outside [0, 1), or if ``who``
            is empty or not printable. A budget without a delta refuses a charge with a rho, and a
            budget with a delta refuses a charge that has a delta but no rho.
        """
        asked = exact(epsilon)
        if not who.strip() or not who.isprintable():
            raise InputError(f"who must be one line of printable text, not {who!r}.")
        if not 0 <= delta < 1:
            raise InputError(f"{who}: delta must be at least 0 and below 1, not {delta!r}.")
        rho = self._rho_of(asked, who, delta, rho)
        with self._alone():
            self._refuse_excess(who, asked, rho)
            now = datetime.now(UTC)
            entry = Entry(len(self._entries) + 1, now, who, asked, delta, rho, bool(replayable))
            self._store(entry)
            self._entries = (*self._entries, entry)
        return entry

    def settle(self, entry: Entry, spends: Iterable[Spend], checksum: str = "") -> Entry:
        """Record that an entry's measurements were made, and return the settled entry.

        Parameters
        ----------
        entry : Entry
            An open entry of this ledger.
        spends : iterable of Spend
            The costs of the measurements, which together are at most the charge.
        checksum : str
            The checksum of the release's file, with which ``snhkit verify`` finds the entry.

        Returns
        -------
        Entry
            The settled entry.

        Raises
        ------
        BudgetExceeded
            If the spends add up to more than was charged. The entry stays open; pass it to
            ``fail``.
        InputError
            If the entry is not an open entry of this ledger.
        """
        spends = tuple(spends)
        for name, used, charged in zip(
            ("", "delta ", "rho "), total(spends), total([entry]), strict=True
        ):
            if used > charged:
                raise BudgetExceeded(
                    f"{entry.who}: used {name}{written(used)} of {written(charged)} charged, "
                    f"{written(used - charged)} too much; the result must not be released."
                )
        return self._close(entry, replace(entry, state="settled", spends=spends, checksum=checksum))

    def fail(self, entry: Entry, reason: BaseException | None = None) -> Entry:
        """Record that an entry's measurements failed, and return the failed entry.

        The charge stays spent, because noise may have been drawn before the failure.

        Parameters
        ----------
        entry : Entry
            An open entry of this ledger.
        reason : BaseException, optional
            The exception that was raised. Only the name of its type is kept, because its text
            may quote records.

        Returns
        -------
        Entry
            The failed entry.

        Raises
        ------
        InputError
            If the entry is not an open entry of this ledger.
        """
        name = "" if reason is None else type(reason).__name__
        return self._close(entry, replace(entry, state="failed", reason=name))

    def _close(self, entry: Entry, closed: Entry) -> Entry:
        """Replace an open entry by its closed form."""
        with self._alone():
            at = entry.number - 1
            if not (0 <= at < len(self._entries) and self._entries[at] is entry) or (
                entry.state != "open"
            ):
                raise InputError(
                    f"{entry.who}: entry {entry.number} is not an open entry of this ledger; an "
                    "entry is closed once, by the ledger that made it."
                )
            self._store(closed)
            self._entries = (*self._entries[:at], closed, *self._entries[at + 1 :])
        return closed

    def _rho_of(self, epsilon: Fraction, who: str, delta: Fraction, rho: Fraction) -> Fraction:
        """Return the cost of a charge as a rho of zCDP, or 0 if the budget has no delta."""
        if not self._rho:
            if rho:
                raise InputError(
                    f"{who}: Gaussian noise needs a budget with a delta, such as "
                    "Budget(1, delta=1e-6), or --budget 1 --budget-delta 1e-6. Nothing was spent."
                )
            return rho
        if delta and not rho:
            raise InputError(
                f"{who}: the cost of its noise in zCDP is unknown, so a budget with a delta cannot "
                "be charged; use a budget without a delta. Nothing was spent."
            )
        return rho or pure_rho(epsilon)

    def _refuse_excess(self, who: str, asked: Fraction, rho: Fraction) -> None:
        """Raise BudgetExceeded if a charge is more than what is left."""
        of, rest = f"{who}: asked", left(self._budget, self._entries, self._rho)
        total([*self._entries, Entry(0, datetime.now(UTC), who, asked, rho=rho)])
        if self._rho:
            of = f"{who}: epsilon {written(asked)} costs a rho (zCDP) of"
        asked, left_over = (rho, rest.rho) if self._rho else (asked, rest.epsilon)
        if asked > left_over:
            raise BudgetExceeded(
                f"{of} {written(asked)}, left {written(left_over)}, "
                f"short by {written(asked - left_over)}. Nothing was looked at."
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Return a context manager that locks the ledger against other threads and processes."""
        if self._process != os.getpid():
            raise InputError(
                "the ledger is in the memory of the parent process, which would not see a charge "
                "of this process; keep the ledger in a file (ledger=...). Nothing was spent."
            )
        with self._lock:
            yield

    def _store(self, entry: Entry) -> None:
        """Store an entry before the entry takes effect; a ledger in memory does nothing here."""

    @property
    def summary(self) -> str:
        """One line of text: the budget, the epsilon spent and the epsilon left."""
        return _summary(self._budget, self.entries)

    def to_frame(self) -> "pd.DataFrame":
        """Return the entries as a DataFrame: the attributes of ``Entry``, with floats as costs.

        The column ``bought`` has the cost of each measurement as text.
        """
        import pandas as pd

        columns = [
            "number", "when", "who", "epsilon", "delta", "rho", "state", "replayable", "bought",
            "reason",
        ]  # fmt: skip
        rows = [
            (e.number, e.when, e.who, float(e.epsilon), float(e.delta), float(e.rho), e.state,
             e.replayable, _bought(e), e.reason)
            for e in self.entries
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def _head(self, entries: tuple[Entry, ...]) -> list[str]:
        """Return the summary and, if the unit is known, what each entry hides, as lines."""
        head = [_summary(self._budget, entries)]
        return head if self._unit is None else [*head, _hidden(self._unit, self._budget)]

    def __repr__(self) -> str:
        entries = self.entries
        rows = [_COLUMNS, *map(_cells, entries)] if entries else []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if k in _RIGHT_ALIGNED else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*self._head(entries), *lines])

    def _repr_html_(self) -> str:
        entries = self.entries
        caption = Markup("<br>").join(map(escape, self._head(entries)))
        return html_table(_COLUMNS, map(_marked, entries), caption=caption)


def _summary(budget: Budget, entries: tuple[Entry, ...]) -> str:
    """Return one line of text with a ledger's budget, the epsilon spent and the epsilon left."""
    if budget.delta:
        used, left = spent(budget, entries), remaining(budget, budget.rho, entries)
        rho = total(entries).rho
        return (
            f"Privacy budget: epsilon {budget}, spent {float(used):.3g}, left {float(left):.3g} "
            f"(in zCDP: rho {float(budget.rho):.3g}, spent {float(rho):.3g})"
        )
    used = spent(budget, entries)
    left = written(budget.epsilon - used)
    delta = total(entries).delta
    impure = f"; and delta {written(delta)}: not pure" if delta else ""
    return f"Privacy budget: epsilon {budget}, spent {written(used)}, left {left}{impure}"


def _hidden(unit: PrivacyUnit, budget: Budget) -> str:
    """Return one line of text that names the unit of privacy that each release hides."""
    if unit.n_public and budget.delta:
        return f"n is public: each entry hides {unit.sentence}, at the epsilon on its release card"
    if unit.n_public:
        return f"n is public: each entry hides {unit.sentence}, at twice its epsilon"
    return f"Each entry hides {unit.sentence_for_any_bound}"


def _cells(entry: Entry) -> tuple[str, ...]:
    """Return the texts of an entry's table cells, one for each of ``_COLUMNS``."""
    state = entry.state + (f" ({entry.reason})" if entry.reason else "")
    return (
        str(entry.number),
        f"{entry.when:%Y-%m-%d %H:%M:%S}",
        entry.who,
        written(entry.epsilon) + (f", rho {float(entry.rho):.3g}" if entry.rho else ""),
        state + (", replayable" if entry.replayable else ""),
        _bought(entry),
    )


def _marked(entry: Entry) -> list[str]:
    """Return the texts of an entry's table cells; "replayable" is marked in red."""
    *others, state, bought = _cells(entry)
    if entry.replayable:
        plain = state.removesuffix(", replayable")
        state = Markup('{} <strong style="{}">replayable</strong>').format(plain, _RED)
    return [*others, state, bought]


def _bought(entry: Entry) -> str:
    """Return one line of text with the cost of each of an entry's measurements."""
    return "; ".join(map(str, entry.spends))
