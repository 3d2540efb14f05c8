"""Where commands write: files, pipes, devices and standard output."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from snhkit.cli.output import say
from snhkit.errors import printable


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("nowhere/x", "there is no folder 'nowhere'"),
        ("locked/x", "the folder 'locked' is read-only"),
        (".", "'.' is a directory"),
        ("kept.csv", "kept.csv: cannot be written (the file is read-only)"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--json"],
        ["compare", "--report"],
        ["release", "--method", "ug", "--epsilon", "1", "--budget", "1", "--out"],
        ["answer", "t.csv", "--boxes", "t.csv", "--out"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_where_nothing_can_be_written_nothing_is_begun(
    run, trips, tmp_path, monkeypatch, words, place, told, listed
):
    (tmp_path / "locked").mkdir()
    (tmp_path / "kept.csv").write_text("")
    (tmp_path / "kept.csv").chmod(0o400)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "locked" and allowed(path, mode)
    )
    begun = []
    monkeypatch.setattr("snhkit.data.read_points", lambda *a, **k: begun.append(a))
    monkeypatch.setattr("snhkit.loading.load", begun.append)
    monkeypatch.setattr("snhkit.data.synthetic_points", lambda *a, **k: begun.append(a))
    records = [] if words[0] == "answer" else trips
    code, _, err = run(*words, place, *records)
    assert code == 2
    assert words[-1] in err
    assert told in err
    assert not begun
    assert listed(tmp_path) == ["kept.csv", "locked", "t.csv"]


def test_a_dash_is_standard_output(run, released, trips, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    words = ["answer", "t.snh", "--boxes", "b.csv"]
    assert run(*words, "--out", "-") == run(*words)
    code, out, err = run(
        "compare", *trips, "--methods", "ug", "--queries", 5, "--json", "-", "--report", "r.html"
    )
    assert code == 0
    assert [row["method"] for row in json.loads(out)] == ["ug"]
    assert "Next: snhkit explore" in err
    assert not (tmp_path / "-").exists()


@pytest.mark.usefixtures("released")
def test_counts_go_into_a_pipe_or_a_device_and_a_file_keeps_its_permissions(run, tmp_path):
    (tmp_path / "b.csv").write_text("south,west,north,east\n43.03,-87.92,43.04,-87.91\n")
    words = ["answer", "t.snh", "--boxes", "b.csv", "--out"]
    (tmp_path / "c.csv").write_text("")
    (tmp_path / "c.csv").chmod(0o600)
    assert run(*words, "c.csv")[0] == 0
    assert stat.S_IMODE((tmp_path / "c.csv").stat().st_mode) == 0o600
    assert run(*words, "/dev/null")[0] == 0
    code, _, err = run(*words, "/dev/full")
    assert code == 2
    assert err == "snhkit: /dev/full: cannot be written (No space left on device).\n"


def test_a_full_disk_or_a_closed_pipe_behind_standard_output_is_one_line(tmp_path):
    code = "import sys; from snhkit.cli.main import main; sys.argv[1:] = {}; main()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full:
        for words, stream in ((["cities"], writer), (["--help"], full)):
            done = subprocess.run(
                [sys.executable, "-c", code.format(words)],
                stdout=stream, stderr=subprocess.PIPE, text=True, env=environment, check=False,
            )  # fmt: skip
            assert done.returncode == 2
            (line,) = done.stderr.splitlines()
            assert line.startswith("snhkit: standard output: ")
    os.close(writer)


def test_names_of_files_send_no_commands_to_the_terminal(capsys):
    say("Ledger a\x1b[31m\u202eb.ledger:\nspent 1")
    assert capsys.readouterr().out == "Ledger a\ufffd[31m\ufffdb.ledger:\nspent 1\n"


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\u202e", "\u2028", "\x85", "\udc80"])
def test_no_control_character_is_printed(character):
    assert printable(f"a{character}b").isprintable()
    assert printable("a\u00a0é b") == "a\u00a0é b"
