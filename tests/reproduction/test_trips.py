"""Trips of taxis: worked by hand, and how the paper's CABS data were made."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from snhkit.errors import InputError
from snhkit.reproduction.trips import trip_points

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def trace() -> pd.DataFrame:
    """Two taxis, out of order: the second begins and ends with a passenger."""
    rows = [(1, t, o) for t, o in enumerate([0, 1, 1, 0, 1, 0])]
    rows += [(2, t, o) for t, o in enumerate([1, 0, 1, 1])]
    frame = pd.DataFrame(rows, columns=["user", "time", "occupied"])
    frame["lat"], frame["lon"] = 37.0 + frame.time / 100, -122.0 - frame.user / 100
    return frame.sample(frac=1, random_state=0)


def test_starts_and_ends_of_whole_trips(trace):
    def pairs(at):
        return trip_points(trace, at=at)[["user", "time"]].values.tolist()

    assert pairs("end") == [[1, 2], [1, 4], [2, 0]]
    assert pairs("start") == [[1, 1], [1, 4], [2, 2]]


def test_bad_input_is_named(trace):
    with pytest.raises(InputError, match="no column occupied"):
        trip_points(trace.drop(columns="occupied"))
    with pytest.raises(InputError, match="at must be"):
        trip_points(trace, at="middle")  # pyright: ignore
    trace = trace.reset_index(drop=True)
    trace.loc[3, "occupied"] = 7
    with pytest.raises(InputError, match=r"row 3 .counted from 0.: occupied must be 0 or 1"):
        trip_points(trace)


def test_cabs_are_the_ends_of_trips():
    files = SHARED / "sf_five_taxis_trace.csv.gz", SHARED / "sf_cabs.npy"
    if not all(file.exists() for file in files):
        pytest.skip("needs the shared data sets of San Francisco's taxis")
    trace = pd.read_csv(files[0])
    known = {tuple(row) for row in np.round(np.load(files[1]), 5)}

    def shares(at):
        points = trip_points(trace, at=at)
        found = [tuple(row) in known for row in points[["lat", "lon"]].round(5).to_numpy()]
        return pd.Series(found).groupby(points.user).mean().sort_values().to_numpy()

    ends, starts = shares("end"), shares("start")
    assert (ends[1:] >= 0.89).all()  # four of the five taxis are among the authors' data
    assert ends[0] < 0.1
    assert (starts < 0.12).all()
