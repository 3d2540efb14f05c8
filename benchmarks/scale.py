"""Time and memory for files of many records: ``python benchmarks/scale.py [--help]``.

Makes files of synthetic points in a temporary folder, which is deleted at the end, and measures
each row of a Markdown table in a process of its own. DuckDB, Polars and numpy.histogram2d have no
projection and count squares in degrees; snhkit projects every point and counts squares in metres.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scale_files import CITY, make
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.geometry import Grid

SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)
CELLS = 512
KEY = np.array([1, 2], np.uint64)


def checksum(counts: Any) -> str:
    """Return a checksum of eight digits that depends on every count."""
    return hashlib.sha256(np.ascontiguousarray(counts, np.int64).tobytes()).hexdigest()[:8]


def silent(told: object) -> None:
    """Ignore a report on the rows that were left out."""


def by_snhkit(path: str, m: int) -> Any:
    """Count the records in a grid of m by m cells with snhkit, in one pass over the file."""
    from snhkit.data.counting.counters import counter_of
    from snhkit.data.counting.passes import over, take_rows
    from snhkit.data.sources.columns import rules_of
    from snhkit.data.sources.opening import open_source

    parts = open_source(path, rules_of()).parts
    counter, _ = over(parts, partial(counter_of, Grid(CITY, m)), partial(take_rows, CITY, False))
    return counter.result()


def in_memory(path: str, m: int) -> Any:
    """Read all points into memory, and count them in a grid of m by m cells."""
    return Grid(CITY, m).count(snh.read_points(path, CITY, report=silent)).counts


def only_read(path: str, m: int) -> Any:
    """Read all points into memory, and return a function that counts them."""
    points = snh.read_points(path, CITY, report=silent)
    return lambda: Grid(CITY, m).count(points).counts


def by_numpy(path: str, m: int) -> Any:
    """Read all coordinates, and count them in squares of degrees with numpy.histogram2d."""
    import pandas as pd

    frame = pd.read_parquet(path, columns=["lat", "lon"]).dropna()
    south, west, north, east = CITY.bounds
    return np.histogram2d(frame.lat, frame.lon, bins=m, range=[[south, north], [west, east]])[0]


def by_duckdb(path: str, m: int) -> Any:
    """Count the records in squares of degrees with SQL in DuckDB."""
    import duckdb

    south, west, north, east = CITY.bounds
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false")
    return connection.execute(
        "select floor((lat - ?) * ?)::int i, floor((lon - ?) * ?)::int j, count(*) n "
        "from read_parquet(?) where lat >= ? and lat < ? and lon >= ? and lon < ? "
        "group by all order by all",
        [south, m / (north - south), west, m / (east - west), path, south, north, west, east],
    ).fetchnumpy()["n"]


def by_polars(path: str, m: int) -> Any:
    """Count the records in squares of degrees with the streaming engine of Polars."""
    import polars as pl

    south, west, north, east = CITY.bounds
    lat, lon = pl.col("lat"), pl.col("lon")
    inside = lat.is_between(south, north, "left") & lon.is_between(west, east, "left")
    i = ((lat - south) * (m / (north - south))).cast(pl.Int32)
    j = ((lon - west) * (m / (east - west))).cast(pl.Int32)
    plan = pl.scan_parquet(path).filter(inside).group_by(i.alias("i"), j.alias("j")).len()
    return plan.sort("i", "j").collect(engine="streaming")["len"].to_numpy()


def opened(path: str, unit: str, workers: int = 0) -> Any:
    """Open a file for a unit of privacy, and count the kept records in a grid.

    The random choice of the records to keep is seeded, so that all ways of counting agree.
    """
    from snhkit.data.counting.passes import Cluster
    from snhkit.data.counting.scan import Scan
    from snhkit.data.sources.columns import rules_of
    from snhkit.data.sources.opening import open_source
    from snhkit.privacy.unit import kept_records

    rules = rules_of(user="user", time="time", people="needed") if unit != "record" else rules_of()
    source, client, cluster = open_source(path, rules), None, None
    if workers:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        client = Client(cluster)
    scan = Scan(source, CITY, silent, None if client is None else Cluster(client, source))
    if unit == "record":
        records = scan.all()
    else:
        choose = partial(kept_records, most=5, key=KEY)
        records = scan.bounded(choose, window_days=1 if unit == "user-day" else None)
    counts = records.count(Grid(CITY, 500)).counts
    if client is not None and cluster is not None:
        client.close()
        cluster.close()
    return counts


def kept_in_memory(path: str, unit: str) -> Any:
    """Count the kept records in a grid as ``opened`` does, but with all records in memory."""
    import pandas as pd

    from snhkit.privacy.unit import kept_records

    frame = pd.read_parquet(path).dropna(subset=["lat"])
    xy = CITY.to_xy(frame.lat.to_numpy(), frame.lon.to_numpy())
    inside = CITY.contains(xy)
    xy, kept = xy[inside], slice(None)
    if unit != "record":
        person = frame.user.to_numpy()[inside]
        if unit == "user-day":
            person = person * 100_000 + frame.time.to_numpy()[inside] // 86_400
        kept = kept_records(person, xy, 5, KEY)
    return Grid(CITY, 500).count(snh.Points(CITY, xy[kept])).counts


def release(path: str, method: str) -> Any:
    """Open a file, and build a release with epsilon 0.5."""
    from snhkit.methods import METHODS

    data = snh.PrivateDataset.scan(
        path, CITY, budget=1, unit="record", n_public=True, report=silent
    )
    builder = METHODS[method].builder((25.0, 100.0), None)
    made = data.release(builder, epsilon=0.5)
    return made.answer(snh.RangeQueries.sample(CITY, 1_000)).round().astype(int)


def strata(path: str, by: str) -> Any:
    """Open a file with times, and build a release for each stratum, or one if ``by`` is empty."""
    data = snh.PrivateDataset.scan(path, CITY, budget=1, unit="record", time="time", report=silent)
    divided = snh.By.parse(by) if by else None
    made = data.release(snh.Identity(100), epsilon=0.5, by=divided)
    return made.total().answer(snh.RangeQueries.sample(CITY, 1_000)).round().astype(int)


def width_error(path: str, cell_m: float | str) -> str:
    """Open a file, build the denoised grid, and return its mean relative error on small squares."""
    import pyarrow.parquet as pq

    from snhkit.metrics import relative_errors

    records = snh.scan_points(path, CITY, report=silent)
    first = next(pq.ParquetFile(path).iter_batches(20_000, columns=["lat", "lon"])).to_pandas()
    boxes = snh.RangeQueries.sample(snh.read_points(first, CITY, report=silent), 5_000)
    data = snh.PrivateDataset.scan(
        path, CITY, budget=1, unit="record", n_public=True, report=silent
    )
    width = None if cell_m == "chosen" else float(cell_m)
    made = data.release(snh.DenoisedGrid(cell_m=width), epsilon=0.5, seed=0)
    errors = relative_errors(made.answer(boxes), records.boxes(boxes), records.n())
    return f"{100 * errors.mean():.2f} %"


def networks(path: str, k: int) -> Any:
    """Open a file, and build SNH with k networks."""
    from snhkit.neural import Networks

    data = snh.PrivateDataset.scan(
        path, CITY, budget=1, unit="record", n_public=True, report=silent
    )
    made = data.release(snh.SNH(networks=Networks(k=k)), epsilon=0.5)
    return made.answer(snh.RangeQueries.sample(CITY, 1_000)).round().astype(int)


def answers(path: str, queries: int) -> Any:
    """Open a file, build Identity, and answer boxes."""
    data = snh.PrivateDataset.scan(
        path, CITY, budget=1, unit="record", n_public=True, report=silent
    )
    made = data.release(snh.Identity(), epsilon=0.5)
    return made.answer(snh.RangeQueries.sample(CITY, queries)).round().astype(int)


def limited(path: str, limit: int) -> Any:
    """Build a release of a file in a process whose memory is limited to ``limit`` bytes."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    data = snh.PrivateDataset.scan(
        path, CITY, budget=1, unit="record", n_public=True, report=silent
    )
    return data.release(snh.UniformGrid(), epsilon=0.5).n


TASKS: dict[str, Callable[..., Any]] = {
    "snhkit": by_snhkit,
    "snhkit, in memory": in_memory,
    "read_points": only_read,
    "numpy.histogram2d": by_numpy,
    "DuckDB": by_duckdb,
    "Polars": by_polars,
    "opened": opened,
    "kept in memory": kept_in_memory,
    "release": release,
    "networks": networks,
    "strata": strata,
    "width": width_error,
    "answers": answers,
    "limited": limited,
}


TOOLS = ("snhkit", "DuckDB", "Polars", "numpy.histogram2d", "snhkit, in memory")


def _small_stacks() -> None:
    resource.setrlimit(resource.RLIMIT_STACK, (2**20, 2**20))


def run(task: str, *args: object) -> dict[str, Any]:
    """Run a task in a process of its own; return seconds, peak memory in MB, and a checksum."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, __file__, "--task", json.dumps([task, *args])],
        capture_output=True,
        text=True,
        check=False,
        # RLIMIT_DATA counts reserved memory, even if unused. Arrow's allocator reserves a gigabyte,
        # and each thread 8 MB for its stack.
        env=os.environ | ({"ARROW_DEFAULT_MEMORY_POOL": "system"} if task == "limited" else {}),
        preexec_fn=_small_stacks if task == "limited" else None,
    )
    if done.returncode:
        nan = float("nan")
        return {"s": nan, "cpu": nan, "mb": nan, "sum": done.stderr.strip()[-60:]}
    return json.loads(done.stdout.splitlines()[-1])


def child(task: str, args: list[Any]) -> None:
    """Print the time and memory of a task; the time does not include imports."""
    if task in TOOLS:
        TASKS[task](str(Path(args[0]).with_name("warm.parquet")), *args[1:])
    start, busy = time.perf_counter(), time.process_time()
    found = TASKS[task](*args)
    took, busy = time.perf_counter() - start, time.process_time() - busy
    # The peak of getrusage would include the memory of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    most = int(status.split("VmHWM:")[1].split()[0]) / 1024
    counts = found() if callable(found) else found  # not timed
    told = counts if isinstance(counts, str) else checksum(counts)
    print(json.dumps({"s": took, "cpu": busy, "mb": most, "sum": told}))


def table(head: list[str], rows: Iterator[list[object]]) -> None:
    """Print a table, row by row."""
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        cells = [f"{cell:.3g}" if isinstance(cell, float) else f"{cell}" for cell in row]
        print("| " + " | ".join(cells) + " |", flush=True)


HEADS = ("s", "processor s", "MB")


def numbers(found: dict[str, Any]) -> list[str]:
    """Return seconds, core-seconds and peak memory in MB as texts."""
    return [f"{found['s']:.1f}", f"{found['cpu']:.1f}", f"{found['mb']:.0f}"]


def by_size(folder: Path, sizes: tuple[int, ...]) -> Iterator[list[object]]:
    """Yield seconds, core-seconds and peak memory of each tool, for each number of records."""
    for n in tqdm(sizes, desc="sizes", leave=False):
        path = folder / f"{n}.parquet"
        make(path, n)
        row: list[object] = [f"{n:,}"]
        for tool in TOOLS:
            if n > 10**7 and tool in ("numpy.histogram2d", "snhkit, in memory"):
                row.append("-")
                continue
            found = run(tool, str(path), CELLS)
            row.append(f"{found['s']:.2f} / {found['cpu']:.2f} s, {found['mb']:.0f} MB")
        yield row
        if n > 10**7:
            path.unlink()


def by_unit(path: Path) -> Iterator[list[object]]:
    """Yield the checksums of all ways of counting, for each unit of privacy."""
    ways = {
        "in memory": ("kept in memory",),
        "streamed": ("opened",),
        "Dask, two processes": ("opened", 2),
    }
    for unit in ("record", "user", "user-day"):
        sums = set()
        for way, (task, *rest) in ways.items():
            found = run(task, str(path), unit, *rest)
            sums.add(found["sum"])
            yield [unit, way, *numbers(found), found["sum"]]
        if len(sums) > 1:
            raise SystemExit(f"The counts for the unit {unit!r} differ between the ways.")


def by_reading(folder: Path, n: int) -> Iterator[list[object]]:
    """Yield what it takes to count the records of a file, and to read them into memory."""
    for kind in ("parquet", "csv"):
        path = folder / f"read.{kind}"
        make(path, n)
        for way, task in (("counted in the file", "snhkit"), ("read_points", "read_points")):
            found = run(task, str(path), CELLS)
            yield [f"{n:,} of {kind}", way, *numbers(found), found["sum"]]
        path.unlink()


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=1e8, help="the largest number of records")
    parser.add_argument("--folder", help="folder for the files [default: a temporary folder]")
    parser.add_argument(
        "--tables", default="size,read,cells,unit,method,strata,width,k,queries,limit"
    )
    parser.add_argument("--task", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        task, *rest = json.loads(args.task)
        child(task, rest)
        return
    wanted = args.tables.split(",")
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        middle = folder / "middle.parquet"
        n = int(min(args.most, 10**7))
        make(middle, n)
        make(folder / "warm.parquet", 1_000)
        if "size" in wanted:
            sizes = tuple(size for size in SIZES if size <= args.most)
            table(["records", *TOOLS], by_size(folder, sizes))
        if "cells" in wanted:
            runs = ([m, run("snhkit", str(middle), m)] for m in (64, 512, 2048, 8192))
            table(["cells a side", *HEADS], ([m, *numbers(r)] for m, r in runs))
        if "unit" in wanted:
            table(["unit", "way", *HEADS, "checksum"], by_unit(middle))
        for heading, task, values in (
            ("method", "release", ("ug", "identity", "ag", "privtree", "dawa", "snh", "denoised")),
            ("k", "networks", (2, 8, 16)),
            ("queries", "answers", (10**3, 10**5, 10**6)),
        ):
            if heading in wanted:
                runs = ([value, run(task, str(middle), value)] for value in values)
                table([heading, *HEADS], ([v, *numbers(r)] for v, r in runs))
        if "strata" in wanted:
            path = folder / "strata.parquet"
            make(path, int(min(args.most, 2e7)))
            pairs = (
                (run("strata", str(path), ""), run("strata", str(path), "hour")) for _ in range(3)
            )
            heads = [
                *(f"{head}, one map" for head in HEADS),
                *(f"{head}, by hour" for head in HEADS),
            ]
            table(heads, ([*numbers(one), *numbers(many)] for one, many in pairs))
            path.unlink()
        if "width" in wanted:
            runs = ([width, run("width", str(middle), width)] for width in ("chosen", 6.25, 25.0))
            rows = ([w, r["sum"], *numbers(r)] for w, r in runs)
            table(["cell_m", "mean relative error", *HEADS], rows)
        if "read" in wanted:
            table(["records", "way", *HEADS, "checksum"], by_reading(folder, n))
        if "limit" in wanted:
            path = folder / "large.csv"
            make(path, int(min(args.most, 10**8)))
            size = path.stat().st_size
            found = run("limited", str(path), size // 9)
            heads = ["file, MB", "limit, MB", *HEADS]
            table(heads, iter([[size >> 20, size // 9 >> 20, *numbers(found)]]))


if __name__ == "__main__":
    main()
