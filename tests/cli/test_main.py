"""What all commands share: help, refused input, interruption and line width."""

import gc
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import click
import pytest

import snhkit as snh
from snhkit.cli.main import app
from snhkit.defaults import DEFAULT_SIZES_M

WHERE = ["--center", "43.038,-87.91", "--side-km", "2"]


@pytest.mark.parametrize("words", [[], ["-h"], ["compare", "--help"], ["answer", "-h"]])
def test_help_is_short_of_80_columns_and_ends_well(run, words):
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: snhkit")
    assert max(map(len, out.splitlines())) <= 80


def test_the_version_is_that_of_the_package(run):
    code, out, err = run("--version")
    assert (code, out, err) == (0, f"snhkit, version {version('snhkit')}\n", "")


def options(command: click.Command) -> list[click.Option]:
    """Return the options of a command and of all commands in it."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    own = [option for option in command.params if isinstance(option, click.Option)]
    return [*own, *(option for one in inner for option in options(one))]


def test_every_option_is_typed_by_a_test():
    """An option that no test types may have no effect, or that of another."""
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("*.py"))
    typed = set(re.findall(r"--[a-z][a-z-]*", tests))
    assert [one.opts for one in options(app) if not typed & {*one.opts, *one.secondary_opts}] == []


REFUSED = {
    "no command of that name": (["relese"], "Did you mean 'release'?"),
    "no option of that name": (["compare", "--metods", "ug"], "Did you mean '--methods'?"),
    "centre missing": (["compare", "--data", "t.csv", "--side-km", "2"], "--center LAT,LON"),
    "side missing": (["compare", "--data", "t.csv", "--center", "43,-87"], "--side-km KM"),
    "side zero": (
        ["compare", "--data", "t.csv", "--center", "43,-87", "--side-km", "0"],
        "0.0 is not in the range x>0",
    ),
    "side not a number": (
        ["compare", "--data", "t.csv", "--center", "43,-87", "--side-km", "nan"],
        "'nan' is not a number with the digits 0 to 9",
    ),
    "side of digits of another script": (
        ["compare", "--data", "t.csv", "--center", "43,-87", "--side-km", "２"],
        "'２' is not a number with the digits 0 to 9",
    ),
    "centre with an underscore": (["compare", "--center", "4_3,-87"], "'4_3,-87' is not LAT,LON"),
    "number with an underscore": (["compare", "--queries", "1_0"], "'1_0' is not a number with"),
    "cell not a number": (
        ["answer", "t.csv", "--raster", "x.tif", "--cell-m", "inf"], "'inf' is not a number with",
    ),
    "epsilon with an underscore": (["compare", "--epsilon", "1_0"], "the digits 0 to 9"),
    "strata of digits of another script": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1", "--out", "x",
         "--budget", "1", "--time", "t", "--by", "hour:６"],
        "strata are hour, hour:3",
    ),
    "centre with a space": (
        ["compare", "--data", "t.csv", "--center", "44.97,", "-93.26"], "without a space",
    ),
    "centre of words": (["compare", "--center", "Milwaukee"], "'Milwaukee' is not LAT,LON"),
    "centre swapped": (
        ["compare", "--data", "t.csv", "--center", "-91.5,43", "--side-km", "2"],
        "are latitude and longitude swapped?",
    ),
    "centre without data": (["compare", "--center", "43,-87"], "need --data"),
    "city with data": (["compare", "--data", "t.csv", *WHERE, "--city", "chicago"], "--city"),
    "epsilon 0": (["compare", "--epsilon", "0"], "epsilon must be greater than 0, not 0"),
    "epsilon empty": (["compare", "--epsilon", "0.1,"], "not ''"),
    "epsilon twice": (["compare", "--epsilon", "0.1,1/10"], "names an epsilon twice"),
    "methods": (["compare", "--methods", "xyz"], "no method 'xyz'; the methods are ug, identity"),
    "sides": (["compare", "--sizes-m", "100,25"], "'100,25' is not L,U in metres"),
    "sides too large": (["compare", "--sizes-m", "25,1e9"], "sizes_m must be"),
    "queries": (["compare", "--queries", "0"], "0 is not in the range"),
    "cell": (["compare", "--methods", "ug", "--cell-m", "-5"], "'-5' is not a cell width"),
    "city": (["compare", "--city", "chicgo"], "did you mean chicago?"),
    "no file": (["compare", "--data", "u.csv", *WHERE], "'u.csv' does not exist"),
    "a folder": (["compare", "--data", ".", *WHERE], "other.csv: no column has a common name"),
    "private as public": (
        ["compare", "--data", "t.csv", "--public", "./t.csv", *WHERE],
        "data and public are the same file",
    ),
    "over its records": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1",
         "--out", "t.csv"],
        "data and out are the same file",
    ),
    "elsewhere": (
        ["compare", "--data", "t.csv", "--center", "10,10", "--side-km", "2"],
        "no row lies in the region",
    ),
    "release without data": (
        ["release", "--method", "ug", "--epsilon", "1", "--out", "x"], "Missing option '--data'",
    ),
    "release without epsilon": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--out", "x"],
        "Missing option '--epsilon'",
    ),
    "release of two": (
        ["release", "--data", "t.csv", *WHERE, "--method", "all", "--epsilon", "1", "--out", "x"],
        "--method takes one value here",
    ),
    "release of a demonstration": (
        ["release", "--data", "t.csv", *WHERE, "--method", "dpsgd", "--epsilon", "1", "--out", "x"],
        "a demonstration and must not be published",
    ),
    "users without bound": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1", "--out", "x",
         "--user", "user"],
        "--user and --max-per-user must be given together",
    ),
    "release to the ledger's stream": (
        ["release", "--data", "t.csv", *WHERE, "--method", "ug", "--epsilon", "1", "--out", "x",
         "--budget", "1", "--ledger", "-"],
        "--ledger cannot be standard output",
    ),
    "cell of words": (["compare", "--cell-m", "wide"], "0, or the word auto"),
    "answer no release": (["answer", "t.csv", "--boxes", "t.csv"], "are the same file"),
    "answer a table": (["answer", "t.csv", "--boxes", "other.csv"], "not a safetensors file"),
}  # fmt: skip


@pytest.mark.usefixtures("trips")
@pytest.mark.parametrize(("words", "told"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_ends_in_one_clear_line_and_code_2(run, tmp_path, words, told):
    (tmp_path / "other.csv").write_text("south,west,north,east\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("snhkit: ")
    assert told in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--methods", "ug", "--queries", "5", "--json", "a.json"],
        ["release", "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "a.snh"],
    ],
    ids=lambda words: words[0],
)
def test_ctrl_c_while_building_leaves_nothing(run, trips, tmp_path, monkeypatch, words, listed):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("snhkit.privacy.measurements.noisy_histogram", interrupted)
    code, out, err = run(*words, *trips)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "snhkit: interrupted; no file is left half-written."
    assert "Traceback" not in err
    kept = (
        ["t.csv", *(f"t.csv.ledger{end}" for end in ("", ".key", ".lock"))]
        if words[0] == "release"
        else ["t.csv"]
    )
    assert listed(tmp_path) == kept


def test_ctrl_c_in_a_callback_of_the_garbage_collector_is_not_lost(run, trips, monkeypatch):
    """Python drops exceptions there, and JAX has such a callback."""

    def interrupted(*_args):
        gc.callbacks.remove(interrupted)
        raise KeyboardInterrupt

    def noisy(*_args, **_kwargs):
        gc.callbacks.append(interrupted)
        gc.collect()
        time.sleep(60)

    monkeypatch.setattr("snhkit.privacy.measurements.noisy_histogram", noisy)
    hook = sys.unraisablehook
    words = ["release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "a"]
    # Other tests run notebooks in this process; their client leaves a handler that does nothing.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, out, err = run(*words)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "snhkit: interrupted; no file is left half-written."
    assert "Traceback" not in err
    assert sys.unraisablehook is hook


def test_ctrl_c_while_writing_leaves_no_temporary_file(run, trips, tmp_path, monkeypatch, listed):
    replace = Path.replace

    def interrupted(written, target):
        if target.name == "a.snh":
            raise KeyboardInterrupt
        return replace(written, target)

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    assert (
        run(
            "release", *trips, "--method", "ug", "--epsilon", "1", "--budget", "1", "--out", "a.snh"
        )[0]
        == 130
    )
    assert listed(tmp_path) == ["t.csv", *(f"t.csv.ledger{end}" for end in ("", ".key", ".lock"))]


def test_help_waits_for_no_large_library():
    code = (
        "import sys; from snhkit.cli.main import app\n"
        "for words in ([], *([name] for name in app.commands)):\n"
        "    app.main([*words, '--help'], standalone_mode=False)\n"
        "print(sorted({'jax', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    told = subprocess.run(  # the interpreter of this test
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert told.splitlines()[-1] == "[]"
    assert "\\b" not in told  # click's mark for lines to be left alone


def test_what_is_printed_fits_80_columns(run, trips):
    long = ["--methods", "ug,hb2d", "--epsilon", "0.05,10", "--queries", 5, "--seed", 1]
    _, out, _ = run("compare", *trips, *long)
    assert "Mean errors of squares around records" in out
    for words in (["cities"], ["ledger", "t.csv.ledger"]):
        if words[0] == "ledger":
            code, _, err = run(
                "release", *trips, "--method", "dawa", "--epsilon", "1", "--budget", "1",
                "--out", "t.snh",
            )  # fmt: skip
            assert code == 0, err
            out += err
        code, told, _ = run(*words)
        assert code == 0
        out += told
        if words[0] == "cities":
            assert [line.split()[0] for line in told.splitlines()] == list(snh.CITIES)
    assert {line for line in out.splitlines() if len(line) > 80} == set()


def test_the_usual_sides_are_those_of_the_library():
    options = [p for c in app.commands.values() for p in c.params if p.name == "sizes_m"]
    assert [option.default for option in options] == [DEFAULT_SIZES_M] * 3
