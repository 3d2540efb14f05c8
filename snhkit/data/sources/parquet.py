"""Parquet and GeoParquet files, read one row group at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from snhkit.data.sources.chunk import Block, Chunk, chunk_of
from snhkit.data.sources.columns import Layout, Rules, layout_of
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import geometry_of
from snhkit.data.sources.people import id_family
from snhkit.errors import InputError
from snhkit.untrusted import parsing

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["ParquetPart", "parquet_parts"]

MAX_BYTES = 8 * 2**30  # of the wanted columns of a row group, unpacked
_BATCH = 2**18  # rows that are decoded at a time
_BUFFER = 2**20  # bytes of a column that are read at a time
_PART = 2**22  # approximate number of rows in a part


@dataclass(frozen=True)
class ParquetPart:
    """Consecutive row groups of a Parquet file: positions, and the numbers of their first rows."""

    place: Place
    rules: Rules
    layout: Layout
    groups: tuple[int, ...]
    firsts: tuple[int, ...]
    ids: tuple[str, str] | None = None
    numbering: str = "rows count from 0"

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.place.name

    def blocks(self) -> Iterator[Block]:
        """Yield, for each row group, a function that reads and decodes its rows."""
        for group, first in zip(self.groups, self.firsts, strict=True):
            yield partial(self._chunks, group, first)

    def _chunks(self, group: int, first: int) -> Iterator[Chunk]:
        wanted = list(self.layout.columns.values())
        with parsing(self.name, "Parquet"), _opened(self.place) as file:
            for batch in file.iter_batches(_BATCH, [group], wanted, use_threads=False):
                columns = {r: batch.column(name) for r, name in self.layout.columns.items()}
                yield chunk_of(self.name, columns, self.layout, self.rules, first)
                first += batch.num_rows


def parquet_parts(place: Place, rules: Rules) -> list[ParquetPart]:
    """Divide a Parquet file into parts of whole row groups, and find the columns to read."""
    with parsing(place.name, "Parquet"), _opened(place) as file:
        schema, about = file.schema_arrow, file.metadata
        geometry = geometry_of(place.name, schema) if rules.point is None else None
        layout = layout_of(place.name, schema.names, rules, geometry)
        wanted = list(layout.columns.values())
        for name in wanted:
            if schema.names.count(name) > 1:
                raise InputError(
                    f"{place.name}: two columns are called {name!r}; rename one and write the file "
                    "again."
                )
        ids = None
        if (user := layout.columns.get("user")) is not None:
            kind = schema.field(user).type
            ids = id_family(kind), str(kind)
        _refuse_size(place.name, file, wanted)
        rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    first = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)]).tolist()
    parts, groups = [], list[int]()
    for group, count in enumerate(rows):
        groups.append(group)
        if first[group] + count - first[groups[0]] >= _PART or group == len(rows) - 1:
            firsts = tuple(first[g] for g in groups)
            parts.append(ParquetPart(place, rules, layout, tuple(groups), firsts, ids))
            groups = []
    return parts or [ParquetPart(place, rules, layout, (), (), ids)]


def _refuse_size(source: str, file: "pq.ParquetFile", wanted: list[str]) -> None:
    about = file.metadata
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


def _opened(place: Place) -> "pq.ParquetFile":
    import pyarrow.parquet as pq

    return pq.ParquetFile(place.open(), buffer_size=_BUFFER, pre_buffer=False)
