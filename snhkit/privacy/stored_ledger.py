"""The ledger of a dataset: in a file that all processes share, in memory, or another one's."""

import os
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from snhkit.errors import InputError, LedgerWarning
from snhkit.geometry import Points
from snhkit.privacy.budget import Budget, Epsilon
from snhkit.privacy.count_source import CountSource, PointSource
from snhkit.privacy.data_ledgers import DataLedger, elsewhere, remember
from snhkit.privacy.entry import Entry
from snhkit.privacy.events import Opening, entry_event, replayed, torn_charge
from snhkit.privacy.fingerprint import fingerprint, key_path, secret_key
from snhkit.privacy.journal import Journal
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.unit import PrivacyUnit

NO_BUDGET = "budget is missing; give the largest epsilon that all releases together may spend."


class StoredLedger(Ledger):
    """A ledger in a file: each charge is on the disk before it takes effect, for all processes.

    FILE.key holds the secret key of the records' fingerprint; ``records`` are all of them, also
    those beyond ``max_per_user``. InputError is raised if the file has other records, another unit
    or budget, was changed, or is new and gets no budget.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        records: CountSource,
        unit: PrivacyUnit,
        budget: Budget | Epsilon | None = None,
    ) -> None:
        given, path = path, Path(path)
        self._journal = Journal(path)
        if budget is not None and not os.path.lexists(path):
            _tell_other(path, given, records)
        self._written: tuple[Entry, ...] = ()  # the entries of complete lines
        self._tail, self._rest = b"", ()  # an incomplete last line, and the events it counts as
        with self._journal.locked() as events:
            key = secret_key(key_path(path), create=not events)
            told = fingerprint(records, key)
            if events:
                found = Opening.of(events[0], path)
                same, held = found.records == told, (found.unit, found.budget)
                _refuse_other(path, same, held, unit, budget)
                budget = found.budget
            elif budget is None:
                raise InputError(
                    f"{path}: a new ledger needs a budget, the epsilon that may be spent in total."
                )
            else:
                budget = Budget.of(budget)
                self._journal.append(Opening(told, unit, budget).event())
            super().__init__(budget, unit)
            self._take(events[1:])
            if self._tail:
                warnings.warn(_told(self._journal, self._rest), LedgerWarning, stacklevel=2)
        if isinstance(given, DataLedger):
            remember(path)

    @property
    def path(self) -> Path:
        """The path of the ledger's file."""
        return self._journal.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in the order of their charges, including those of other processes."""
        with self._alone():
            return self._entries

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock, self._journal.locked() as events:
            self._take(events)
            yield

    def _store(self, entry: Entry) -> None:
        aside = self._journal.aside() if self._tail else None
        try:
            self._journal.append(*self._rest, entry_event(entry))
        except InputError as error:
            if entry.state == "open":
                raise InputError(f"{error} Nothing was spent.") from None
            raise InputError(
                f"{error} Entry {entry.number} stays open, so its epsilon stays spent, and its "
                "release is lost. Make space on the disk before the next release."
            ) from None
        at = entry.number - 1
        self._written = (*self._entries[:at], entry, *self._entries[at + 1 :])
        if aside:
            text = f"{self.path}: the incomplete last line was moved to {aside}; keep that file."
            warnings.warn(text, LedgerWarning, stacklevel=4)

    def _take(self, events: list[dict[str, Any]]) -> None:
        """Add new events of the file to the entries, and what an incomplete last line counts as."""
        tail = self._journal.tail
        if events or tail != self._tail:
            self._written, self._rest, self._entries = _replayed(
                self._journal, events, self._written, self._budget, self._rho
            )
            self._tail = tail


def _tell_other(path: Path, given: object, records: CountSource) -> None:
    """Warn that the records of a new ledger have another; raise InputError if nobody named it."""
    if (other := elsewhere(path, records)) is None:
        return
    told = f"these records already have a ledger, {other}. A second budget adds to the first"
    if isinstance(given, DataLedger) and not given.named:
        raise InputError(
            f"{path}: {told}, so none was begun. Continue the first with --ledger {other}, or name "
            "a new ledger if you want both."
        )
    warnings.warn(f"{path}: {told}: add both up yourself.", LedgerWarning, stacklevel=5)


def _refuse_other(
    name: object,
    same: bool,
    held: tuple[PrivacyUnit, Budget],
    unit: PrivacyUnit,
    budget: Budget | Epsilon | None,
) -> None:
    """Raise InputError if a ledger has other records, or ``held`` another unit or budget."""
    known, total = held
    if not same:
        raise InputError(
            f"{name}: the ledger belongs to other records, to these records in another region, or "
            "to records that are no longer in memory. Use another ledger for these records, or "
            "keep them in a variable. For people in two datasets, the epsilons of both add up."
        )
    if not known.has_neighbours_of(unit):
        raise InputError(
            f"{name}: the ledger's unit of privacy is {known.sentence}; open it with that "
            f"unit{', and with n public' if known.n_public else ''}."
        )
    if budget is not None and Budget.of(budget) != total:
        raise InputError(
            f"{name}: the budget was set to {total} when the ledger was made, and cannot be "
            f"changed to {Budget.of(budget)}; leave the budget out."
        )


def _replayed(
    journal: Journal,
    events: list[dict[str, Any]],
    written: tuple[Entry, ...],
    budget: Budget,
    rho: Fraction,
) -> tuple[tuple[Entry, ...], tuple[dict[str, Any], ...], tuple[Entry, ...]]:
    """Return entries of complete lines, events of the tail, and the entries of both."""
    first = journal.line - len(events) + 1
    written = replayed(events, written, budget, rho, journal.path, first)
    if not journal.tail:
        return written, (), written
    if last := journal.last():
        rest = (last,)
    else:
        torn = torn_charge(journal.tail, written, budget, rho)
        rest = () if torn is None else (entry_event(torn),)
    return written, rest, replayed(rest, written, budget, rho, journal.path, journal.line + 1)


def _told(journal: Journal, rest: tuple[dict[str, Any], ...]) -> str:
    """Return the warning that the last line of a ledger's file is incomplete."""
    if journal.last():
        counts = "Only its end is lost, so it counts"
    elif rest:
        cost = f"rho {rest[0]['rho']}" if "rho" in rest[0] else f"epsilon {rest[0]['epsilon']}"
        counts = f"It may be a charge whose noise was drawn, so it counts as {cost}"
    else:
        counts = "It is no charge, so it counts as nothing"
    return (
        f"{journal.path}: the last line of the ledger is incomplete ({len(journal.tail):,} bytes), "
        f"as after a power failure. {counts}. The next charge moves it to {journal.aside()}. If "
        "you have a complete copy of the ledger, put it in place first."
    )


def read_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Return a copy of the ledger in a file, for inspection without the private records.

    Parameters
    ----------
    path : str or Path
        A file that ``PrivateDataset(..., ledger=path)`` made; charges to the copy do not change it.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, is not a ledger, or was changed or damaged.

    Examples
    --------
    >>> import tempfile
    >>> import snhkit as snh
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     given = {"budget": 1, "unit": "record", "ledger": Path(folder) / "trips.ledger"}
    ...     data = snh.PrivateDataset(snh.synthetic_points("fargo", 99), **given)
    ...     print(read_ledger(data.ledger.path).summary)
    Privacy budget: epsilon 1, spent 0, left 1
    """
    journal = Journal(path)
    events = journal.read()
    if not events:
        raise InputError(
            f"{path}: there is no ledger. Give the path that was named as ledger=... or --ledger. "
            "By default, the commands add .ledger to the path of --data."
        )
    opening = Opening.of(events[0], journal.path)
    ledger = Ledger(opening.budget, opening.unit)
    _, rest, ledger._entries = _replayed(journal, events[1:], (), opening.budget, ledger.rho)
    if journal.tail:
        warnings.warn(_told(journal, rest), LedgerWarning, stacklevel=2)
    return ledger


def held(points: Points) -> Callable[[], PointSource | None]:
    """Return a function that returns the points, or None once no other code uses them."""
    there = weakref.ref(points)

    def source() -> PointSource | None:
        return None if (known := there()) is None else PointSource(known)

    return source


def open_ledger(
    ledger: str | os.PathLike[str] | Ledger | None,
    records: Callable[[], CountSource | None],
    unit: PrivacyUnit,
    budget: Budget | Epsilon | None,
) -> Ledger:
    """Return a file's ledger, another dataset's or a new one; InputError if it does not fit."""
    if isinstance(ledger, StoredLedger):
        ledger = ledger.path
    if isinstance(ledger, Ledger):
        if ledger.unit is None:
            raise InputError(
                "ledger: this ledger has no unit of privacy; give the ledger of a dataset "
                "(data.ledger)."
            )
        same = ledger.records_are(_present(records))
        _refuse_other("ledger", same, (ledger.unit, ledger.budget), unit, budget)
        return ledger
    if ledger is not None and not isinstance(ledger, (str, os.PathLike)):
        raise InputError(
            "ledger must be the name of a file, or the ledger of another dataset (data.ledger), "
            f"not an object of type {type(ledger).__name__}."
        )
    if ledger is not None:
        return StoredLedger(ledger, _present(records), unit, budget)
    if budget is None:
        raise InputError(NO_BUDGET)
    return Ledger(budget, unit, records)


def _present(records: Callable[[], CountSource | None]) -> CountSource:
    found = records()
    assert found is not None  # noqa: S101 - the caller holds them
    return found
