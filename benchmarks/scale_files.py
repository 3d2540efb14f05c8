"""The files of synthetic points that ``benchmarks/scale.py`` reads."""

from pathlib import Path

import numpy as np

import snhkit as snh

CITY = snh.Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
STEP = 2_000_000


def make(path: Path, n: int, seed: int = 1) -> None:
    """Write n points around 200 positions, with users and times, as Parquet or CSV.

    The suffix of ``path`` determines the format.
    """
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(seed), None
    south, west, north, east = CITY.bounds
    spots = rng.random((200, 2))
    for start in range(0, n, STEP):
        k = min(STEP, n - start)
        at = spots[rng.integers(0, 200, k)] + rng.normal(0, 0.03, (k, 2))
        day = rng.integers(0, 30, k)
        columns = {
            "lat": south + at[:, 0] * (north - south),
            "lon": west + at[:, 1] * (east - west),
            "user": rng.integers(0, max(n // 20, 1), k),
            "time": (1_790_000_000 + 86_400 * day + rng.integers(0, 86_400, k)).astype(np.int64),
        }
        if start == 0:
            columns["lat"][::1_000] = np.nan  # real files have some unusable rows
        table = pa.table(columns)
        if writer is None:
            new = pq.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
            writer = new(path, table.schema)
        if path.suffix == ".parquet":
            writer.write_table(table, row_group_size=1_000_000)
        else:
            writer.write_table(table)
    assert writer is not None
    writer.close()
