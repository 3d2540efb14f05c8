"""Commands that read leave every file as it is, whatever kind of file they are given."""

import contextlib
from functools import partial

import pytest

import snhkit as snh
from snhkit.privacy import read_ledger

REGION = snh.Region.around(43.038, -87.91, side_m=2_000)

FILES = {
    "d.geojson": b'{"type": "FeatureCollection", "features": []}',
    "records.csv": b"lat,lon\n43.038,-87.91\n43.039,-87.911",
    "empty": b"",
    "notes.txt": b"hello\n",
    "binary": bytes(range(256)) * 12,
    "nul": bytes(4_096),
}
COMMANDS = {
    "ledger": ("ledger", "FILE"),
    "card": ("card", "FILE"),
    "answer": ("answer", "FILE", "--boxes", "records.csv"),
    "boxes": ("answer", "a.snh", "--boxes", "FILE"),
    "districts": ("answer", "a.snh", "--districts", "FILE"),
    "verify": ("verify", "FILE", "--ledger", "t.csv.ledger"),
    "verify, ledger": ("verify", "a.snh", "--ledger", "FILE"),
    "plan": ("plan", "--public", "FILE", "--center", "43.038,-87.91", "--side-km", "2"),
    "release, ledger": (
        "release", "--data", "t.csv", "--center", "43.038,-87.91", "--side-km", "2", "--method",
        "ug", "--epsilon", "0.1", "--budget", "1", "--ledger", "FILE", "--out", "b.snh",
    ),
}  # fmt: skip


@pytest.fixture
def files(run, trips, tmp_path):
    """The content of each file by name, among them a release, ledgers and a key."""
    words = ("--method", "ug", "--epsilon", "0.4", "--budget", "1", "--out", "a.snh")
    assert run("release", *trips, *words)[0] == 0
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    ledger = (tmp_path / "t.csv.ledger").read_bytes()
    (tmp_path / "torn.ledger").write_bytes(ledger[:-200])
    (tmp_path / "cut.ledger").write_bytes(ledger[:100])
    (tmp_path / "flipped.ledger").write_bytes(ledger[:-1] + b"\x0b")
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.filterwarnings("default::snhkit.errors.LedgerWarning")
def test_every_file_stays_as_it_is(command, files, run, tmp_path):
    for name in files:
        if command == "release, ledger" and name == "t.csv.ledger":
            continue  # a charge to its own ledger
        run(*(name if word == "FILE" else word for word in COMMANDS[command]))
        found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        new = set(found) - set(files) - {f"{kind}.ledger.lock" for kind in ("torn", "flipped")}
        assert {known: found.get(known) for known in files} == files, name
        assert not new, name


@pytest.mark.filterwarnings("default::snhkit.errors.LedgerWarning")
def test_a_torn_ledger_is_read_and_said(files, run, tmp_path):
    code, out, err = run("ledger", "torn.ledger")
    assert code == 0
    assert err.startswith("snhkit: torn.ledger: the last line of the ledger is incomplete (")
    assert err.count("\n") == 1
    assert "left 0.6" in out  # the end of a build is no charge
    code, _, err = run("ledger", "cut.ledger")
    assert code == 2
    assert "first line of the ledger is incomplete" in err


@pytest.mark.filterwarnings("ignore")
def test_readers_in_python_change_nothing_either(files, tmp_path):
    for name in files:
        for reader in (snh.load, read_ledger, partial(snh.read_points, region=REGION)):
            with contextlib.suppress(snh.SnhkitError):
                reader(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
