"""The journal keeps complete events, never removes a byte, and refuses changed files."""

import os
import subprocess
import sys

import portalocker
import pytest

from snhkit.errors import InputError
from snhkit.privacy.journal import Journal


def events(path) -> list:
    return Journal(path).read()


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "a.ledger")
    with journal.locked():
        journal.append({"event": "opened", "number": 0})
        for number in range(1, 3):
            journal.append({"number": number, "who": "Zoë"})
    return journal.path


def numbers(path) -> list[int]:
    return [event["number"] for event in events(path)]


def test_events_are_read_by_other_journals(path):
    assert numbers(path) == [0, 1, 2]


def test_each_event_is_returned_once(path):
    journal = Journal(path)
    with journal.locked() as found:
        assert len(found) == 3
        journal.append({"number": 3}, {"number": 4})
    other = Journal(path)
    with other.locked() as found:
        assert len(found) == other.line == 5
        other.append({"number": 5})
    with journal.locked() as found:
        assert found == [{"number": 5}]
    assert journal.line == 6


class TestAnIncompleteLastLine:
    """A cut of any length, and a change of the last byte."""

    @pytest.fixture(params=[1, 30, 80, -1])
    def torn(self, request, path):
        whole = path.read_bytes()
        last = whole.splitlines(keepends=True)[-1]
        path.write_bytes(whole[: -len(last)] + last[: request.param])
        return path, last[: request.param]

    def test_is_kept_by_readers(self, torn):
        path, tail = torn
        before = path.read_bytes()
        journal = Journal(path)
        assert [event["number"] for event in journal.read()] == [0, 1]
        with journal.locked() as found:
            assert not found
        assert journal.tail == tail
        assert path.read_bytes() == before

    def test_moves_to_a_file_of_its_own_before_the_next_event(self, torn):
        path, tail = torn
        path.with_name("a.ledger.torn").write_text("of an earlier time")
        journal = Journal(path)
        with journal.locked():
            aside = journal.aside()
            journal.append({"number": 7}, {"number": 8})
        assert journal.tail == b""
        assert aside.name == "a.ledger.torn1"
        assert aside.read_bytes() == tail
        assert numbers(path) == [0, 1, 7, 8]
        with journal.locked():
            journal.append({"number": 9})
        assert numbers(path) == [0, 1, 7, 8, 9]
        if os.name != "nt":
            assert path.stat().st_mode & 0o077 == aside.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize("end", [b"", b"\x0b", b"\r"])
    def test_is_known_if_only_its_newline_is_lost(self, path, end):
        path.write_bytes(path.read_bytes()[:-1] + end)
        journal = Journal(path)
        assert len(journal.read()) == 2
        assert journal.last() == {"number": 2, "who": "Zoë"}

    def test_may_be_one_that_another_process_writes(self, path, monkeypatch):
        """Reading waits for a moment, as a writer would need."""
        whole, pauses = path.read_bytes(), []
        path.write_bytes(whole[:-10])

        def pause(seconds):
            pauses.append(seconds)
            path.write_bytes(whole)

        monkeypatch.setattr("time.sleep", pause)
        journal = Journal(path)
        assert [event["number"] for event in journal.read()] == [0, 1, 2]
        assert (journal.tail, len(pauses)) == (b"", 1)


@pytest.mark.parametrize("change", ["digit", "line left out", "lines swapped", "not JSON", "long"])
def test_a_changed_file_is_refused_and_the_line_named(path, change):
    lines = path.read_bytes().splitlines(keepends=True)
    if change == "digit":
        lines[1] = lines[1].replace(b'"number": 1', b'"number": 8')
    elif change == "line left out":
        del lines[1]
    elif change == "lines swapped":
        lines[1:] = lines[:0:-1]
    elif change == "not JSON":
        lines[1] = b"hello\n"
    else:
        lines[1] = lines[1][:-1] + b" " * 2**20 + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match="line 2 of the ledger was changed or damaged"):
        events(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"lat,lon\n1,2\n", "this is not a ledger"),
        (b"0" * 100, "this is not a ledger"),
        (b'{"event": "opened"}\n', "this is not a ledger"),
    ],
)
def test_a_file_of_another_kind_is_refused_before_anything_is_written(tmp_path, content, told):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    for attempt in (lambda: events(path), lambda: Journal(path).locked().__enter__()):
        with pytest.raises(InputError, match=told):
            attempt()
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_first_line_that_is_cut_is_refused(path):
    for kept in (len(path.read_bytes().splitlines()[0]), 90):
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(InputError, match="first line of the ledger is incomplete"):
            events(path)
        assert len(path.read_bytes()) == kept


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            "a pipe or a device",
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name"),
        ),
        "a folder",
    ],
)
def test_what_is_no_file_is_refused(tmp_path, kind):
    path = tmp_path / "a"
    os.mkfifo(path) if kind.startswith("a pipe") else path.mkdir()
    for attempt in (lambda: events(path), lambda: Journal(path).locked().__enter__()):
        with pytest.raises(InputError, match=f"must be a file, and this is {kind}"):
            attempt()


def test_links_share_a_lock_and_hard_links_are_refused(path, tmp_path):
    link, hard = tmp_path / "link", tmp_path / "hard"
    link.symlink_to(path)
    with Journal(link).locked():
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ledger", "a.ledger.lock", "link"]
    hard.hardlink_to(path)
    with pytest.raises(InputError, match="second name"), Journal(hard).locked():
        pass
    link.unlink()
    link.symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="points to a file that does not exist"):
        events(link)


@pytest.mark.parametrize("left", [b"", None])
def test_a_file_that_became_shorter_is_refused(path, left):
    journal = Journal(path)
    journal.read()
    path.unlink() if left is None else path.write_bytes(left)
    with pytest.raises(InputError, match=r"became shorter|was deleted"), journal.locked():
        pass


def test_reading_needs_no_permission_to_write(path):
    names = sorted(path.parent.iterdir())
    path.with_name("a.ledger.lock").unlink()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert numbers(path) == [0, 1, 2]
    finally:
        path.parent.chmod(0o700)
    assert len(list(path.parent.iterdir())) == len(names) - 1


@pytest.mark.skipif(os.name == "nt", reason="no permissions of this kind")
def test_only_the_owner_may_read_it(path):
    assert path.stat().st_mode & 0o077 == 0


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone.a\.ledger: the ledger cannot be written"):
        Journal(tmp_path / "gone" / "a.ledger").locked().__enter__()


@pytest.mark.parametrize("call", ["open", "write", "fsync"])
def test_a_disk_that_is_full_or_fails_leaves_the_file_as_it_was(path, monkeypatch, call):
    before, real = path.read_bytes(), getattr(os, call)

    def failing(what, *more):
        if call == "write":
            return real(what, more[0][:10])
        if call == "open" and not more[0] & os.O_APPEND:  # of the lock
            return real(what, *more)
        raise OSError(5, "no space")

    monkeypatch.setattr(os, call, failing)
    journal = Journal(path)
    told = r"a\.ledger: the ledger cannot be written \(no space"
    with pytest.raises(InputError, match=told), journal.locked():
        journal.append({"number": 9})
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_lock_that_is_taken_is_waited_for(path, monkeypatch):
    """Windows reports a taken lock after ten seconds."""
    answers = [portalocker.AlreadyLocked("taken"), portalocker.AlreadyLocked("taken"), None]

    def lock(handle, flags):
        if isinstance(answer := answers.pop(0), Exception):
            raise answer

    monkeypatch.setattr(portalocker, "lock", lock)
    with Journal(path).locked() as found:
        assert len(found) == 3
        assert answers == []


def test_a_line_that_is_too_long_is_refused(path):
    journal = Journal(path)
    with journal.locked():
        journal.append({"who": "x" * 2**20})
    with pytest.raises(InputError, match="line 4 of the ledger was changed or damaged"):
        events(path)


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
    writers = [subprocess.Popen([*command, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    found = [event.get("by") for event in events(path)][3:]
    assert {name: found.count(name) for name in "ab"} == {"a": 50, "b": 50}
