"""A ledger in a file, shared by all processes that open it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from snhkit.errors import InputError
from snhkit.privacy.budget import Budget, Epsilon
from snhkit.privacy.count_source import CountSource
from snhkit.privacy.entry import Entry
from snhkit.privacy.fingerprint import fingerprint, secret_key
from snhkit.privacy.journal import Journal
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.spend import Spend
from snhkit.privacy.unit import PrivacyUnit

__all__ = ["StoredLedger", "read_ledger"]

_FORMATS = {False: 1, True: 2}  # key: whether the budget has a delta, which format 1 cannot hold


class StoredLedger(Ledger):
    """A ledger in a file, which writes each charge to the disk before the charge takes effect.

    All notebooks and processes that open the same file share one budget, also after a restart. If a
    process is killed while a charge is open, the charge stays spent.

    Parameters
    ----------
    path : str or Path
        The file, which is created if it is missing. A second file, with ``.key`` added to its name,
        holds the secret key of the records' fingerprint. Keep both with the private records.
    records : CountSource
        All private records, including those beyond ``max_per_user``. A ledger that was made for
        other records is refused.
    unit : PrivacyUnit
        The unit of privacy, the same at every opening. If the number of records is private,
        ``max_per_user`` may differ between openings, because it then has no effect on which
        datasets are neighbours.
    budget : Budget, int, float, str, Decimal or Fraction, optional
        The largest epsilon that all charges together may reach; required for a new file. For an
        existing file, leave it out or give the same budget.

    Raises
    ------
    InputError
        If the file belongs to other records, another unit or another budget, if it was changed or
        damaged, if it cannot be read or written, or if a new file is given no budget.

    Examples
    --------
    >>> import tempfile
    >>> from snhkit.geometry import Points, Region
    >>> from snhkit.privacy import PointSource
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> records = PointSource(Points(city, [[1, 1], [2, 2]]))
    >>> unit = PrivacyUnit.of("record")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "trips.ledger"
    ...     entry = StoredLedger(file, records, unit, budget=1).charge(0.2, "UG")
    ...     print(StoredLedger(file, records, unit).summary)
    Privacy budget: epsilon 1, spent 0.2, left 0.8
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        records: CountSource,
        unit: PrivacyUnit,
        budget: Budget | Epsilon | None = None,
    ) -> None:
        self._journal = Journal(path)
        with self._journal.locked() as events:
            key = secret_key(_key_path(self._journal.path), create=not events)
            opening = {
                "event": "opened",
                "records": fingerprint(records, key),
                "unit": unit.to_dict(),
            }
            if events:
                budget = self._checked(opening, events[0], unit, budget)
            elif budget is None:
                raise InputError(
                    f"{path}: a new ledger needs a budget, the epsilon that may be spent in total."
                )
            else:
                budget = Budget.of(budget)
                self._journal.append(opening | _described(budget))
            super().__init__(budget, unit)
            self._take(events[1:])

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
        self._journal.append(_event(entry))

    def _take(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            entry = _entry(event)
            before, after = self._entries[: entry.number - 1], self._entries[entry.number :]
            self._entries = (*before, entry, *after)

    def _checked(
        self,
        opening: dict[str, Any],
        found: dict[str, Any],
        unit: PrivacyUnit,
        budget: Budget | Epsilon | None,
    ) -> Budget:
        path = self._journal.path
        _refuse_other_formats(path, found)
        if found.get("records") != opening["records"]:
            raise InputError(
                f"{path}: the ledger belongs to other records, or to these records in another "
                "region. Use another file for these records. For people in two datasets, the "
                "epsilons of both add up."
            )
        known = PrivacyUnit.restore(found["unit"])
        if not known.has_neighbours_of(unit):
            raise InputError(
                f"{path}: the ledger's unit of privacy is {known.sentence}; open it with that unit"
                f"{', and with n public' if known.n_public else ''}."
            )
        stored = _budget(found)
        if budget is not None and Budget.of(budget) != stored:
            raise InputError(
                f"{path}: the budget was set to {stored} when the ledger was made, "
                f"and cannot be changed to {Budget.of(budget)}."
            )
        return stored


def read_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Return a copy of the ledger in a file, for inspection without the private records.

    Charges to the copy do not change the file.

    Parameters
    ----------
    path : str or Path
        A file that ``PrivateDataset(..., ledger=path)`` made.

    Returns
    -------
    Ledger
        The copy, in memory.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, is not a ledger, or was changed or damaged.

    Examples
    --------
    >>> import tempfile
    >>> from snhkit.geometry import Points, Region
    >>> from snhkit.privacy import PointSource
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> records = PointSource(Points(city, [[1, 1], [2, 2]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "trips.ledger"
    ...     entry = StoredLedger(file, records, PrivacyUnit.of("record"), 1).charge(0.2, "UG")
    ...     print(read_ledger(file).summary)
    Privacy budget: epsilon 1, spent 0.2, left 0.8
    """
    if not Path(path).is_file():
        raise InputError(
            f"{path}: there is no ledger. Give the path that was named as ledger=... or --ledger. "
            "By default, the commands add .ledger to the path of --data."
        )
    with Journal(path).locked() as events:
        if not events:
            raise InputError(f"{path}: the file is empty, and so is not a ledger.")
        _refuse_other_formats(Path(path), events[0])
        unit = PrivacyUnit.restore(events[0]["unit"])
        ledger = Ledger(_budget(events[0]), unit)
        entries = {entry.number: entry for entry in map(_entry, events[1:])}
        ledger._entries = tuple(entries[number] for number in sorted(entries))
        return ledger


def _described(budget: Budget) -> dict[str, Any]:
    """Return the format and the budget as JSON values, for the first event of a ledger's file."""
    told = {"format": _FORMATS[bool(budget.delta)], "budget": str(budget.epsilon)}
    return told | ({"delta": str(budget.delta)} if budget.delta else {})


def _budget(opening: dict[str, Any]) -> Budget:
    return Budget(opening["budget"], opening.get("delta", 0))


def _key_path(path: Path) -> Path:
    return path.with_name(path.name + ".key")


def _refuse_other_formats(path: Path, opening: dict[str, Any]) -> None:
    known = _FORMATS["delta" in opening]
    if opening.get("event") != "opened" or opening.get("format") != known:
        raise InputError(f"{path}: this version of snhkit does not read this format of ledger.")


def _event(entry: Entry) -> dict[str, Any]:
    return {
        "event": entry.state,
        "number": entry.number,
        "when": entry.when.isoformat(),
        "who": entry.who,
        "epsilon": str(entry.epsilon),
        "delta": str(entry.delta),
        **({"rho": str(entry.rho)} if entry.rho else {}),
        "replayable": entry.replayable,
        "spends": [
            [str(s.epsilon), s.what, s.composition, str(s.delta), *([str(s.rho)] if s.rho else [])]
            for s in entry.spends
        ],
        "reason": entry.reason,
        "checksum": entry.checksum,
    }


def _entry(event: dict[str, Any]) -> Entry:
    return Entry(
        number=event["number"],
        when=datetime.fromisoformat(event["when"]),
        who=event["who"],
        epsilon=Fraction(event["epsilon"]),
        delta=Fraction(event["delta"]),
        rho=Fraction(event.get("rho", 0)),
        replayable=event["replayable"],
        state=event["event"],
        spends=tuple(
            Spend(Fraction(epsilon), what, composition, *map(Fraction, delta_and_rho))
            for epsilon, what, composition, *delta_and_rho in event["spends"]
        ),
        reason=event["reason"],
        checksum=event.get("checksum", ""),  # not in the ledgers of earlier versions
    )
