"""Fixtures for the tests of commands: records, a release, and a function that runs a command."""

import sys

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import snhkit as snh
from snhkit.cli.main import main

WHERE = ["--center", "43.038,-87.91", "--side-km", "2"]


CENTER = (43.038, -87.91)


REGION = snh.Region.around(*CENTER, side_m=2_000)


@pytest.fixture
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trips(_here, tmp_path):
    rng = np.random.default_rng(3)
    lat, lon = REGION.to_latlon(rng.normal(1_000, 300, (500, 2)))
    users = rng.integers(0, 50, 500)
    pd.DataFrame({"lat": lat, "lon": lon, "bearer": users}).to_csv(tmp_path / "t.csv", index=False)
    return ["--data", "t.csv", *WHERE]


@pytest.fixture
def run(_here, monkeypatch, capsys, tmp_path):
    """Return a function that runs ``snhkit`` with given words.

    The function returns the exit code, the standard output and the standard error.
    """
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path.parent / "jax"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "9")

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["snhkit", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return typed


@pytest.fixture
def released(run, trips, tmp_path):
    code, _, err = run(
        "release", *trips, "--method", "identity", "--epsilon", "1", "--budget", "9",
        "--cell-m", "50", "--out", "t.snh",
    )  # fmt: skip
    assert code == 0, err
    return snh.load(tmp_path / "t.snh")


@pytest.fixture
def listed():
    """Return a function that lists all names in a folder, hidden and temporary ones too."""
    return lambda folder: sorted(path.name for path in folder.rglob("*"))


@pytest.fixture
def wards(tmp_path):
    """Return options that name a file of two districts, which cover four fifths of the region."""
    halves = [shapely.box(-1_000, -1_000, 0, 600), shapely.box(0, -1_000, 1_000, 600)]
    frame = gpd.GeoDataFrame({"ward": ["west", "east"]}, geometry=halves, crs=REGION.crs)
    frame.to_crs(4326).to_file(tmp_path / "w.geojson")
    return ["--districts", "w.geojson"]
