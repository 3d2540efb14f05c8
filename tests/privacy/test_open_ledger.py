"""Two datasets of the same records can share a ledger, in one process and in memory too."""

import gc
import weakref
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from snhkit.builders import UniformGrid
from snhkit.dataset import PrivateDataset
from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Points
from snhkit.privacy import Budget, Ledger, PrivacyUnit


def dataset(records, budget=None, **changes):
    terms = {"unit": "record", "n_public": False} | changes
    return PrivateDataset(records, budget, **terms)


def test_both_spend_from_one_budget(records):
    one = dataset(records, 1)
    copy = Points(records.region, records.xy[::-1], records.user[::-1])
    other = dataset(copy, ledger=one.ledger)
    one.release(UniformGrid(), epsilon=0.5)
    other.release(UniformGrid(), epsilon=0.25)
    assert one.ledger is other.ledger
    assert one.ledger.spent == Fraction(3, 4)
    with pytest.raises(BudgetExceeded, match=r"asked 0\.5, left 0\.25"):
        other.release(UniformGrid(), epsilon=0.5)


def test_without_a_ledger_there_are_two_budgets(records):
    one, other = (dataset(records, 1) for _ in range(2))
    one.release(UniformGrid(), epsilon=1)
    assert other.ledger.spent == 0


def test_records_of_a_scan_are_compared_too(records):
    lat, lon = records.region.to_latlon(records.xy)
    table = pa.table({"lat": lat, "lon": lon})
    known = Points(records.region, records.region.to_xy(lat, lon))
    scanned = PrivateDataset.scan(table, records.region, 1, unit="record")
    assert dataset(known, ledger=scanned.ledger).ledger is scanned.ledger
    with pytest.raises(InputError, match="belongs to other records"):
        dataset(Points(known.region, known.xy[1:]), ledger=scanned.ledger)
    with pytest.raises(InputError, match="belongs to other records"):
        PrivateDataset.scan(
            table[1:], records.region, unit="record",
            ledger=dataset(known, 1).ledger,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n_public": True}, "unit of privacy is one record added or removed"),
        ({"unit": "user", "max_per_user": 3}, "unit of privacy is one record"),
        ({"budget": 2}, "was set to 1 when .* cannot be changed to 2"),
        ({"budget": Budget(1, delta="1e-6")}, "was set to 1 when .* cannot be changed to 1 at"),
    ],
)
def test_another_unit_or_budget_is_refused(records, changes, told):
    ledger = dataset(records, 1).ledger
    with pytest.raises(InputError, match=told):
        dataset(records, ledger=ledger, **changes)
    assert dataset(records, 1, ledger=ledger).ledger is ledger


def test_other_records_are_refused(records):
    ledger = dataset(records, 1).ledger
    moved = Points(records.region, np.roll(records.xy, 1, axis=1))
    with pytest.raises(InputError, match="belongs to other records"):
        dataset(moved, ledger=ledger)
    with pytest.raises(InputError, match="no longer in memory"):
        dataset(records, ledger=Ledger(1, PrivacyUnit("record")))


@pytest.mark.parametrize("wrong", [5, True, PrivacyUnit("record")])
def test_something_else_is_no_ledger(records, wrong):
    with pytest.raises(InputError, match=r"or the ledger of another dataset \(data\.ledger\), not"):
        dataset(records, 1, ledger=wrong)


def test_a_ledger_does_not_keep_records_in_memory(records):
    mine = Points(records.region, records.xy, records.user)
    kept = weakref.ref(mine)
    ledger = dataset(mine, 1, unit="user", max_per_user=3).ledger
    del mine
    gc.collect()
    assert kept() is None
    with pytest.raises(InputError, match="no longer in memory"):
        dataset(records, unit="user", max_per_user=3, ledger=ledger)


@pytest.mark.parametrize("stored", [False, True])
def test_the_number_of_records_that_are_kept_may_differ(records, stored, tmp_path):
    """Neighbours differ by all records of a person, whatever number of them is kept."""
    ledger = {"ledger": tmp_path / "a"} if stored else {}
    one = dataset(records, 1, unit="user", max_per_user=3, **ledger)
    other = dataset(records, unit="user", max_per_user=8, ledger=one.ledger)
    other.release(UniformGrid(), epsilon=0.25)
    assert one.ledger.spent == Fraction(1, 4)
    assert "Each entry hides all records of one person" in repr(one.ledger)
    with pytest.raises(InputError, match=r"unit of privacy is all \(at most 3\) records"):
        dataset(records, unit="user-day", max_per_user=3, ledger=one.ledger)


@pytest.mark.parametrize("stored", [False, True])
def test_where_n_is_public_that_number_may_not_differ(records, stored, tmp_path):
    ledger = {"ledger": tmp_path / "a"} if stored else {}
    terms = {"unit": "user", "n_public": True}
    one = dataset(records, 1, **terms, max_per_user=3, **ledger)
    with pytest.raises(InputError, match="replaced by as many others"):
        dataset(records, **terms, max_per_user=8, ledger=one.ledger)
    assert "at most 3" in repr(one.ledger)
