"""The contract of all readers: whatever records are in, however they are read, they count alike.

Each source is read in memory, in a scan and, if it is a file, by a worker of Dask. The counts are
those that numpy computes from the same records, and the three reports are equal.
"""

import gzip
from functools import partial

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyproj import Transformer

from snhkit.data import read_points
from snhkit.data.counting.passes import Cluster
from snhkit.data.counting.scan import Scan
from snhkit.data.sources.columns import rules_of
from snhkit.data.sources.opening import open_source
from snhkit.geometry import Grid, Points, Region
from snhkit.geometry.points import windows
from snhkit.privacy.unit import kept_records

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("coarse_scans")
CLUSTER = {"n_workers": 1, "processes": False}
duckdb = pytest.importorskip("duckdb")

CITY = Region.around(lat=41.88, lon=-87.63, side_m=10_000)
GRID = Grid(CITY, 9)
KEY = np.array([5, 11], np.uint64)
N, MOST = 300, 3
RNG = np.random.default_rng(0)
LAT, LON = CITY.to_latlon(RNG.random((N, 2)) * 12_000 - 1_000)
LAT[[4, 77]] = np.nan
ID = RNG.integers(1_000, 1_030, N)
NOBODY, NEVER = np.isin(np.arange(N), [9, 123]), np.isin(np.arange(N), [9, 31])
DEGREES = [(None if np.isnan(a) else a, o) for a, o in zip(LAT.tolist(), LON.tolist(), strict=True)]
METRES = Transformer.from_crs(4326, 26971, always_xy=True).transform(LON, LAT)
METRES = [np.where(np.isfinite(axis), axis, np.nan) for axis in METRES]
SECONDS = 1_793_491_200 + RNG.integers(0, 5 * 86_400, N)


WHOLE = pa.array(ID, mask=NOBODY)
IDS = {
    "int64": WHOLE,
    "int16": WHOLE.cast(pa.int16()),
    "uint64": WHOLE.cast(pa.uint64()),
    "float64": WHOLE.cast(pa.float64()),
    "float32": WHOLE.cast(pa.float32()),
    "decimal": WHOLE.cast(pa.decimal128(30, 2)),
    "text": WHOLE.cast(pa.string()),
    "large text": WHOLE.cast(pa.large_string()),
    "dictionary": WHOLE.cast(pa.string()).dictionary_encode(),
    "bytes": WHOLE.cast(pa.string()).cast(pa.binary()),
    "fixed bytes": pa.array([i and i.to_bytes(16) for i in WHOLE.to_pylist()], pa.binary(16)),
}
STAMPS = pa.array(SECONDS * 1_000_000, pa.timestamp("us"), mask=NEVER)
TIMES = {
    "timestamp[us]": STAMPS,
    "timestamp[ns]": STAMPS.cast(pa.timestamp("ns")),
    "timestamp with zone": STAMPS.cast(pa.timestamp("us", "UTC")),
    "text": STAMPS.cast(pa.string()),
    "text with Z": pa.array([t and f"{t}Z" for t in STAMPS.cast(pa.string()).to_pylist()]),
    "text with UTC": pa.array([t and f"{str(t)[:19]} UTC" for t in STAMPS.to_pylist()]),
    "seconds": pa.array(SECONDS, mask=NEVER),
    "seconds as floats": pa.array(SECONDS.astype(float), mask=NEVER),
    "milliseconds": pa.array(SECONDS * 1_000, mask=NEVER),
    "microseconds": pa.array(SECONDS * 1_000_000, mask=NEVER),
    "nanoseconds": pa.array(SECONDS * 1_000_000_000, mask=NEVER),
}
PLACES = {
    "float64": {"lat": pa.array(LAT, from_pandas=True), "lon": pa.array(LON)},
    "text": {
        "lat": pa.array([a and f" {a}" for a, _ in DEGREES]),
        "lon": pa.array([f"{o} " for _, o in DEGREES]),
    },
    "dictionary": {
        "lat": pa.array(LAT, from_pandas=True).dictionary_encode(),
        "lon": pa.array(LON),
    },
    "microdegrees": {
        "lat": pa.array(np.round(LAT * 1e6), from_pandas=True),
        "lon": pa.array(np.round(LON * 1e6)),
    },
    "(lat, lon)": {"point": pa.array([a and f"({a}, {o})" for a, o in DEGREES])},
    "WKT": {"point": pa.array([a and f"POINT ({o} {a})" for a, o in DEGREES])},
    "metres": {"lon": pa.array(METRES[0], from_pandas=True), "lat": pa.array(METRES[1])},
}
SAID = {
    "microdegrees": {"degrees": 1e-6},
    "(lat, lon)": {"point": "point"},
    "WKT": {"point": "point"},
    "metres": {"crs": "EPSG:26971"},
}


class Stream:
    """An object that has nothing but Arrow's C stream interface."""

    def __init__(self, table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def packed(kind):
    def save(table, folder):
        path = folder / f"a.csv.{kind}"
        with pa.CompressedOutputStream(
            str(path), {"gz": "gzip", "zst": "zstd"}.get(kind, kind)
        ) as out:
            pa.csv.write_csv(table, out)
        return path

    return save


def windows_text(table, folder):
    """As Excel writes it in many countries: semicolons, a byte order mark, two-byte line ends."""
    told = {"sep": ";", "encoding": "utf-8-sig", "lineterminator": "\r\n", "index": False}
    table.to_pandas().to_csv(folder / "a.csv", **told)
    return folder / "a.csv"


def csv(table, folder, **options):
    pa.csv.write_csv(table, folder / "a.csv", pa.csv.WriteOptions(**options))
    return folder / "a.csv"


def two_files(table, folder):
    """The second file has other types: text instead of numbers."""
    pq.write_table(table.slice(0, 100), folder / "1.parquet")
    at = table.schema.get_field_index("user")
    user = table.column(at)
    if pa.types.is_integer(user.type):
        user = user.cast(pa.string())
    pq.write_table(table.set_column(at, "user", user).slice(100), folder / "2.parquet")
    return folder


def geoframe(table):
    frame = table.to_pandas()
    points = gpd.points_from_xy(frame.pop("lon"), frame.pop("lat"), crs=4326)
    return gpd.GeoDataFrame(frame, geometry=points)


def saved_geo(write, name):
    def save(table, folder):
        write(geoframe(table), folder / name)
        return folder / name

    return save


def structured(table):
    frame = table.to_pandas()
    frame["user"] = frame["user"].to_numpy("U9" if frame["user"].dtype == object else None)
    return frame.to_records(index=False)


def npy(table, folder):
    records = structured(table)
    plain = [
        (name, "U9" if kind[0].kind == "O" else kind[0])
        for name, kind in records.dtype.fields.items()
    ]
    np.save(folder / "a.npy", np.array(records.tolist(), plain))
    return folder / "a.npy"


FORMS = {
    "csv": csv,
    "csv, quoted": partial(csv, quoting_style="all_valid"),
    "tsv": lambda t, f: csv(t, f, delimiter="\t"),
    "gz": packed("gz"),
    "zst": packed("zst"),
    "bz2": packed("bz2"),
    "parquet": lambda t, f: (
        pq.write_table(t, f / "a.parquet", row_group_size=64) or f / "a.parquet"
    ),
    "two files": two_files,
    "table": lambda t, f: t,
    "dataset": lambda t, f: ds.dataset(t),
    "stream": lambda t, f: Stream(t),
    "pandas": lambda t, f: t.to_pandas(),
    "pandas, nullable": lambda t, f: t.to_pandas().convert_dtypes(),
    "pandas, Arrow": lambda t, f: t.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda t, f: pl.from_arrow(t),
    "DuckDB": lambda t, f: duckdb.connect().from_arrow(t),
}
TEXT_FORMS = ("csv", "csv, quoted", "tsv", "gz", "zst", "bz2")
PLAIN_FORMS = {
    "semicolons": windows_text,
    "records": lambda t, f: structured(t),
    "npy": npy,
    "geopandas": lambda t, f: geoframe(t).to_crs(26971),
    "geoparquet": saved_geo(lambda g, p: g.to_parquet(p), "a.parquet"),
    "geoparquet, points": saved_geo(
        lambda g, p: g.to_parquet(p, geometry_encoding="geoarrow"), "a.parquet"
    ),
    "geoarrow": lambda t, f: Stream(pa.table(geoframe(t).to_arrow(index=False))),
    "geojson": saved_geo(lambda g, p: g.to_file(p), "a.geojson"),
    "gpkg": saved_geo(lambda g, p: g.to_crs(26971).to_file(p), "a.gpkg"),
}
LOOSE = ("microdegrees", "metres", "geopandas", "gpkg")  # are not exact to the last bit


def table_of(ids="int64", times="timestamp[us]", places="float64"):
    return pa.table({"user": IDS[ids], **PLACES[places], "time": TIMES[times]})


def expected(to_the_bit):
    """The counts of the records that are kept of each person and day, and of all records."""
    usable = ~(np.isnan(LAT) | NOBODY | NEVER)
    xy = CITY.to_xy(LAT[usable], LON[usable])
    inside = CITY.contains(xy)
    person = ID[usable][inside] * 1_000 + windows(SECONDS[usable][inside] // 86_400, 1) % 1_000
    kept = kept_records(person, xy[inside], MOST, KEY)
    counts = GRID.count(Points(CITY, xy[inside][kept])).counts
    return (counts if to_the_bit else counts.sum()), GRID.count(Points(CITY, xy[inside])).counts


def check(source, client=None, to_the_bit=True, **said):
    said = {"user": "user", "time": "time"} | said
    bounded, everything = expected(to_the_bit)
    told = []
    points = read_points(source, CITY, report=told.append, **said)
    kept = kept_records(points.user * 1_000 + windows(points.day, 1) % 1_000, points.xy, MOST, KEY)
    counts = GRID.count(Points(CITY, points.xy[kept])).counts
    assert np.array_equal(counts if to_the_bit else counts.sum(), bounded)
    assert (GRID.count(points).counts == everything).all()
    choose = partial(kept_records, most=MOST, key=KEY)
    for there in (None, client) if client is not None else (None,):
        opened = open_source(source, rules_of(**said, people="needed"))
        cluster = None if there is None else Cluster(there, opened)
        scan = Scan(opened, CITY, told.append, cluster)
        counts = scan.bounded(choose, window_days=1).count(GRID).counts
        assert np.array_equal(counts if to_the_bit else counts.sum(), bounded)
        assert (scan.all().count(GRID).counts == everything).all()
    assert len({str(one) for one in told}) == 1
    assert (told[0].rows, told[0].unusable) == (N, 5)
    return told[0]


@pytest.mark.parametrize("form", [*FORMS, *PLAIN_FORMS])
def test_every_form_counts_alike(form, tmp_path, client):
    source = (FORMS | PLAIN_FORMS)[form](table_of(), tmp_path)
    on_dask = client if hasattr(source, "exists") else None
    report = check(source, on_dask, to_the_bit=form not in LOOSE)
    if form not in ("two files", "geoarrow", *PLAIN_FORMS):
        first = 6 if form in TEXT_FORMS else 4
        assert report.unusable_rows == (first, first + 5, first + 27, first + 73, first + 119)


def pairs():
    """Each form with each type of id, time and position; these three turn at different paces.

    One reader opens all compressed files, and types are read after it: these four take turns.
    """
    found = []
    for at, form in enumerate(FORMS):
        ids = [kind for kind in IDS if not ("bytes" in kind and form in TEXT_FORMS)]
        for turn in range(at % 4, 11, 4) if form in ("tsv", "gz", "zst", "bz2") else range(11):
            columns = (ids, list(TIMES), list(PLACES))
            kinds = [kinds[(turn + at * k) % len(kinds)] for k, kinds in enumerate(columns)]
            found.append((form, *kinds))
    return found


@pytest.mark.parametrize(("form", "ids", "times", "places"), pairs())
def test_every_type_counts_alike(form, ids, times, places, tmp_path):
    table = table_of(ids, times, places)
    check(FORMS[form](table, tmp_path), to_the_bit=places not in LOOSE, **SAID.get(places, {}))


def test_a_header_that_is_missing_costs_no_record(tmp_path, client):
    for at, part in enumerate((slice(0, 90), slice(90, N))):
        frame = table_of().to_pandas()[part]
        data = frame.to_csv(index=False, header=False).encode()
        (tmp_path / f"{at}.csv.gz").write_bytes(gzip.compress(data))
    said = {"user": 0, "lat": 1, "lon": 2, "time": 3}
    report = check(tmp_path, client, **said)
    assert report.unusable_rows == (5, 10, 32, 78, 34)
    assert check(tmp_path, **{name: str(at) for name, at in said.items()}) is not None
