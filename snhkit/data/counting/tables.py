"""Arrow datasets and DuckDB relations, read one batch of rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from snhkit.data.counting.chunk import Block, Chunk, Rules, chunk_of, refuse_unknown_filters
from snhkit.data.reading.columns import find_column, find_columns
from snhkit.data.reading.table import parsing
from snhkit.errors import InputError

__all__ = ["TablePart", "is_table", "table_part"]

_BATCH = 2**18  # rows at a time


@dataclass(frozen=True)
class TablePart:
    """An Arrow dataset or a DuckDB relation as a single ``Part``.

    Parameters
    ----------
    table : pyarrow.dataset.Dataset, pyarrow.Table or duckdb.DuckDBPyRelation
        The rows, which must be the same each time they are read.
    rules : Rules
        The columns to read and the filters of rows.
    roles : tuple of (str, str)
        Pairs of a role ("lat", "lon", "user" or "time") and the name of its column.
    """

    table: Any
    rules: Rules
    roles: tuple[tuple[str, str], ...]
    name: str = "the dataset"

    def blocks(self) -> Iterator[Block]:
        """Yield, for each batch of rows, a function that decodes the rows."""
        first = 0
        with parsing(self.name, "a dataset"):
            for batch in self._batches():
                if batch.num_rows:
                    yield partial(self._chunks, batch, first)
                first += batch.num_rows

    def _batches(self) -> Iterator[Any]:
        columns = [column for _, column in self.roles]
        if _is_relation(self.table):
            quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
            yield from self.table.project(", ".join(quoted)).to_arrow_reader(_BATCH)
            return
        yield from self.table.to_batches(
            columns=columns, batch_size=_BATCH, batch_readahead=2, fragment_readahead=1
        )

    def _chunks(self, batch: Any, first: int) -> Iterator[Chunk]:
        import pyarrow as pa

        found = {
            role: pa.chunked_array([batch.column(at)]) for at, (role, _) in enumerate(self.roles)
        }

        def value(row: int, role: str) -> object:
            return found[role][row].as_py() if role in found else None

        with parsing(self.name, "a dataset"):
            yield chunk_of(self.name, found, self.rules, lambda row: first + row, value)


def is_table(source: object) -> bool:
    """Return whether an object is an Arrow dataset, an Arrow table or a DuckDB relation."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    return isinstance(source, (ds.Dataset, pa.Table)) or _is_relation(source)


def table_part(source: Any, rules: Rules) -> tuple[TablePart, str]:
    """Return an Arrow dataset, an Arrow table or a DuckDB relation as one part.

    Returns
    -------
    part : TablePart
        All rows.
    swap : str
        The advice to give if latitude and longitude turn out to be swapped.

    Raises
    ------
    InputError
        If a column is not found, or several columns have its name.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, pa.Table):
        source = ds.dataset(source)
    names = list(source.columns if _is_relation(source) else source.schema.names)
    at = find_columns(TablePart.name, names, rules.lat, rules.lon, rules.user)
    roles = {"lat": names[at.lat], "lon": names[at.lon]}
    if at.user is not None and (rules.people or rules.user is not None):
        roles["user"] = names[at.user]
    if rules.time is not None:
        roles["time"] = names[find_column(TablePart.name, names, "time", rules.time)]
    refuse_unknown_filters(rules, roles)
    for name in roles.values():
        if names.count(name) > 1:
            raise InputError(f"{TablePart.name}: two columns are called {name!r}; rename one.")
    part = TablePart(source, rules, tuple(roles.items()))
    return part, f"pass lat={roles['lon']!r}, lon={roles['lat']!r}"


def _is_relation(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyRelation" and hasattr(source, "to_arrow_reader")
