"""A ledger in a file, which outlives the process and is shared by all that open the file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.budget import Budget, Epsilon
from snhkit.privacy.entry import Entry
from snhkit.privacy.fingerprint import fingerprint, secret_key
from snhkit.privacy.journal import Journal
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.spend import Spend
from snhkit.privacy.unit import PrivacyUnit

__all__ = ["StoredLedger", "read_ledger"]

_FORMAT = 1


class StoredLedger(Ledger):
    """The account of a dataset's epsilon in a file; every charge is on the disk before it counts.

    Notebooks, restarts and forked processes that open the same file share one budget. A charge
    that a killed process left open stays spent.

    Parameters
    ----------
    path : str or path
        The file. A second file, with ``.key`` added to its name, holds the secret that the
        fingerprint of the records is made with; keep both beside the private records.
    records : Points
        The private records; the ledger refuses others.
    unit : PrivacyUnit
        What is hidden; the same at every opening.
    budget : Budget or number, optional
        All that may ever be spent; said when the file is made, and later either left out or equal.

    Raises
    ------
    InputError
        If the file is of other records, another unit or another budget, or was changed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        records: Points,
        unit: PrivacyUnit,
        budget: Budget | Epsilon | None = None,
    ) -> None:
        self._journal = Journal(path)
        with self._journal.locked() as events:
            key = secret_key(_key_path(self._journal.path), create=not events)
            opening = {
                "event": "opened",
                "format": _FORMAT,
                "records": fingerprint(records, key),
                "unit": {"kind": unit.kind, "max_per_user": unit.max_per_user},
            }
            if events:
                budget = self._checked(opening, events[0], budget)
            elif budget is None:
                raise InputError(
                    f"{path}: a new ledger needs a budget: all the epsilon that may ever be spent."
                )
            else:
                budget = _as_budget(budget)
                self._journal.append(opening | {"budget": str(budget.epsilon)})
            super().__init__(budget)
            self._take(events[1:])

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges in order, those of other processes included, as they are now."""
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
        self, opening: dict[str, Any], found: dict[str, Any], budget: Budget | Epsilon | None
    ) -> Budget:
        path = self._journal.path
        _refuse_other_formats(path, found)
        if found.get("records") != opening["records"]:
            raise InputError(
                f"{path}: the ledger is of other records, or of these in another region. Name "
                "another file for these records; their budgets add up where people are in both."
            )
        if found.get("unit") != opening["unit"]:
            unit = PrivacyUnit(**found["unit"])
            raise InputError(f"{path}: the ledger hides {unit.sentence}; open it with that unit.")
        stored = Budget(found["budget"])
        if budget is not None and _as_budget(budget) != stored:
            raise InputError(
                f"{path}: the budget is {stored}, said when the ledger was made, "
                f"and cannot become {_as_budget(budget)}."
            )
        return stored


def read_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Return the ledger in a file, to be looked at; charging the copy changes no file.

    Parameters
    ----------
    path : str or path
        A file that ``PrivateDataset(..., ledger=path)`` made.

    Raises
    ------
    InputError
        If the file is missing, or is not an unchanged ledger.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such ledger.")
    with Journal(path).locked() as events:
        if not events:
            raise InputError(f"{path}: not a ledger.")
        _refuse_other_formats(Path(path), events[0])
        ledger = Ledger(Budget(events[0]["budget"]))
        entries = {entry.number: entry for entry in map(_entry, events[1:])}
        ledger._entries = tuple(entries[number] for number in sorted(entries))
        return ledger


def _as_budget(budget: Budget | Epsilon) -> Budget:
    return budget if isinstance(budget, Budget) else Budget(budget)


def _key_path(path: Path) -> Path:
    return path.with_name(path.name + ".key")


def _refuse_other_formats(path: Path, opening: dict[str, Any]) -> None:
    if opening.get("event") != "opened" or opening.get("format") != _FORMAT:
        raise InputError(f"{path}: not a ledger that this version of snhkit reads.")


def _event(entry: Entry) -> dict[str, Any]:
    return {
        "event": entry.state,
        "number": entry.number,
        "when": entry.when.isoformat(),
        "who": entry.who,
        "epsilon": str(entry.epsilon),
        "delta": str(entry.delta),
        "replayable": entry.replayable,
        "spends": [[str(s.epsilon), s.what, s.composition, str(s.delta)] for s in entry.spends],
        "reason": entry.reason,
    }


def _entry(event: dict[str, Any]) -> Entry:
    return Entry(
        number=event["number"],
        when=datetime.fromisoformat(event["when"]),
        who=event["who"],
        epsilon=Fraction(event["epsilon"]),
        delta=Fraction(event["delta"]),
        replayable=event["replayable"],
        state=event["event"],
        spends=tuple(
            Spend(Fraction(epsilon), what, composition, Fraction(delta))
            for epsilon, what, composition, delta in event["spends"]
        ),
        reason=event["reason"],
    )
