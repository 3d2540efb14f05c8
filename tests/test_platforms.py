"""What users need works without the modules and functions that Windows does not have."""

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from snhkit.geometry import Region

TESTS = Path(__file__).parent
WHERE = ["--center", "43.038,-87.91", "--side-km", "2"]


def started(program: str, *words: str, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a Python program in a process that is as on Windows."""
    return subprocess.Popen(
        [sys.executable, "-c", f"import without_posix\n{program}", *map(str, words)], cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(TESTS)} | environment, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ran(program: str, *words: str, cwd: Path, **environment: str) -> str:
    process = started(program, *words, cwd=cwd, **environment)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


COMMANDS = """
import contextlib, json, sys
from snhkit.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    main()
"""


@pytest.fixture
def trips(tmp_path):
    lat, lon = Region.around(43.038, -87.91, side_m=2_000).to_latlon([[500, 900], [1_500, 300]])
    rows = [f"{a},{b}" for a, b in zip(lat, lon, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["lat,lon", *rows * 50, ""]), encoding="utf-8")
    return tmp_path


def test_commands_on_a_console_with_few_characters(trips):
    """Characters that the console lacks are replaced."""
    commands = [
        ["compare", "--methods", "ug", "--n", "1000", "--epsilon", "1", "--report", "a.html"],
        ["cities"],
        ["release", "--data", "t.csv", *WHERE, "--method", "identity", "--cell-m", "500",
         "--epsilon", "0.5", "--budget", "1", "--out", "a.snh"],
        ["ledger", "t.csv.ledger", "--json"],
        ["verify", "a.snh", "--ledger", "t.csv.ledger"],
        ["card", "a.snh"],
        ["doctor"],
    ]  # fmt: skip
    ran(COMMANDS, json.dumps(commands), cwd=trips, PYTHONIOENCODING="ascii")
    assert sorted(path.name for path in trips.iterdir() if path.suffix != ".csv") == [
        "a.html", "a.snh", "t.csv.ledger", "t.csv.ledger.key", "t.csv.ledger.lock",
    ]  # fmt: skip


CHARGES = """
import sys
from snhkit.privacy import PointSource, PrivacyUnit
from snhkit.privacy.stored_ledger import StoredLedger
from snhkit.errors import BudgetExceeded
from snhkit.geometry import Points, Region
import portalocker.portalocker
assert "Msvcrt" in str(portalocker.portalocker.LOCKER)
records = PointSource(Points(Region.around(lat=0, lon=0, side_m=10), [[1, 1]]))
ledger = StoredLedger(sys.argv[1], records, PrivacyUnit("record"), 1)
for _ in range(20):
    try:
        ledger.settle(ledger.charge("1/30", sys.argv[2]), [])
        print("granted")
    except BudgetExceeded:
        pass
assert portalocker.portalocker.msvcrt.calls > 20
"""


def test_processes_share_a_budget_with_the_locks_of_windows(tmp_path):
    crowd = [started(CHARGES, tmp_path / "a.ledger", name, cwd=tmp_path) for name in "ab"]
    told = [process.communicate() for process in crowd]
    assert [process.returncode for process in crowd] == [0, 0], told
    assert "".join(out for out, _ in told).count("granted") == 30


@pytest.mark.release
def test_a_folder_of_wheels_installs_without_a_network(tmp_path):
    """As ``docs/course/servers.md`` says."""
    extras, wheels = "[lab,offline,course]", tmp_path / "wheels"

    def run(*command):
        subprocess.run(command, cwd=tmp_path, check=True)

    run(sys.executable, "-m", "pip", "wheel", "-q", "-w", wheels, f"{TESTS.parent}{extras}")
    venv.create(tmp_path / "new", with_pip=True)
    programs = tmp_path / "new" / ("Scripts" if os.name == "nt" else "bin")
    without = ["--no-index", "--find-links", wheels]
    run(programs / "python", "-m", "pip", "install", "-q", *without, f"snhkit{extras}")
    run(programs / "snhkit", "compare", "--methods", "ug", "--n", "1000")
    assert (tmp_path / "snhkit-report.html").is_file()


def test_texts_of_files_are_utf_8_whatever_the_system_takes_for_granted():
    code = r"(?m)^(?! *\.\.\. ).*\.(read|write)_text\((?!.*\n?.*utf-8)"  # and not of an example
    text = re.compile(code)
    files = (TESTS.parent / "snhkit").rglob("*.py")
    assert not [path.name for path in files if text.search(path.read_text(encoding="utf-8"))]
