"""Bad inputs and the messages that follow: python benchmarks/bad_inputs.py [--help].

Runs a list of common mistakes in Python and on the command line. Prints, as Markdown, each kind of
mistake with its outcome: the error, or the warnings and the value, or the lines that the command
wrote. With --cases, also runs each Python file of a folder in a process of its own.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import snhkit as snh

ROOT = Path(__file__).parents[1]
CASES = ROOT.parent / "shared" / "cases"
CITY = snh.Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
FIJI = snh.Region.around(lat=-16.8, lon=180, side_m=60_000)
PLACE = ["--center", "37.7637,-122.4337", "--side-km", "13.2"]
PAID = ["--method", "ug", "--epsilon", "1", "--budget", "1"]
LONGEST = 480  # characters of a message in the table


def frame(**columns: Any) -> pd.DataFrame:
    """Return a frame of three records in the city; ``columns`` adds or replaces columns."""
    return pd.DataFrame({"lat": [37.76, 37.77, 37.75], "lon": [-122.43] * 3} | columns)


def points(count: int = 2_000, region: snh.Region = CITY) -> snh.Points:
    """Return ``count`` records that are spread over a region."""
    xy = np.random.default_rng(0).uniform(0, region.side_m, (count, 2))
    return snh.Points(region, xy, np.arange(count) // 4)


def dataset(count: int = 2_000, region: snh.Region = CITY, **terms: Any) -> snh.PrivateDataset:
    """Return a dataset of ``count`` records with a budget of 10."""
    said = {"budget": 10, "unit": "record", "n_public": False} | terms
    return snh.PrivateDataset(points(count, region), **said)


def release(region: snh.Region = CITY) -> snh.Release:
    """Return a release with a large epsilon, and so with little noise."""
    return dataset(region=region).release(snh.Identity(region.side_m / 40), epsilon=5)


def box(west: float, south: float, east: float, north: float) -> shapely.Polygon:
    """Return a polygon with the given bounds in degrees."""
    return shapely.box(west, south, east, north)


def districts(*shapes: Any, **columns: Any) -> gpd.GeoDataFrame:
    """Return a frame of polygons given in degrees, with further columns."""
    return gpd.GeoDataFrame(columns, geometry=list(shapes), crs=4326)


def csv(text: str, **said: Any) -> snh.Points:
    """Read records from a text file."""
    Path("trips.csv").write_text(text, encoding="utf-8")
    return snh.read_points("trips.csv", CITY, **said)


ROWS = "lat,lon,user\n" + "37.76,-122.43,a\n37.77,-122.42,b\n" * 30
SPIKE = shapely.from_wkt(
    "POLYGON((-122.44 37.75,-122.42 37.75,-122.42 37.77,-122.42 37.78,-122.42 37.77,"
    "-122.44 37.77,-122.44 37.75))"
)
EAST, WEST = box(179.8, -17, 180, -16.6), box(-180, -17, -179.8, -16.6)

IN_PYTHON: dict[str, Callable[[], Any]] = {
    # Files of records.
    "CSV: a quote that is not closed": lambda: csv(ROWS.replace("a\n", '"a\n', 1)),
    "CSV: rows end in a comma": lambda: csv(ROWS.replace("a\n", "a,\n").replace("b\n", "b,\n")),
    "CSV: names of rows, as R writes": lambda: csv(re.sub(r"(?m)^(37)", r"1,\1", ROWS)),
    "CSV: decimal commas": lambda: csv("lat;lon\n37,76;-122,43\n37,77;-122,42\n"),
    "CSV: no column of latitudes": lambda: csv("a,b\n1,2\n"),
    "CSV: a misspelt column": lambda: csv(ROWS, user="usr"),
    "CSV: two rows cannot be used": lambda: csv(ROWS + "91,-122.43,a\n37.76,,b\n"),
    "CSV: not UTF-8": lambda: (
        Path("trips.csv").write_bytes(ROWS.replace("a\n", "é\n").encode("latin-1")),
        snh.read_points("trips.csv", CITY),
    ),
    "CSV: a time that is none": lambda: csv(
        "lat,lon,when\n37.76,-122.43,2026-11-28\n37.76,-122.43,noon\n", time="when"
    ),
    "latitude and longitude exchanged": lambda: snh.read_points(
        frame().rename(columns={"lat": "lon", "lon": "lat"}), CITY
    ),
    "metres instead of degrees": lambda: snh.read_points(
        frame(lat=[4e6] * 3, lon=[5e5] * 3), CITY
    ),
    "another region": lambda: snh.read_points(frame(), FIJI),
    "a file that is not there": lambda: snh.read_points("gone.csv", CITY),
    "a frame without CRS": lambda: snh.read_points(
        gpd.GeoDataFrame(geometry=[shapely.Point(1, 1)]), CITY
    ),
    "MultiPoint records": lambda: snh.read_points(
        districts(shapely.MultiPoint([(-122.43, 37.76), (-122.44, 37.77)])), CITY
    ),
    # Ids of users.
    "ids 1001 and True": lambda: snh.read_points(frame(user=[1001, True, 1001]), CITY),
    "ids '42', '42.0' and '042'": lambda: snh.read_points(
        frame(user=["42", "42.0", "042"]), CITY
    ).user,
    "ids 'NULL' and blank": lambda: csv(ROWS.replace(",b\n", ",NULL\n", 3), user="user"),
    "unit user without users": lambda: snh.PrivateDataset(
        snh.Points(CITY, points(9).xy), 1, unit="user", max_per_user=3
    ),
    "unit user-day without times": lambda: dataset(unit="user-day", max_per_user=3),
    # Terms and numbers.
    "epsilon 0": lambda: dataset().release(snh.Identity(100), epsilon=0),
    "epsilon -1": lambda: dataset().release(snh.Identity(100), epsilon=-1),
    "epsilon nan": lambda: dataset().release(snh.Identity(100), epsilon=float("nan")),
    "epsilon 1e-30": lambda: dataset().release(snh.Identity(100), epsilon=1e-30),
    "more than the budget": lambda: dataset().release(snh.Identity(100), epsilon=11),
    "sizes 500 to 100": lambda: snh.DenoisedGrid(sizes_m=(500, 100)),
    "sizes of one number": lambda: snh.RangeQueries.sample(CITY, 5, 100),  # pyright: ignore
    "cells of 0 m": lambda: snh.Identity(0),
    "cells of 1 mm": lambda: dataset().release(snh.Identity(0.001), epsilon=1),
    "a region of 0 m": lambda: snh.Region.around(lat=0, lon=0, side_m=0),
    "a region at the pole": lambda: snh.Region.around(lat=90, lon=0, side_m=1_000),
    "max_per_user bought, n public": lambda: dataset(
        unit="user", max_per_user=snh.NoisyQuantile(0.9, epsilon="0.1"), n_public=True
    ),
    "public= that is the private file": lambda: dataset().release(
        snh.Identity("auto"), epsilon=1, public=points()
    ),
    "a ledger of other records": lambda: (
        dataset(ledger="a.ledger"),
        dataset(1_000, ledger="a.ledger", budget=None),
    ),
    "a ledger in memory of other records": lambda: dataset(
        1_000, ledger=dataset().ledger, budget=None
    ),
    "a ledger that was changed": lambda: (
        dataset(ledger="b.ledger"),
        Path("b.ledger").write_text(Path("b.ledger").read_text().replace('"10"', '"99"')),
        dataset(ledger="b.ledger", budget=None),
    ),
    # Boxes and answers.
    "a box elsewhere": lambda: release().answer(
        snh.RangeQueries.from_degrees(CITY, [51.5], [0.1], [51.6], [0.2])
    ),
    "a box with south above north": lambda: snh.RangeQueries.from_degrees(
        CITY, [37.77], [-122.44], [37.76], [-122.43]
    ),
    "a polygon with exchanged coordinates": lambda: release().answer(
        districts(box(37.75, -122.44, 37.77, -122.42))
    ),
    "a polygon in 0 to 360 degrees": lambda: release().answer(
        districts(box(237.56, 37.75, 237.58, 37.77))
    ),
    "polygons across 180 degrees": lambda: release(FIJI).answer(
        districts(WEST, EAST, shapely.MultiPolygon([WEST, EAST]))
    ),
    "a polygon with a spike": lambda: release().answer(districts(SPIKE)),
    "the same, after make_valid()": lambda: release().answer(districts(SPIKE).make_valid()),
    "districts with two columns of one name": lambda: snh.district_map(
        release(),
        gpd.GeoDataFrame(
            pd.concat([districts(SPIKE, name=["a"]), pd.DataFrame({"name": ["b"]})], axis=1)
        ),
        label="name",
    ),
    "a frame without geometry": lambda: release().answer(gpd.GeoDataFrame({"a": [1]})),
    # Release files.
    "a file that is no release": lambda: snh.load("trips.csv"),
    "a release file that was cut": lambda: (
        release().save("cut.snh"),
        Path("cut.snh").write_bytes(Path("cut.snh").read_bytes()[:-9]),
        snh.load("cut.snh"),
    ),
}  # fmt: skip
ON_THE_COMMAND_LINE: dict[str, list[str]] = {
    "no --budget at first": ["release", *PLACE, *PAID[:4], "--data", "u.csv", "--out", "a.snh"],
    "epsilon 20": [
        "release", *PLACE, "--method", "ug", "--epsilon", "20", "--budget", "30", "--data", "u.csv",
        "--out", "a.snh",
    ],
    "the same release twice": ["release", *PLACE, *PAID, "--data", "t.csv", "--out", "t.snh"],
    "a folder that is not there": ["release", *PLACE, *PAID, "--data", "t.csv", "--out", "x/a.snh"],
    "a full disk": ["answer", "t.snh", "--boxes", "boxes.csv", "--out", "/dev/full"],
    "boxes without a column": ["answer", "t.snh", "--boxes", "t.csv"],
    "a misspelt option": ["release", "--metod", "ug"],
    "a ledger that is not there": ["ledger", "gone.ledger"],
    "DP-SGD, a demonstration": [
        "release", *PLACE, "--method", "dpsgd", "--epsilon", "1", "--data", "t.csv",
        "--out", "d.snh",
    ],
}  # fmt: skip
ENVIRONMENTS = {
    "JAX_PLATFORMS=cuda without a GPU": {"JAX_PLATFORMS": "cuda"},
    "JAX_TRANSFER_GUARD=disallow": {"JAX_TRANSFER_GUARD": "disallow"},
    "JAX_NUMPY_DTYPE_PROMOTION=strict": {"JAX_NUMPY_DTYPE_PROMOTION": "strict"},
    "JAX_NUMPY_RANK_PROMOTION=raise": {"JAX_NUMPY_RANK_PROMOTION": "raise"},
}
LEARNED = """
import numpy as np, snhkit as snh
city = snh.Region.around(lat=45, lon=7, side_m=400)
data = snh.PrivateDataset(snh.Points(city, np.full((50, 2), 100.0)), 1, unit="record")
builder = snh.DenoisedGrid(cell_m=100, prior=snh.Prior(turns=1))
try:
    data.release(builder, epsilon="0.5")
    print("built;", end=" ")
except snh.InputError as error:
    print(error, end=" ")
print("spent", data.ledger.spent)
"""


FORKED = """
import os, numpy as np, snhkit as snh
city = snh.Region.around(lat=45, lon=7, side_m=400)
data = snh.PrivateDataset(snh.Points(city, np.full((50, 2), 100.0)), 1, unit="record")
if not os.fork():
    try:
        data.release(snh.UniformGrid(), epsilon="0.5")
    except snh.InputError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def said(action: Callable[[], Any]) -> str:
    """Return the outcome of an action as text: its error, or its warnings and its value."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of pyproj, with numpy before 2.4
        try:
            value = action()
            value = value[-1] if isinstance(value, tuple) else value
            told = "accepted"
            if isinstance(value, np.ndarray):
                told = f"answered: {', '.join(f'{x:,.0f}' for x in value)}"
        except snh.SnhkitError as error:
            told = f"{type(error).__name__}: {error}"
        except Exception as error:  # any other exception is a fault, which the table shows
            told = f"UNEXPECTED {type(error).__name__}: {error}"
    return "; ".join([*(f"{w.category.__name__}: {w.message}" for w in given), told])


def process(words: list[str], **environment: str) -> str:
    """Return the lines that a program writes, and its exit code if that is not 0."""
    done = subprocess.run(  # noqa: S603 - our own programs
        [sys.executable, "-W", "ignore", *words], capture_output=True, text=True, check=False,
        env=os.environ | environment, timeout=300, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    errors = done.stderr.strip().splitlines()
    if "Traceback (most recent call last):" in errors:
        errors = errors[-1:]
    lines = [*done.stdout.strip().splitlines(), *(e for e in errors if "%|" not in e)]
    code = [] if not done.returncode else [f"(exit code {done.returncode})"]
    return " / ".join([*lines, *code])


def command(words: list[str]) -> str:
    """Return the lines that ``snhkit`` writes for a command line."""
    program = f"import sys; sys.argv = {['snhkit', *words]!r}; from snhkit.cli.main import main"
    return process(["-c", f"{program}; main()"])


@contextlib.contextmanager
def a_folder() -> Iterator[Path]:
    """Run a ``with`` block in a new folder that holds records, a release of them, and boxes."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name in ("t.csv", "u.csv"):
                Path(name).write_text(ROWS, encoding="utf-8")
            Path("boxes.csv").write_text(
                "south,west,north,east\n37.75,-122.44,37.77,-122.42\n", encoding="utf-8"
            )
            command(["release", *PLACE, *PAID, "--data", "t.csv", "--out", "t.snh"])
            yield Path(folder)
        finally:
            os.chdir(before)


def show(kind: str, text: str, folder: Path) -> None:
    """Print a row of the table; names of temporary folders are left out."""
    text = re.sub(r"<[\w.]+ object at 0x\w+>", "(an object)", text)
    text = " ".join(text.replace(f"{folder}/", "").split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."
    cells = (re.sub(r"([|<>*_`])", r"\\\1", part) for part in (kind, text))
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Read the options, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=CASES, help="a folder, which may be absent")
    parser.add_argument("--only", default="", help="pattern of a kind")
    given = parser.parse_args()
    jobs: dict[str, Callable[[], str]] = {}
    for kind, action in IN_PYTHON.items():
        jobs[kind] = lambda action=action: said(action)
    for kind, words in ON_THE_COMMAND_LINE.items():
        jobs[f"snhkit {words[0]}: {kind}"] = lambda words=words: command(words)
    for kind, environment in ENVIRONMENTS.items():
        jobs[kind] = lambda chosen=environment: process(["-c", LEARNED], **chosen)
    jobs["a release in a forked process, its ledger in memory"] = lambda: process(["-c", FORKED])
    for path in sorted([*given.cases.glob("*/case.py"), *given.cases.glob("*/hang.py")]):
        jobs[f"case {path.parent.name}"] = lambda path=path: process([str(path)])
    print("| kind | what is said |\n|---|---|")
    with a_folder() as folder:
        for kind, job in jobs.items():
            if re.search(given.only, kind):
                show(kind, job(), folder)


if __name__ == "__main__":
    main()
