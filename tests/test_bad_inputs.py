"""The inputs of ``benchmarks/bad_inputs.py``: each is refused in words, warned of or answered."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "bad_inputs.py"

if not PATH.is_file():
    pytest.skip("not run from the source tree", allow_module_level=True)

SPEC = importlib.util.spec_from_file_location("bad_inputs", PATH)
assert SPEC is not None
assert SPEC.loader is not None
bad_inputs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bad_inputs)

ANSWERED = {
    "a polygon in 0 to 360 degrees",
    "polygons across 180 degrees",
    "the same, after make_valid()",
}
"""Questions that look odd and have an answer, which is not 0."""


@pytest.mark.parametrize("kind", bad_inputs.IN_PYTHON)
def test_each_is_refused_warned_of_or_answered(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trips.csv").write_text(bad_inputs.ROWS, encoding="utf-8")
    told = bad_inputs.said(bad_inputs.IN_PYTHON[kind])
    if kind in ANSWERED:
        assert told.startswith("answered: ")
        assert "answered: 0" not in told
    else:
        assert told.partition(": ")[0] in {
            "InputError", "BudgetExceeded", "ReleaseFileError", "ReadWarning", "OutsideWarning",
        }  # fmt: skip


def test_an_unexpected_error_shows():
    assert bad_inputs.said(lambda: 1 / 0).startswith("UNEXPECTED ZeroDivisionError")
    assert bad_inputs.said(lambda: 1) == "accepted"
