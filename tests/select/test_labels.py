"""Tables of labels as files: kept whole, read with distrust."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from snhkit.errors import InputError
from snhkit.select import ParamSelect
from snhkit.select import labels as limits

HEADER = "dataset,n,epsilon,entropy,cell_m\n"
GOOD = HEADER + "a,10,0.1,2.5,30.0\n"
WRONG = [{"cell_m": np.inf}, {"cell_m": 0.0}, {"n": 0.5}, {"epsilon": 0.0}, {"epsilon": np.nan},
         {"entropy": -0.1}, {"dataset": "a\n"}, {"dataset": 7}]  # fmt: skip


def test_what_is_saved_comes_back(tmp_path):
    labels = pd.DataFrame(
        {
            "dataset": ["Zürich, old", 'b "c"'],
            "n": [10, 90],
            "epsilon": [0.1, 1 / 3],
            "entropy": [np.nan, np.pi],
            "k": [2, 16],
        }
    )
    path = ParamSelect(labels).save(tmp_path / "labels.csv")
    assert path.read_text("utf-8").splitlines()[0] == "dataset,n,epsilon,entropy,k"
    again = ParamSelect.load(path)
    pd.testing.assert_frame_equal(again.labels, labels)
    assert again.predict(10, 0.1) == ParamSelect(labels).predict(10, 0.1) == 2


def test_a_width_stays_a_float(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(GOOD)
    assert ParamSelect.load(path).labels["cell_m"].tolist() == [30.0]
    assert isinstance(ParamSelect.load(path).predict(10, 0.1), float)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have a header"),
        (HEADER, "but no labels"),
        ("n,epsilon\n1,2\n", "its columns must be dataset, n, epsilon, entropy and"),
        (GOOD + "b,10,0.1,2.5\n", "row 3 has 4 fields, but the header has 5"),
        (GOOD + "b,10.5,0.1,2.5,30\n", "row 3: n must be a whole number from 1, not '10.5'"),
        (GOOD + "b,0,0.1,2.5,30\n", "row 3: n must be a whole number from 1, not '0'"),
        (GOOD + "b,10,0,2.5,30\n", "row 3: epsilon must be a finite number above 0, not '0'"),
        (GOOD + "b,10,inf,2.5,30\n", "row 3: epsilon must be a finite number above 0, not 'inf'"),
        (
            GOOD + "b,10,0.1,-1,30\n",
            "row 3: entropy must be a finite number from 0 to 12.48, not '-1'",
        ),
        (
            GOOD + "b,10,0.1,13,30\n",
            "row 3: entropy must be a finite number from 0 to 12.48, not '13'",
        ),
        (GOOD + "b,10,0.1,2.5,nan\n", "row 3: cell_m must be a finite number, not 'nan'"),
        (GOOD + "b,10,0.1,2.5,wide\n", "row 3: cell_m must be a finite number, not 'wide'"),
        (GOOD + "b,10,0.1,2.5,-3\n", "row 1 .* is invalid"),
        (GOOD + "b,10,0.1,2.5,0\n", "row 1 .* is invalid"),
        (GOOD + "b\x1b[2J,10,0.1,2.5,3\n", "row 1 .* is invalid"),
        (GOOD.replace("cell_m", "cell m"), "and the parameter's name"),
        (GOOD + '"b,10,0.1,2.5,30\n', "not valid CSV"),
        (GOOD + f"b,{'9' * 30},0.1,2.5,3\n", "row 3: n must be .*, not '9999"),
    ],
)
def test_what_cannot_be_is_named(tmp_path, text, words):
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        ParamSelect.load(path)


def test_what_is_not_text_is_refused(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\x80\x04pickle")
    with pytest.raises(InputError, match="not in UTF-8"):
        ParamSelect.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        ParamSelect.load(tmp_path / "nowhere.csv")


def test_too_large_a_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    path.write_text(GOOD)
    monkeypatch.setattr(limits, "MAX_ROWS", 0)
    with pytest.raises(InputError, match="at most 0 rows"):
        ParamSelect.load(path)
    monkeypatch.setattr(limits, "_MAX_BYTES", len(GOOD) - 1)
    with pytest.raises(InputError, match="larger than"):
        ParamSelect.load(path)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"n": [1]}),
        pd.read_csv(pd.io.common.StringIO(GOOD)).iloc[:0],
        pd.read_csv(pd.io.common.StringIO(GOOD)).astype({"n": str}),
        *(pd.read_csv(pd.io.common.StringIO(GOOD)).assign(**one) for one in WRONG),
    ],
    ids=["columns", "no rows", "text", *map(str, WRONG)],
)
def test_a_frame_that_is_no_such_table_is_refused(frame):
    with pytest.raises(InputError, match="labels"):
        ParamSelect(frame)


def test_of_a_large_file_only_as_much_is_read_as_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_MAX_BYTES", 1_000)
    (tmp_path / "labels.csv").write_bytes(bytes(20_000_000))
    tracemalloc.start()
    with pytest.raises(InputError, match="larger than 1,000 bytes"):
        ParamSelect.load(tmp_path / "labels.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
