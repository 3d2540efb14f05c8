"""The journal keeps complete events, removes incomplete ones and refuses changed files."""

import os
import subprocess
import sys

import pytest

from snhkit.errors import InputError
from snhkit.privacy.journal import Journal


def events(path) -> list:
    with Journal(path).locked() as found:
        return found


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "a.ledger")
    with journal.locked():
        for number in range(3):
            journal.append({"number": number, "who": "Zoë"})
    return journal.path


def test_events_are_read_by_other_journals(path):
    assert [event["number"] for event in events(path)] == [0, 1, 2]


def test_each_event_is_returned_once(path):
    journal = Journal(path)
    with journal.locked() as found:
        assert len(found) == 3
        journal.append({"number": 3})
    other = Journal(path)
    with other.locked() as found:
        assert len(found) == 4
        other.append({"number": 4})
    with journal.locked() as found:
        assert found == [{"number": 4}]


@pytest.mark.parametrize("kept", [1, 30, 80])
def test_an_incomplete_last_line_is_removed_and_the_next_follows(path, kept):
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole[: -len(last)] + last[:kept])
    journal = Journal(path)
    with journal.locked() as found:
        assert [event["number"] for event in found] == [0, 1]
        journal.append({"number": 7})
    assert [event["number"] for event in events(path)] == [0, 1, 7]


@pytest.mark.parametrize("change", ["digit", "line left out", "lines swapped", "not JSON"])
def test_a_changed_file_is_refused(path, change):
    lines = path.read_bytes().splitlines(keepends=True)
    if change == "digit":
        lines[1] = lines[1].replace(b'"number": 1', b'"number": 8')
    elif change == "line left out":
        del lines[0]
    elif change == "lines swapped":
        lines[:2] = lines[1::-1]
    else:
        lines[2] = b"hello\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match="changed or damaged"):
        events(path)


def test_a_file_that_became_shorter_is_refused(path):
    journal = Journal(path)
    with journal.locked():
        pass
    path.write_bytes(b"")
    with pytest.raises(InputError, match="became shorter"), journal.locked():
        pass


def test_only_the_owner_may_read_it(path):
    assert path.stat().st_mode & 0o077 == 0


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone.a\.ledger: the ledger cannot be written"):
        events(tmp_path / "gone" / "a.ledger")


def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch):
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
    journal = Journal(path)
    with pytest.raises(InputError, match="no space"), journal.locked():
        journal.append({"number": 9})
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_appending_requires_the_lock(path):
    with pytest.raises(RuntimeError):
        Journal(path).append({})


WRITER = """
import sys
from snhkit.privacy.journal import Journal
journal = Journal(sys.argv[1])
for _ in range(50):
    with journal.locked():
        journal.append({"by": sys.argv[2]})
"""


def test_processes_take_turns(path):
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = [event.get("by") for event in events(path)][3:]
    assert {name: found.count(name) for name in "abc"} == {"a": 50, "b": 50, "c": 50}
