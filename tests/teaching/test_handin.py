"""The process of a hand-in: its limits, and what comes back from it."""

import socket

import pytest

from snhkit.geometry import Points, Region
from snhkit.teaching import league

CITY = Region.around(lat=0, lon=0, side_m=1_000)
JOB = {"region": CITY.to_dict(), "records": [[1.0, 1.0]], "epsilon": "0.5", "runs": 20}


def run(tmp_path, code, seconds=30):
    (tmp_path / "mine.py").write_text(code)
    return league._run(tmp_path / "mine.py", JOB, seconds)


def test_a_process_has_no_network_secrets_files_or_endless_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "key")
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"""
import os, socket
from pathlib import Path
found = []
def tried(name, function):
    try:
        function()
        found.append(name)
    except (OSError, MemoryError):
        pass
tried("network", lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]})))
tried("memory", lambda: bytearray(6 * 2**30))
tried("writing of files", lambda: Path({str(tmp_path / "x")!r}).write_bytes(b"state"))
found += ["secret"] * ("SECRET" in os.environ) + [*map(str, Path.cwd().iterdir())]
print("this is dropped")
raise SystemExit(" ".join(found))
"""
        messages, failure = run(tmp_path, code)
    lacking = [name for name in messages[0]["lacking"] if name != "computing time"]
    assert failure.strip() == f"it raised SystemExit: {' '.join(lacking)}".strip()


def test_a_process_that_sends_too_much_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(league, "_MAX_BYTES", 2**20)
    flood = """
import os
while True:
    for number in range(3, 12):
        try:
            os.write(number, b"{}\\n" * 1000)
        except OSError:
            pass
"""
    assert run(tmp_path, flood)[1] == "it sent more than 1,048,576 bytes"


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("while True: pass", "it took more than 5 s"),
        ("import os; os._exit(3)", "its process was ended by the system"),
    ],
)
def test_a_process_that_computes_too_long_or_vanishes_is_told_apart(tmp_path, code, failure):
    assert run(tmp_path, code, 5)[1] == failure


@pytest.mark.parametrize(
    ("guess", "expected"),
    [
        ("len(without.xy) < len(included.xy)", [True] * 3),
        ("1", "TypeError: attack must return True or False, not int"),
    ],
)
def test_an_attack_sees_both_data_sets_and_returns_guesses(tmp_path, guess, expected):
    import snhkit as snh

    data = snh.PrivateDataset(Points(CITY, [[1, 1]]), budget=1, unit="record")
    path = data.release(snh.Identity(500), epsilon=0.5).save(tmp_path / "a.snh")
    (tmp_path / "mine.py").write_text(f"def attack(release, without, included): return {guess}")
    worlds = {"without": [], "included": [[1.0, 1.0]], "releases": [str(path)] * 3}
    job = {"targets": [worlds | {"region": CITY.to_dict()}] * 2}
    messages, failure = league._run(tmp_path / "mine.py", job, 30)
    assert failure == ""
    assert [message["guesses"] for message in messages[1:]] == [expected] * 2
