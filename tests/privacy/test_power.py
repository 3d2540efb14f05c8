"""After a power failure, no charge and no release is lost that was reported as written.

A simulated disk keeps what was synchronised, and forgets the rest in any way that a file system
may: the data of a file are there up to a point, or as zeros, and each name that its folder did not
synchronise is as before or as after.
"""

import contextlib
import os
import random
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.geometry import Points, Region
from snhkit.privacy import PointSource, PrivacyUnit, read_ledger
from snhkit.privacy.stored_ledger import StoredLedger

RECORDS = PointSource(Points(Region.around(lat=0, lon=0, side_m=100), [[1, 1]]))
UNIT = PrivacyUnit("record")

pytestmark = pytest.mark.skipif(
    not hasattr(os, "O_DIRECTORY"), reason="this system cannot synchronise a folder"
)


class Disk:
    """What of a folder survives a power failure.

    ``inodes`` has the content of each file, by its number, when it was last synchronised, and
    ``names`` the number of each file, by its name, when the folder was.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.syncs = folder, 0
        self.stop = 10**9  # the number of the call that never returns
        monkeypatch.setattr(os, "fsync", self.synced)
        self.inodes: dict[int, bytes] = {}
        self.names: dict[str, int] = {}

    def synced(self, handle: int) -> None:
        """Remember what a file or the folder holds, or lose power."""
        self.syncs += 1
        if self.syncs == self.stop:
            raise PowerFailure
        about = os.fstat(handle)
        if os.path.samestat(about, self.folder.stat()):
            self.names = {p.name: p.stat().st_ino for p in self.folder.iterdir()}
        else:
            for path in self.folder.iterdir():
                if path.stat().st_ino == about.st_ino:
                    self.inodes[about.st_ino] = path.read_bytes()

    def after_a_failure(self, into: Path, draw: random.Random) -> None:
        """Write to a folder what may be found when the power is back."""
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        now = {p.name: p.stat().st_ino for p in self.folder.iterdir()}
        contents = {p.stat().st_ino: p.read_bytes() for p in self.folder.iterdir()}
        for name in sorted({*now, *self.names}):
            inode = draw.choice([now, self.names]).get(name)
            if inode is None:
                continue
            old, new = self.inodes.get(inode, b""), contents.get(inode, self.inodes.get(inode, b""))
            grown = new if new.startswith(old) else old
            torn = grown[: draw.randint(len(old), len(grown))]
            lost = draw.choice([b"", bytes(draw.randint(0, len(grown) - len(torn)))])
            (into / name).write_bytes(torn + lost)


class PowerFailure(BaseException):
    pass


@pytest.fixture
def disk(tmp_path, monkeypatch):
    folder = tmp_path / "disk"
    folder.mkdir()
    return Disk(folder, monkeypatch)


def charges(path: Path, done: list[Fraction], times: int = 3) -> None:
    """Open a ledger and charge it; ``done`` has the charges that were reported as written."""
    ledger = StoredLedger(path, RECORDS, UNIT, 1)
    for _ in range(times):
        entry = ledger.charge("0.1", "UG")
        done.append(entry.epsilon)
        ledger.settle(entry, [])


@pytest.mark.filterwarnings("ignore::snhkit.errors.LedgerWarning")
@pytest.mark.parametrize("stop", range(1, 13))
def test_no_acknowledged_charge_is_lost(disk, tmp_path, stop):
    path, done, disk.stop = disk.folder / "a.ledger", [], stop
    with contextlib.suppress(PowerFailure):
        charges(path, done)
    disk.stop = 10**9
    draw = random.Random(stop)
    for _ in range(30):
        found = tmp_path / "found"
        disk.after_a_failure(found, draw)
        ledger = found / "a.ledger"
        if not done and not ledger.exists():
            continue
        try:
            again = StoredLedger(ledger, RECORDS, UNIT, 1)
        except InputError:
            assert not done  # before the first charge, the file may be unreadable
            continue
        assert again.spent >= sum(done)
        if again.remaining >= Fraction(1, 10):
            again.charge("0.1", "UG")
            assert read_ledger(ledger).spent == again.spent > sum(done)


@pytest.mark.parametrize("stop", [1, 2, 3])
@pytest.mark.filterwarnings("ignore::snhkit.errors.LedgerWarning")
def test_no_charge_is_lost_while_a_torn_line_is_moved(disk, tmp_path, stop):
    path, done = disk.folder / "a.ledger", []
    charges(path, done, 2)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(handle, b"0" * 64 + b' {"event": "open", "epsilon": "1/5"')
    os.fsync(handle)
    os.close(handle)
    disk.syncs, disk.stop = 0, stop
    with contextlib.suppress(PowerFailure):
        charges(path, [], 1)
    disk.stop = 10**9
    for seed in range(30):
        disk.after_a_failure(tmp_path / "found", random.Random(seed))
        spent = StoredLedger(tmp_path / "found" / "a.ledger", RECORDS, UNIT).spent
        assert spent >= Fraction(2, 5)


@pytest.mark.parametrize("stop", [1, 2, 99])
def test_a_file_is_the_old_one_or_the_new_one(disk, tmp_path, stop):
    path = disk.folder / "a.snh"
    write_whole(path, b"old" * 500)
    disk.syncs, disk.stop = 0, stop
    with contextlib.suppress(PowerFailure):
        write_whole(path, b"new" * 700)
    disk.stop = 10**9
    for seed in range(30):
        disk.after_a_failure(tmp_path / "found", random.Random(seed))
        content = (tmp_path / "found" / "a.snh").read_bytes()
        assert content == b"new" * 700 or (content == b"old" * 500 and stop != 99)
