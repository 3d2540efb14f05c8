"""The ledger of a dataset: a new one, one in a file, or that of another dataset."""

import os
import weakref
from collections.abc import Callable

from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.budget import Budget, Epsilon
from snhkit.privacy.count_source import CountSource, PointSource
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.stored_ledger import StoredLedger
from snhkit.privacy.unit import PrivacyUnit

NO_BUDGET = "budget is missing; give the largest epsilon that all releases together may spend."


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
        _refuse_other(ledger, records, unit, budget)
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


def _refuse_other(
    ledger: Ledger,
    records: Callable[[], CountSource | None],
    unit: PrivacyUnit,
    budget: Budget | Epsilon | None,
) -> None:
    """Raise InputError if a ledger in memory has another unit, another budget or other records."""
    if ledger.unit is None:
        raise InputError(
            "ledger: this ledger has no unit of privacy; give the ledger of a dataset "
            "(data.ledger)."
        )
    if not ledger.unit.has_neighbours_of(unit):
        raise InputError(
            f"ledger: its unit of privacy is {ledger.unit.sentence}; give the same unit."
        )
    if budget is not None and Budget.of(budget) != ledger.budget:
        raise InputError(
            f"ledger: its budget is {ledger.budget}, and cannot be changed to {Budget.of(budget)}; "
            "leave the budget out."
        )
    if not ledger.records_are(_present(records)):
        raise InputError(
            "ledger: this ledger belongs to other records, to these records in another region, or "
            "to records that are no longer in memory. Keep the records in a variable, or give the "
            "path of a file as ledger. For people in two datasets, the epsilons of both add up."
        )


def _present(records: Callable[[], CountSource | None]) -> CountSource:
    found = records()
    assert found is not None  # noqa: S101 - the caller holds them
    return found
