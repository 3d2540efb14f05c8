import os
import stat
import threading
from pathlib import Path

import pytest

from snhkit.errors import InputError
from snhkit.files import refuse_unwritable, write_whole

needs_posix = pytest.mark.skipif(os.name != "posix", reason="pipes and links as POSIX has them")


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_text_and_bytes(tmp_path):
    path = write_whole(str(tmp_path / "a.txt"), "vingt-et-un é")
    assert path.read_text(encoding="utf-8") == "vingt-et-un é"
    assert write_whole(path, b"\0\1").read_bytes() == b"\0\1"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, when, error):
    path = write_whole(tmp_path / "a.txt", "old")

    def interrupted(*_args):
        raise error

    monkeypatch.setattr(
        {"fsync": "snhkit.files.os.fsync", "replace": "snhkit.files.Path.replace"}[when],
        interrupted,
    )
    full = isinstance(error, OSError)
    told = r"a\.txt: cannot be written \(No space left" if full else None
    with pytest.raises(InputError if full else KeyboardInterrupt, match=told):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nowhere/a.txt", "there is no folder '.*nowhere'"),
        ("folder", "it is a folder"),
        ("a.txt/b.txt", "there is no folder '.*a.txt'"),
        ("dangling", "there is no folder '.*nowhere'"),
    ],
)
def test_places_that_cannot_be_written_are_named(tmp_path, place, reason):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "a.txt")
    before = sorted(tmp_path.rglob("*"))
    for refused in (refuse_unwritable, lambda path: write_whole(path, "x")):
        with pytest.raises(InputError, match=rf"{place}: cannot be written \({reason}\)"):
            refused(tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


def test_others_may_read_a_new_file_as_the_umask_says(tmp_path):
    old = os.umask(0o027)
    try:
        path = write_whole(tmp_path / "a.txt", "x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert mode(path) == 0o640


@needs_posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o604])
def test_an_existing_file_keeps_its_permissions(tmp_path, kept):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(kept)
    assert write_whole(path, "new").read_text() == "new"
    assert mode(path) == kept


@needs_posix
def test_a_read_only_file_is_refused_and_stays(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(InputError, match=r"a\.txt: cannot be written \(the file is read-only\)"):
        write_whole(path, "new")
    assert path.read_text() == "old"


@needs_posix
def test_a_link_stays_and_the_file_behind_it_is_written(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "a.txt").write_text("old")
    (tmp_path / "link").symlink_to("store/a.txt")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (store / "a.txt").read_text() == "new"
    (tmp_path / "first").symlink_to("store/b.txt")  # the file behind it does not exist yet
    write_whole(tmp_path / "first", "made")
    assert (store / "b.txt").read_text() == "made"
    assert sorted(p.name for p in store.iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_through(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, "through")
    reader.join(30)
    assert heard == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_without_a_reader_is_an_error_not_a_hang(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("snhkit.files._SECONDS", 0.01)
    with pytest.raises(InputError, match=r"pipe: cannot be written \(no program reads from"):
        write_whole(tmp_path / "pipe", "x")


@needs_posix
def test_devices_are_written_through(tmp_path):
    write_whole("/dev/null", "x" * 100_000)
    assert Path("/dev/null").is_char_device()
    if Path("/dev/full").exists():
        with pytest.raises(InputError, match=r"/dev/full: cannot be written \(No space left"):
            write_whole("/dev/full", "x")
    kept = tmp_path / "kept.txt"
    kept.write_text("first ")
    handle = os.open(kept, os.O_WRONLY | os.O_APPEND)
    try:
        write_whole(f"/dev/fd/{handle}", "second")
    finally:
        os.close(handle)
    assert kept.read_text() == "first second"
