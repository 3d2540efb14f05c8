import os
import stat

import pytest

from snhkit.errors import InputError
from snhkit.files import write_whole


def test_text_and_bytes(tmp_path):
    path = write_whole(str(tmp_path / "a.txt"), "vingt-et-un é")
    assert path.read_text(encoding="utf-8") == "vingt-et-un é"
    assert write_whole(path, b"\0\1").read_bytes() == b"\0\1"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("when", ["fdopen", "replace"])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, when, error):
    path = write_whole(tmp_path / "a.txt", "old")

    def interrupted(*args, **_):
        if when == "fdopen":
            os.close(args[0])
        raise error

    if when == "fdopen":
        monkeypatch.setattr("snhkit.files.os.fdopen", interrupted)
    else:
        monkeypatch.setattr("snhkit.files.Path.replace", interrupted)
    full = isinstance(error, OSError)
    told = r"a\.txt: cannot be written \(No space left" if full else None
    with pytest.raises(InputError if full else KeyboardInterrupt, match=told):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_places_that_cannot_be_written_are_named(tmp_path):
    (tmp_path / "folder").mkdir()
    for place in ("nowhere/a.txt", "folder"):
        with pytest.raises(InputError, match=rf"{place}: cannot be written \(.+\)"):
            write_whole(tmp_path / place, "x")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_others_may_read_it_as_the_umask_says(tmp_path):
    old = os.umask(0o027)
    try:
        path = write_whole(tmp_path / "a.txt", "x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
