"""A file of records has one ledger, wherever the file is moved and however it is named."""

import json
import os
import shutil
import warnings
from fractions import Fraction

import pytest

import snhkit as snh
from snhkit.errors import InputError, LedgerWarning
from snhkit.privacy.data_ledgers import ledger_of

CITY = snh.Region.around(lat=0, lon=0, side_m=100)
TERMS = {"budget": 1, "unit": "record"}


def opened(data, named=None, at=1, **terms):
    """Open the ledger of a file as the command line does; its records are one point."""
    points = snh.Points(CITY, [[at, at]])
    return snh.PrivateDataset(points, **(TERMS | terms), ledger=ledger_of(data, named)).ledger


def test_a_ledger_is_remembered_by_its_full_path(tmp_path, monkeypatch, ledgers):
    monkeypatch.chdir(tmp_path)
    opened("trips.csv")
    assert json.loads(ledgers.read_text(encoding="utf-8")) == str(tmp_path / "trips.csv.ledger")


def test_a_linked_file_has_one_ledger(tmp_path):
    (tmp_path / "store").mkdir()
    real, link = tmp_path / "store" / "v3.csv", tmp_path / "trips.csv"
    real.touch()
    link.symlink_to(real)
    beside, there = tmp_path / "trips.csv.ledger", tmp_path / "store" / "v3.csv.ledger"
    assert ledger_of(link).path == beside
    there.touch()
    assert ledger_of(link).path == ledger_of(str(real)).path == there
    beside.touch()
    with pytest.raises(InputError, match="both have a ledger"):
        ledger_of(link)
    assert ledger_of(link, there).path == there


def test_a_moved_or_copied_file_gets_no_second_budget(tmp_path):
    first = opened(tmp_path / "trips.csv")
    first.charge("0.4", "UG")
    told = rf"already have a ledger, {first.path}\. .* with --ledger {first.path}, or"
    with pytest.raises(InputError, match=told):
        opened(tmp_path / "march.csv")
    assert {path.name for path in tmp_path.iterdir()} == {
        f"trips.csv.ledger{end}" for end in ("", ".key", ".lock")
    }
    assert opened(tmp_path / "march.csv", first.path).spent == first.spent
    opened(tmp_path / "others.csv", at=7)


def test_a_second_ledger_that_somebody_names_is_told(tmp_path):
    opened(tmp_path / "trips.csv")
    with pytest.warns(LedgerWarning, match="A second budget adds to the first: add both up"):
        opened(tmp_path / "trips.csv", tmp_path / "b.ledger")
    points = snh.Points(CITY, [[1, 1]])
    with pytest.warns(LedgerWarning, match="already have a ledger"):
        snh.PrivateDataset(points, **TERMS, ledger=tmp_path / "c.ledger")


def test_a_ledger_that_moved_with_its_file_is_continued(tmp_path):
    opened(tmp_path / "trips.csv").charge("0.4", "UG")
    (tmp_path / "new").mkdir()
    for path in list(tmp_path.glob("trips*")):
        shutil.move(path, tmp_path / "new")
    assert opened(tmp_path / "new" / "trips.csv").spent == Fraction(2, 5)
    with pytest.raises(InputError, match=r"already have a ledger, .*new/trips\.csv\.ledger"):
        opened(tmp_path / "trips.csv")


def test_a_list_that_is_damaged_or_missing_stops_nothing(tmp_path, ledgers):
    opened(tmp_path / "trips.csv")
    ledgers.write_bytes(b"\xff\n7\n[]\n" + ledgers.read_bytes())
    assert ledgers.stat().st_mode & 0o077 == 0
    (tmp_path / "trips.csv.ledger.key").unlink()
    opened(tmp_path / "march.csv")
    ledgers.unlink()
    ledgers.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(tmp_path / "april.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_list_that_is_a_pipe_is_left_alone(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("SNHKIT_LEDGERS", str(tmp_path / "pipe"))
    assert opened(tmp_path / "trips.csv").remaining == 1
