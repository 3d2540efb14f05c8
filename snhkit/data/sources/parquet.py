"""Parquet and GeoParquet files, read one row group at a time."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from snhkit.data.sources.chunk import Part, Rows
from snhkit.data.sources.columns import Layout, Rules, layout_of_schema
from snhkit.data.sources.files import Place
from snhkit.errors import InputError
from snhkit.untrusted import parsing, unpacked_bytes

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["parquet_parts"]

MAX_BYTES = 8 * 2**30  # of the wanted columns of a row group, unpacked
_BATCH = 2**18  # rows that are decoded at a time
_BATCH_BYTES = 2**30
_BUFFER = 2**20  # bytes of a column that are read at a time
_PART = 2**22  # approximate number of rows in a part


def parquet_parts(place: Place, rules: Rules) -> list[Part]:
    """Divide a Parquet file into parts of whole row groups, and find the columns to read."""
    with parsing(place.name, "Parquet"), _opened(place) as file:
        layout = layout_of_schema(place.name, file.schema_arrow, rules)
        leaves = _leaves(place.name, file, layout)
        about = file.metadata
        rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    first = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)]).tolist()
    parts, groups = [], list[tuple[int, int]]()
    for group, count in enumerate(rows):
        groups.append((group, first[group]))
        if first[group] + count - groups[0][1] >= _PART or group == len(rows) - 1:
            parts.append(_part(place, rules, layout, leaves, groups))
            groups = []
    return parts or [_part(place, rules, layout, leaves, [])]


def _part(
    place: Place, rules: Rules, layout: Layout, leaves: list[str], groups: list[tuple[int, int]]
) -> Part:
    read = partial(_blocks, place, layout, leaves, groups)
    return Part(place.name, rules, layout, read, "Parquet")


def _blocks(
    place: Place, layout: Layout, leaves: list[str], groups: list[tuple[int, int]]
) -> Iterator[Callable[[], Iterator[Rows]]]:
    """Yield a function for each row group, given with the number of its first row."""
    for group, first in groups:
        yield partial(_rows, place, layout, leaves, group, first)


def _rows(
    place: Place, layout: Layout, leaves: list[str], group: int, first: int
) -> Iterator[Rows]:
    """Yield the rows of a group; texts stay in dictionaries until their size is known."""
    wanted = list(layout.columns.values())
    with _opened(place, leaves) as file:
        for batch in file.iter_batches(_BATCH, [group], wanted, use_threads=False):
            if (size := sum(map(unpacked_bytes, batch.columns))) > _BATCH_BYTES:
                raise InputError(
                    f"{place.name}: rows {first:,} to {first + batch.num_rows - 1:,} unpack to "
                    f"{size:,} bytes; at most {_BATCH_BYTES:,} are read."
                )
            yield Rows({role: batch.column(name) for role, name in layout.columns.items()}, first)
            first += batch.num_rows


def _leaves(source: str, file: "pq.ParquetFile", layout: Layout) -> list[str]:
    """Return the paths of the wanted columns; raise InputError if one unpacks to too much."""
    about, wanted = file.metadata, layout.columns.values()
    leaves = [
        i for i in range(len(file.schema)) if file.schema.column(i).path.split(".")[0] in wanted
    ]
    for group in range(about.num_row_groups):
        columns = about.row_group(group)
        size = sum(columns.column(leaf).total_uncompressed_size for leaf in leaves)
        if size > MAX_BYTES:
            raise InputError(
                f"{source}: the columns of row group {group} unpack to {size:,} bytes; at most "
                f"{MAX_BYTES:,} are read. Write the file with smaller row groups."
            )
    return [file.schema.column(leaf).path for leaf in leaves]


def _opened(place: Place, texts: list[str] | None = None) -> "pq.ParquetFile":
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        place.open(), read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False
    )
