"""A ledger in a file has one budget for all processes and threads, and survives a kill."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import snhkit as snh
from snhkit.builders import UniformGrid
from snhkit.dataset import PrivateDataset
from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Points, Region
from snhkit.privacy import Budget, Ledger, PointSource, PrivacyUnit, read_ledger
from snhkit.privacy.fingerprint import secret_key
from snhkit.privacy.stored_ledger import StoredLedger

UNIT = PrivacyUnit("record")
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "ledger.py"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trips.ledger"


def dataset(records, path, budget=1, **changes):
    terms = {"unit": "record", "n_public": True} | changes
    return snh.PrivateDataset(records, budget, **terms, ledger=path)


FORKED = """
import os, sys
from snhkit.errors import BudgetExceeded
from snhkit.geometry import Points, Region
from snhkit.privacy import PointSource, PrivacyUnit
from snhkit.privacy.stored_ledger import StoredLedger
records = Points(Region.around(lat=0, lon=0, side_m=10), [[1, 1]])
ledger = StoredLedger(sys.argv[1], PointSource(records), PrivacyUnit("record"), 1)
child = os.fork()
if not child:
    ledger.charge("0.6", "child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
spent = ledger.spent
try:
    ledger.charge("0.5", "parent")
except BudgetExceeded:
    print(spent, "refused")
"""


class TestOneBudget:
    def test_a_second_opening_continues_the_ledger(self, records, path):
        dataset(records, path).release(snh.UniformGrid(), epsilon=0.7)
        again = dataset(records, path, None)
        assert (again.ledger.total, again.ledger.spent) == (1, Fraction(7, 10))
        with pytest.raises(BudgetExceeded, match=r"asked 0\.4, left 0\.3"):
            again.release(snh.UniformGrid(), epsilon=0.4)
        entry = again.ledger.entries[0]
        assert (entry.who, entry.state, len(entry.spends)) == ("UniformGrid", "settled", 1)

    def test_two_datasets_in_one_process_share(self, records, path):
        one, other = dataset(records, path), dataset(records, path)
        one.release(snh.UniformGrid(), epsilon=0.5)
        other.release(snh.UniformGrid(), epsilon=0.25)
        assert one.ledger.spent == other.ledger.spent == Fraction(3, 4)
        assert repr(one.ledger) == repr(other.ledger) == repr(read_ledger(path))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    def test_charges_of_a_forked_child_count_in_the_parent(self, path):
        """Runs in a new process, because a fork of this one would copy its threads' locks."""
        command = [sys.executable, "-c", FORKED, str(path)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (found.stdout, found.stderr, found.returncode) == ("3/5 refused\n", "", 0)

    def test_threads_never_overspend(self, records, path):
        opened = [StoredLedger(path, PointSource(records), UNIT, 1) for _ in range(4)]
        refused = []

        def spend(ledger):
            for _ in range(10):
                try:
                    ledger.settle(ledger.charge("1/20", "thread"), [])
                except BudgetExceeded:
                    refused.append(1)

        threads = [threading.Thread(target=spend, args=[ledger]) for ledger in opened]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 20
        assert [ledger.spent for ledger in opened] == [1] * 4


class TestDelta:
    BUDGET = Budget(1, delta="1e-6")

    def test_a_second_opening_goes_on_with_what_is_left_of_rho(self, records, path):
        one = dataset(records, path, self.BUDGET, n_public=False)
        one.release(snh.Identity(100), epsilon="0.5", delta="1e-6")
        one.release(snh.PrivTree(), epsilon="0.05")
        again = dataset(records, path, None, n_public=False)
        assert (again.ledger.total, again.ledger.delta) == (1, Fraction(1, 10**6))
        assert again.ledger.rho == one.ledger.rho > 0
        assert again.ledger.remaining == one.ledger.remaining
        assert again.ledger.entries == one.ledger.entries
        gaussian, pure = again.ledger.entries
        assert (gaussian.delta, pure.rho) == (Fraction(1, 10**6), Fraction(1, 800))
        assert repr(again.ledger) == repr(read_ledger(path))
        with pytest.raises(BudgetExceeded, match="costs a rho"):
            again.release(snh.Identity(100), epsilon="0.9", delta="1e-6")

    def test_the_budget_keeps_its_delta(self, records, path):
        dataset(records, path, self.BUDGET)
        dataset(records, path, self.BUDGET)
        for other in (1, Budget(1, delta="1e-7")):
            with pytest.raises(InputError, match=r"was set to 1 at delta 0\.000001"):
                dataset(records, path, other)

    def test_versions_that_know_no_delta_refuse_the_file(self, records, path):
        dataset(records, path, self.BUDGET)
        assert '"format": 2' in path.read_text(encoding="utf-8")
        dataset(records, path.with_name("pure"), 1)
        assert '"format": 1' in path.with_name("pure").read_text(encoding="utf-8")


class TestWhatIsRefused:
    def test_a_new_ledger_needs_a_budget(self, records, path):
        with pytest.raises(InputError, match="a new ledger needs a budget"):
            dataset(records, path, None)

    def test_another_budget_is_refused(self, records, path):
        dataset(records, path, "0.5")
        dataset(records, path, 0.5)
        with pytest.raises(
            InputError, match=r"the budget was set to 0\.5 .*cannot be changed to 2"
        ):
            dataset(records, path, 2)

    def test_other_records_are_refused(self, records, path):
        dataset(records, path)
        moved = Points(records.region, np.roll(records.xy, 1, axis=1), records.user)
        for others in (moved, Points(records.region, records.xy[1:], records.user[1:])):
            with pytest.raises(InputError, match="belongs to other records"):
                dataset(others, path)

    def test_the_same_coordinates_in_another_city_are_refused(self, records, path):
        """Metres from the corner of a region are equal in all regions."""
        dataset(records, path)
        lat, lon = 10.0, 10.0
        elsewhere = Region.around(lat=lat, lon=lon, side_m=records.region.side_m)
        with pytest.raises(InputError, match="belongs to other records"):
            dataset(Points(elsewhere, records.xy, records.user), path)

    @pytest.mark.parametrize("which", [0, 1, -1])
    def test_one_record_elsewhere_is_enough(self, records, path, which):
        dataset(records, path)
        order = np.lexsort(records.xy.T)
        moved = records.xy.copy()
        moved[order[which]] = records.region.side_m - moved[order[which]]
        with pytest.raises(InputError, match="belongs to other records"):
            dataset(Points(records.region, moved, records.user), path)

    def test_one_record_a_few_metres_away_is_enough(self, records, path):
        dataset(records, path)
        moved = records.xy.copy()
        step = 2 * records.region.side_m / 4_096
        moved[0, 0] += step if moved[0, 0] < records.region.side_m / 2 else -step
        with pytest.raises(InputError, match="belongs to other records"):
            dataset(Points(records.region, moved, records.user), path)

    def test_the_order_of_records_does_not_matter(self, records, path):
        dataset(records, path)
        dataset(Points(records.region, records.xy[::-1], records.user[::-1]), path)

    def test_another_unit_is_refused(self, records, path):
        dataset(records, path)
        told = r"unit of privacy is one record replaced by another; .* with n public"
        with pytest.raises(InputError, match=told):
            dataset(records, path, unit="user", max_per_user=3)

    def test_an_n_that_is_public_stays_so(self, records, path):
        """Each entry would mean something else."""
        dataset(records, path)
        with pytest.raises(InputError, match="open it with that unit, and with n public"):
            dataset(records, path, n_public=False)

    def test_a_lost_key_is_named(self, records, path):
        dataset(records, path)
        path.with_name("trips.ledger.key").unlink()
        with pytest.raises(InputError, match="copy both files together"):
            dataset(records, path)

    def test_a_file_of_another_kind_is_refused(self, records, tmp_path):
        other = tmp_path / "notes.txt"
        other.write_text("hello\n")
        for attempt in (read_ledger, lambda path: dataset(records, path)):
            with pytest.raises(InputError, match="this is not a ledger"):
                attempt(other)
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
        assert other.read_text() == "hello\n"
        with pytest.raises(InputError, match="there is no ledger"):
            read_ledger(tmp_path / "gone.ledger")


def test_the_file_reveals_nothing_about_the_records(records, path, tmp_path):
    """The fingerprint depends on the key, and the file holds no number of records."""
    dataset(records, path)
    dataset(records, tmp_path / "other.ledger")
    one, other = (p.read_text() for p in (path, tmp_path / "other.ledger"))
    assert one.partition(" ")[2] != other.partition(" ")[2]
    assert str(len(records)) not in one.partition("unit")[2]


def test_of_a_large_file_that_is_no_key_little_is_read(tmp_path):
    (tmp_path / "a.key").write_bytes(bytes(20_000_000))
    tracemalloc.start()
    with pytest.raises(InputError, match="this file has more"):
        secret_key(tmp_path / "a.key", create=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.skipif(os.name == "nt", reason="no permissions of this kind")
def test_nobody_else_can_read_the_ledger_its_key_or_its_lock(records, path):
    before = os.umask(0)
    try:
        dataset(records, path).ledger.charge("0.1", "UG")
    finally:
        os.umask(before)
    found = {file.name: file.stat().st_mode & 0o077 for file in path.parent.glob(f"{path.name}*")}
    assert found == {path.name + end: 0 for end in ("", ".key", ".lock")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_kills_threads_and_processes_neither_lose_nor_double_a_spend():
    """The small version of what benchmarks/ledger.py tries at length."""
    command = [sys.executable, str(BENCHMARK), "--kills", "10", "--processes", "2"]
    found = subprocess.run(
        [*command, "--threads", "4", "--charges", "3"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    rows = [line.split(" | ") for line in found.stdout.splitlines() if line.startswith("| ")]
    random, every, crowd = (
        dict(zip(rows[header], rows[row], strict=True)) for header, row in ((0, 1), (0, 2), (3, 4))
    )
    assert (random["kills"], random["lost"], random["doubled |"]) == ("10", "0", "0 |")
    assert int(every["kills"]) > 100
    assert (every["lost"], every["doubled |"]) == ("0", "0 |")
    assert (crowd["asked"], crowd["granted"], crowd["entries in the parent's view"]) == (
        "24", "12", "12",
    )  # fmt: skip
    assert (crowd["spent"], crowd["budget |"]) == ("1/2", "1/2 |")


def opened(records, budget=None, **changes):
    terms = {"unit": "record", "n_public": False} | changes
    return PrivateDataset(records, budget, **terms)


def test_both_spend_from_one_budget(records):
    one = opened(records, 1)
    copy = Points(records.region, records.xy[::-1], records.user[::-1])
    other = opened(copy, ledger=one.ledger)
    one.release(UniformGrid(), epsilon=0.5)
    other.release(UniformGrid(), epsilon=0.25)
    assert one.ledger is other.ledger
    assert one.ledger.spent == Fraction(3, 4)
    with pytest.raises(BudgetExceeded, match=r"asked 0\.5, left 0\.25"):
        other.release(UniformGrid(), epsilon=0.5)


def test_without_a_ledger_there_are_two_budgets(records):
    one, other = (opened(records, 1) for _ in range(2))
    one.release(UniformGrid(), epsilon=1)
    assert other.ledger.spent == 0


def test_a_ledger_in_a_file_is_shared_as_well(records, tmp_path):
    one = opened(records, 1, ledger=tmp_path / "a.ledger")
    other = opened(records, ledger=one.ledger)
    other.release(UniformGrid(), epsilon=0.25)
    assert one.ledger.spent == Fraction(1, 4)


def test_records_of_a_scan_are_compared_too(records):
    lat, lon = records.region.to_latlon(records.xy)
    table = pa.table({"lat": lat, "lon": lon})
    known = Points(records.region, records.region.to_xy(lat, lon))
    scanned = PrivateDataset.scan(table, records.region, 1, unit="record")
    assert opened(known, ledger=scanned.ledger).ledger is scanned.ledger
    with pytest.raises(InputError, match="belongs to other records"):
        opened(Points(known.region, known.xy[1:]), ledger=scanned.ledger)
    with pytest.raises(InputError, match="belongs to other records"):
        PrivateDataset.scan(
            table[1:], records.region, unit="record",
            ledger=opened(known, 1).ledger,
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
    ledger = opened(records, 1).ledger
    with pytest.raises(InputError, match=told):
        opened(records, ledger=ledger, **changes)
    assert opened(records, 1, ledger=ledger).ledger is ledger


def test_other_records_are_refused(records):
    ledger = opened(records, 1).ledger
    moved = Points(records.region, np.roll(records.xy, 1, axis=1))
    with pytest.raises(InputError, match="belongs to other records"):
        opened(moved, ledger=ledger)
    with pytest.raises(InputError, match="no longer in memory"):
        opened(records, ledger=Ledger(1, PrivacyUnit("record")))


@pytest.mark.parametrize("wrong", [5, True, PrivacyUnit("record")])
def test_something_else_is_no_ledger(records, wrong):
    with pytest.raises(InputError, match=r"or the ledger of another dataset \(data\.ledger\), not"):
        opened(records, 1, ledger=wrong)


def test_a_ledger_does_not_keep_records_in_memory(records):
    mine = Points(records.region, records.xy, records.user)
    kept = weakref.ref(mine)
    ledger = opened(mine, 1, unit="user", max_per_user=3).ledger
    del mine
    gc.collect()
    assert kept() is None
    with pytest.raises(InputError, match="no longer in memory"):
        opened(records, unit="user", max_per_user=3, ledger=ledger)


@pytest.mark.parametrize("stored", [False, True])
def test_the_number_of_records_that_are_kept_may_differ(records, stored, tmp_path):
    """Neighbours differ by all records of a person, whatever number of them is kept."""
    ledger = {"ledger": tmp_path / "a"} if stored else {}
    one = opened(records, 1, unit="user", max_per_user=3, **ledger)
    other = opened(records, unit="user", max_per_user=8, ledger=one.ledger)
    other.release(UniformGrid(), epsilon=0.25)
    assert one.ledger.spent == Fraction(1, 4)
    assert "Each entry hides all records of one person" in repr(one.ledger)
    with pytest.raises(InputError, match=r"unit of privacy is all \(at most 3\) records"):
        opened(records, unit="user-day", max_per_user=3, ledger=one.ledger)


@pytest.mark.parametrize("stored", [False, True])
def test_where_n_is_public_that_number_may_not_differ(records, stored, tmp_path):
    ledger = {"ledger": tmp_path / "a"} if stored else {}
    terms = {"unit": "user", "n_public": True}
    one = opened(records, 1, **terms, max_per_user=3, **ledger)
    with pytest.raises(InputError, match="replaced by as many others"):
        opened(records, **terms, max_per_user=8, ledger=one.ledger)
    assert "at most 3" in repr(one.ledger)
