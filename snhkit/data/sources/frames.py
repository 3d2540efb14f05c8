"""Arrays, frames and tables in memory, and .npy files, as Arrow columns in blocks of rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from snhkit.data.sources.chunk import Block, Chunk, chunk_of
from snhkit.data.sources.columns import Layout, Rules, layout_of
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry, geometry_of
from snhkit.data.sources.people import id_family
from snhkit.errors import InputError
from snhkit.untrusted import parsing

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["ArrayFile", "ObjectPart", "array_file", "object_part"]

_BATCH = 2**18  # rows at a time
_MAX_COLUMNS = 10_000

Columns = "Mapping[str, pa.Array]"
Value = Callable[[int, str], object]


@dataclass(frozen=True, eq=False)
class ObjectPart:
    """Rows of an object in memory.

    ``read`` yields the columns of each block of rows by role, and a function that returns a value
    for messages, or None.
    """

    name: str
    rules: Rules
    layout: Layout
    numbering: str
    ids: tuple[str, str] | None
    read: Callable[[], Iterator[tuple[Any, Value | None]]]

    def blocks(self) -> Iterator[Block]:
        """Yield, for each block of rows, a function that decodes the rows."""
        first = 0
        with parsing(self.name, "a frame"):
            for columns, value in self.read():
                yield partial(self._chunks, columns, value, first)
                first += len(next(iter(columns.values())))

    def _chunks(self, columns: Any, value: Value | None, first: int) -> Iterator[Chunk]:
        with parsing(self.name, "a frame"):
            yield chunk_of(self.name, columns, self.layout, self.rules, first, value=value)


@dataclass(frozen=True)
class ArrayFile:
    """A .npy file, which is mapped into memory; this checks the declared shape against the size."""

    place: Place
    rules: Rules
    layout: Layout
    ids: tuple[str, str] | None
    numbering: str = "rows count from 0"

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.place.name

    def blocks(self) -> Iterator[Block]:
        """Yield, for each block of rows, a function that decodes the rows."""
        yield from _array_part(self.name, _mapped(self.place), self.rules).blocks()


def array_file(place: Place, rules: Rules) -> ArrayFile:
    """Open a .npy file, and find the columns to read."""
    part = _array_part(place.name, _mapped(place), rules)
    return ArrayFile(place, rules, part.layout, part.ids)


def _mapped(place: Place) -> NDArray:
    if place.system:
        raise InputError(
            f"{place.name}: copy the file to this machine; .npy is read from disks only."
        )
    with parsing(place.name, ".npy"):
        return np.lib.format.open_memmap(place.path, mode="r")


def object_part(source: Any, rules: Rules) -> ObjectPart:
    """Return an array, a frame or table of any library, or an Arrow stream as one part.

    Raises
    ------
    InputError
        If the object is none of these or lazy, or its columns are not found.
    """
    import pandas as pd
    import pyarrow.dataset as ds

    if isinstance(source, np.ndarray):
        return _array_part("the array", source, rules)
    if isinstance(source, pd.DataFrame):
        return _pandas_part(source, rules)
    if isinstance(source, ds.Dataset):
        return _dataset_part(source, rules)
    return _stream_part(source, rules)


def _array_part(name: str, array: NDArray, rules: Rules) -> ObjectPart:
    fields = array.dtype.names
    if fields:
        array = array.reshape(-1)
        names = list(fields)
    else:
        if array.ndim != 2 or array.shape[1] < 2:
            raise InputError(
                f"{name}: the array must have shape (n, 2), with columns latitude and "
                f"longitude, not {array.shape}."
            )
        width = array.shape[1]
        if width > _MAX_COLUMNS:
            raise InputError(
                f"{name}: it has {width:,} columns; at most {_MAX_COLUMNS:,} are read."
            )
        if width == 2:
            rules = replace(rules, lat=0 if rules.lat is None else rules.lat,
                            lon=1 if rules.lon is None else rules.lon)  # fmt: skip
        if rules.lat is None or rules.lon is None:
            raise InputError(
                f"{name}: it has {width:,} columns without names; say which are latitude and "
                "longitude: lat=0, lon=1 (and perhaps user=2)."
            )
        names = [str(i) for i in range(width)]
    layout = layout_of(name, names, rules)
    columns = {role: array[fields[at]] if fields else array[:, at] for role, at in layout.roles}
    for role in ("lat", "lon"):
        if role in columns and (columns[role].ndim != 1 or columns[role].dtype.kind not in "fiuO"):
            raise InputError(
                f"{name}: latitude and longitude must be numbers, not {columns[role].dtype}."
            )

    def read() -> Iterator[tuple[Any, Value | None]]:
        for start in range(0, len(array), _BATCH):
            rows = {role: column[start : start + _BATCH] for role, column in columns.items()}
            yield {role: _from_numpy(role, part) for role, part in rows.items()}, None

    ids = None
    if "user" in columns:
        ids = _ids(name, _from_numpy("user", columns["user"][:1]).type)
    return ObjectPart(name, rules, layout, "rows count from 0", ids, read)


def _from_numpy(role: str, column: NDArray) -> "pa.Array":
    import pyarrow as pa

    mask = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    plain = np.ma.getdata(column)
    if plain.dtype.kind == "O":
        return _from_objects(role, plain)
    if plain.dtype.kind == "f" and plain.dtype.itemsize > 8:
        plain = plain.astype(np.float64)
    plain = np.ascontiguousarray(plain.astype(plain.dtype.newbyteorder("="), copy=False))
    return pa.array(plain, mask=mask, from_pandas=plain.dtype.kind == "f")


def _pandas_part(frame: "pd.DataFrame", rules: Rules) -> ObjectPart:
    import geopandas as gpd

    name, geometry = "the frame", None
    wants_columns = rules.lat is not None or rules.lon is not None or rules.point is not None
    if isinstance(frame, gpd.GeoDataFrame) and not wants_columns:
        if frame.active_geometry_name is None:
            raise InputError(
                f"{name}: the frame has no active geometry; choose one with set_geometry."
            )
        if frame.crs is None:
            raise InputError(
                f"{name}: the frame has no CRS, so the unit of its coordinates is "
                "unknown; if they are degrees, set the CRS with set_crs(4326)."
            )
        crs = "" if frame.crs == "EPSG:4326" else frame.crs.to_json()
        geometry = Geometry(str(frame.active_geometry_name), "WKB", crs, how="")
    layout = layout_of(name, list(frame.columns), rules, geometry)

    def column(role: str, at: int, start: int, end: int) -> "pa.Array":
        part = frame.iloc[start:end, at]
        return _from_series(name, role, part.to_wkb() if role == "geometry" else part)

    def read() -> Iterator[tuple[Any, Value | None]]:
        for start in range(0, len(frame), _BATCH):
            rows = {r: column(r, at, start, start + _BATCH) for r, at in layout.roles}
            at = dict(layout.roles)

            def value(row: int, role: str, start: int = start, at: dict = at) -> object:
                return frame.iat[start + row, at[role]] if role in at else None

            yield rows, None if geometry is not None or "point" in at else value

    ids = None
    if (at := dict(layout.roles).get("user")) is not None:
        ids = _ids(name, column("user", at, 0, 1).type)
    return ObjectPart(name, rules, layout, "rows count from 0, as by iloc", ids, read)


def _from_series(name: str, role: str, part: "pd.Series") -> "pa.Array":
    import pandas as pd
    import pyarrow as pa

    if isinstance(part.dtype, pd.CategoricalDtype):
        values = _from_series(name, role, pd.Series(part.cat.categories))
        codes = part.cat.codes.to_numpy()
        indices = pa.array(codes, pa.int32(), mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, values)
    if part.dtype == object:
        with parsing(name, "user ids" if role == "user" else "numbers"):
            return _from_objects(role, part.to_numpy())
    if isinstance(part.dtype, np.dtype):
        return _from_numpy(role, part.to_numpy())
    found: Any = pa.array(part, from_pandas=True)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _from_objects(role: str, values: NDArray) -> "pa.Array":
    import pandas as pd
    import pyarrow as pa

    if role in ("lat", "lon"):
        numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
        return pa.array(np.asarray(numbers, np.float64), from_pandas=True)
    if role == "user":
        return _from_ids(values)
    return pa.array(values, from_pandas=True)


def _from_ids(values: NDArray) -> "pa.Array":
    """Return user ids of one type, or numbers and texts as texts; refuse other mixtures."""
    import pyarrow as pa

    known = [None if v is None or v != v else v for v in values.tolist()]  # nan is missing
    kinds: dict[str, object] = {}
    for value in known:
        if value is not None:
            kinds.setdefault(_kind(value), value)
    if set(kinds) == {"number", "text"}:
        return pa.array([None if v is None else str(v) for v in known], pa.string())
    if len(kinds) > 1:
        told = " and ".join(f"{kind} ({str(value)[:40]!r})" for kind, value in kinds.items())
        raise InputError(
            f"user ids are of mixed types: {told}; one person may have ids of both. "
            "Convert the column to one type, as in frame['user'].astype(str)."
        )
    if "UUID" in kinds:
        return pa.array([None if v is None else v.bytes for v in known], pa.binary())
    try:
        return pa.array(known)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # such as whole numbers and decimals
        if set(kinds) != {"number"}:
            raise
        return pa.array([None if v is None else str(v) for v in known], pa.string())


def _kind(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true or false"
    if isinstance(value, (Real, Decimal)):
        return "number"
    if isinstance(value, UUID):
        return "UUID"
    return {str: "text", bytes: "bytes"}.get(type(value), type(value).__name__)


def _dataset_part(source: Any, rules: Rules) -> ObjectPart:
    name = "the dataset"
    geometry = geometry_of(name, source.schema) if rules.point is None else None
    layout = _single(name, layout_of(name, source.schema.names, rules, geometry))

    def read() -> Iterator[tuple[Any, Value | None]]:
        wanted = list(layout.columns.values())
        for batch in source.to_batches(
            columns=wanted, batch_size=_BATCH, batch_readahead=2, fragment_readahead=1
        ):
            if batch.num_rows:
                yield {role: batch.column(at) for at, role in enumerate(layout.columns)}, None

    ids = None
    if (user := layout.columns.get("user")) is not None:
        ids = _ids(name, source.schema.field(user).type)
    return ObjectPart(name, rules, layout, "rows count from 0", ids, read)


def _stream_part(source: Any, rules: Rules) -> ObjectPart:
    """Return an object that narwhals knows or that has Arrow's C stream interface as one part."""
    import narwhals as nw
    import pyarrow as pa

    known: Any = nw.from_native(source, pass_through=True)
    narwhal = isinstance(known, (nw.DataFrame, nw.LazyFrame))
    if not narwhal and not hasattr(source, "__arrow_c_stream__"):
        raise InputError(
            "a path, a list of paths, an array or a data frame is needed, not "
            f"{type(source).__name__}."
        )
    eager = isinstance(known, nw.DataFrame)
    name = "the frame" if eager and not isinstance(source, pa.Table) else "the dataset"
    with parsing(name, "a frame"):
        schema = None
        if not narwhal or isinstance(source, pa.Table):
            schema = pa.RecordBatchReader.from_stream(source).schema
            names, geometry = schema.names, None
            if rules.point is None:
                geometry = geometry_of(name, schema)
        else:
            names, geometry = list(known.collect_schema().names()), None
        layout = _single(name, layout_of(name, names, rules, geometry))
        if narwhal:
            kinds = known.collect_schema()
            columns = [
                nw.col(one).cast(nw.String) if "Int128" in str(kinds[one]) else nw.col(one)
                for one in layout.columns.values()
            ]
            source = known.select(columns).to_native()
            if not hasattr(source, "__arrow_c_stream__"):
                if not eager:
                    raise InputError(f"{name}: the frame is lazy; pass frame.collect().")
                source = known.select(columns).to_arrow()
        schema = pa.RecordBatchReader.from_stream(source).schema

    def read() -> Iterator[tuple[Any, Value | None]]:
        at = {role: i for i, role in enumerate(layout.columns)} if narwhal else dict(layout.roles)
        for batch in pa.RecordBatchReader.from_stream(source):
            for start in range(0, batch.num_rows, _BATCH):
                rows = batch.slice(start, _BATCH)
                yield {role: rows.column(i) for role, i in at.items()}, None

    ids = None
    if (user := layout.columns.get("user")) is not None:
        ids = _ids(name, schema.field(user).type)
    return ObjectPart(name, rules, layout, "rows count from 0", ids, read)


def _single(name: str, layout: Layout) -> Layout:
    for column in layout.columns.values():
        if layout.names.count(column) > 1:
            raise InputError(f"{name}: two columns are called {column!r}; rename one.")
    return layout


def _ids(name: str, kind: "pa.DataType") -> tuple[str, str]:
    try:
        return id_family(kind), str(kind)
    except InputError as refusal:
        raise InputError(f"{name}: {refusal}") from None
