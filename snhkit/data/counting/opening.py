"""Opening of the files, Arrow datasets or DuckDB relations whose rows are counted."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from snhkit.data.counting.chunk import Part, Rules, Source
from snhkit.data.counting.parquet import parquet_parts
from snhkit.data.counting.places import Place, find_places
from snhkit.data.counting.tables import is_table, table_part
from snhkit.data.counting.texts import text_parts
from snhkit.errors import InputError

__all__ = ["open_source"]

_UNKNOWN_SIZE = 2**32  # bytes, assumed for a source whose size is unknown


@dataclass(frozen=True)
class _Opened:
    """A ``Source`` of rows that has been opened."""

    name: str
    numbering: str
    swap: str
    parts: Sequence[Part]
    places: tuple[Place, ...]

    @property
    def size(self) -> int:
        return sum(place.size for place in self.places) or _UNKNOWN_SIZE

    def refuse_changed(self) -> None:
        for place in self.places:
            place.refuse_changed()


def open_source(source: Any, rules: Rules) -> Source:
    """Open files, a dataset or a relation as a ``Source`` of rows, and find the columns to read.

    Parameters
    ----------
    source : str, path, sequence of these, Dataset, Table or DuckDBPyRelation
        Parquet, GeoParquet, CSV or TSV files: their paths, a folder, a pattern such as
        ``trips/*.csv``, or an address such as ``s3://bucket/trips``. Or an Arrow dataset, an Arrow
        table, or a DuckDB relation.
    rules : Rules
        The columns to read and the filters of rows.

    Raises
    ------
    InputError
        If the source cannot be opened, or its columns are not found.
    """
    if isinstance(source, (str, os.PathLike, list, tuple)):
        name, places = find_places(source)
        if places[0].kind == ".parquet":
            parts, swap = parquet_parts(places, rules)
            numbering = "rows count from 0"
        else:
            parts, swap, numbering = text_parts(places, rules)
        if len(places) > 1:
            numbering += ", in each file"
        return _Opened(name, numbering, swap, parts, tuple(places))
    if is_table(source):
        part, swap = table_part(source, rules)
        return _Opened(part.name, "rows count from 0", swap, [part], ())
    raise InputError(
        "scan: the source must be a path, a list of paths, an Arrow dataset or table, or a "
        f"DuckDB relation, not {type(source).__name__}; for other data in memory, pass the "
        "result of read_points to PrivateDataset."
    )
