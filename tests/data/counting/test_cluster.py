"""Two workers of a Dask cluster count what this process counts, and records stay where they are."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from snhkit.data.counting.passes import Cluster
from snhkit.data.counting.scan import Scan
from snhkit.data.sources.columns import rules_of
from snhkit.data.sources.opening import open_source
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import Grid, Partition, RangeQueries, Region

pytest.importorskip("distributed")

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
N = 40_000


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    lat, lon = CITY.to_latlon(rng.random((N, 2)) * 14_000 - 400)
    lat[[5, 20_001]] = np.nan
    start = np.datetime64("2026-11-01", "us")
    seconds = (rng.integers(0, 4 * 86_400, N) * 1_000_000).astype("timedelta64[us]")
    frame = pd.DataFrame({"user": rng.integers(0, 900, N), "lat": lat, "lon": lon})
    folder = tmp_path_factory.mktemp("trips")
    frame["time"] = start + seconds
    for at in range(8):
        frame[at * 5_000 : (at + 1) * 5_000].to_parquet(folder / f"{at}.parquet")
    return folder


def scan(path, client, report=lambda told: None, **rules):
    source = open_source(path, rules_of(**rules))
    return Scan(source, CITY, report, None if client is None else Cluster(client, source))


def streamed(path, report, client=None):
    return scan(path, client, report).all()


def sent(client):
    """The bytes that workers sent to each other and to the scheduler."""

    def of(dask_worker):
        return dask_worker.transfer_outgoing_bytes_total

    return sum(client.run(of).values())


def test_counts_are_equal_and_points_never_move(path, client):
    told, expected = [], []
    here, there = streamed(path, expected.append), streamed(path, told.append, client)
    assert str(told[0]) == str(expected[0])
    cells = Partition.split(Grid(CITY, 5), np.arange(1, 26).reshape(5, 5))
    for what in (Grid(CITY, 30), Grid(CITY, 64), cells):
        assert (there.count(what).counts == here.count(what).counts).all()
    boxes = RangeQueries.sample(CITY, 9)
    assert (there.boxes(boxes) == here.boxes(boxes)).all()
    before = sent(client)
    there.count(Grid(CITY, 30))
    moved = sent(client) - before
    assert moved < 20 * 30**2 * 8 < N * 16  # counts of a few tasks; all points are far more


def test_a_worker_that_dies_changes_nothing(path, client):
    import os
    import signal
    import threading
    import time

    here = streamed(path, lambda told: None)
    there = streamed(path, lambda told: None, client)
    workers = client.run(os.getpid)
    boxes = RangeQueries.sample(CITY, 60_000)
    killed = threading.Event()

    def kill():
        while not any(client.processing().values()):
            time.sleep(0.01)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    counts = there.boxes(boxes)
    thread.join()
    assert killed.is_set()
    assert (counts == here.boxes(boxes)).all()


def test_a_lost_scheduler_is_told_in_one_line(path, monkeypatch):
    class Lost:
        scheduler = None

        def scheduler_info(self, n_workers):
            return {"workers": {}}

        def get_executor(self, **options):
            from distributed.client import FutureCancelledError

            raise FutureCancelledError("count", "scheduler-connection-lost")

    with pytest.raises(SnhkitError, match="the Dask scheduler was lost before the counts") as told:
        streamed(path, lambda told: None, Lost())
    assert "\n" not in str(told.value)


def test_what_only_this_process_has_is_refused():
    table = pa.table({"lat": [37.76], "lon": [-122.43]})
    with pytest.raises(InputError, match="exists in this process only, so workers cannot read it"):
        streamed(table, lambda told: None, object())
