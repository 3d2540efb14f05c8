"""Arrays, frames and tables in memory, and .npy files, as Arrow columns in blocks of rows."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from snhkit.checks import refuse_no_crs
from snhkit.data.sources.chunk import Blocks, Part, Rows, blocks_of
from snhkit.data.sources.columns import MAX_COLUMNS, Layout, Rules, layout_of, layout_of_schema
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry
from snhkit.errors import InputError
from snhkit.untrusted import parsing

_BATCH = 2**18  # rows at a time
_WHAT = {"user": "user ids", "time": "times", "point": "points"}


def array_parts(place: Place, rules: Rules) -> list[Part]:
    """Open a .npy file, and find the columns to read."""
    part = _array_part(place.name, _mapped(place), rules)
    return [replace(part, read=partial(_mapped_blocks, place, rules), kind=".npy")]


def _mapped(place: Place) -> NDArray:
    """Map a .npy file into memory, which checks the declared shape against the size."""
    if place.system:
        raise InputError(
            f"{place.name}: copy the file to this machine; .npy is read from disks only."
        )
    with parsing(place.name, ".npy"):
        return np.lib.format.open_memmap(place.path, mode="r")


def _mapped_blocks(place: Place, rules: Rules) -> Blocks:
    return _array_part(place.name, _mapped(place), rules).read()


def object_part(source: Any, rules: Rules) -> Part:
    """Return an array, a frame or table of any library, or an Arrow stream as one part."""
    if isinstance(source, np.ndarray):
        return _array_part("the array", source, rules)
    return (_pandas_part if isinstance(source, pd.DataFrame) else _stream_part)(source, rules)


def _array_part(name: str, array: NDArray, rules: Rules) -> Part:
    names = list(array.dtype.names or ())
    if names:
        array = array.reshape(-1)
    elif array.ndim != 2 or array.shape[1] < 2:
        raise InputError(
            f"{name}: the array must have shape (n, 2), with columns latitude and "
            f"longitude, not {array.shape}."
        )
    else:
        width = array.shape[1]
        if width > MAX_COLUMNS:
            raise InputError(f"{name}: it has {width:,} columns; at most {MAX_COLUMNS:,} are read.")
        if width == 2:
            rules = replace(rules, lat=0 if rules.lat is None else rules.lat,
                            lon=1 if rules.lon is None else rules.lon)  # fmt: skip
        if rules.lat is None or rules.lon is None:
            raise InputError(
                f"{name}: it has {width:,} columns without names; say which are latitude and "
                "longitude: lat=0, lon=1 (and perhaps user=2)."
            )
    layout = layout_of(name, names or [str(i) for i in range(array.shape[1])], rules)
    columns = {role: array[names[at]] if names else array[:, at] for role, at in layout.roles}
    for role in {"lat", "lon"} & columns.keys():
        if columns[role].ndim != 1 or columns[role].dtype.kind not in "fiuO":
            raise InputError(
                f"{name}: latitude and longitude must be numbers, not {columns[role].dtype}."
            )
    return _sliced(name, rules, layout, columns, len(array))


def _pandas_part(frame: pd.DataFrame, rules: Rules) -> Part:
    import geopandas as gpd

    name, geometry = "the frame", None
    wants_columns = rules.lat is not None or rules.lon is not None or rules.point is not None
    if isinstance(frame, gpd.GeoDataFrame) and not wants_columns:
        if frame.active_geometry_name is None:
            raise InputError(
                f"{name}: the frame has no active geometry; choose one with set_geometry."
            )
        refuse_no_crs(frame)
        system: Any = frame.crs
        crs = "" if system == "EPSG:4326" else system.to_json()
        geometry = Geometry(str(frame.active_geometry_name), "WKB", crs, how="")
    layout = layout_of(name, list(frame.columns), rules, geometry)
    columns = {role: frame.iloc[:, at] for role, at in layout.roles}
    part = _sliced(name, rules, layout, columns, len(frame))
    return replace(part, numbering="rows count from 0, as by iloc")


def _sliced(
    name: str, rules: Rules, layout: Layout, columns: Mapping[str, NDArray | pd.Series], n: int
) -> Part:
    """Return columns of n rows in memory as one part."""

    def arrow(role: str, start: int, end: int) -> pa.Array:
        column: Any = columns[role]
        return _arrow(name, role, getattr(column, "iloc", column)[start:end])

    def value(start: int, row: int, role: str) -> object:
        column: Any = columns[role]
        found = getattr(column, "iloc", column)[start + row]
        return found.tolist() if isinstance(found, (np.generic, np.ndarray)) else found

    def read() -> Blocks:
        for start in range(0, n, _BATCH):
            rows = {role: arrow(role, start, start + _BATCH) for role in columns}
            yield partial(iter, [Rows(rows, start, value=partial(value, start))])

    if "user" in columns:
        with parsing(name, "a frame"):
            layout = layout.with_ids(arrow("user", 0, 1).type)
    return Part(name, rules, layout, read)


def _arrow(name: str, role: str, part: Any) -> pa.Array:
    """Return an array or a series as an Arrow array."""
    if role == "geometry":
        part = part.to_wkb()
    if isinstance(part.dtype, pd.CategoricalDtype):
        values = _arrow(name, role, pd.Series(part.cat.categories))
        codes = part.cat.codes.to_numpy()
        indices = pa.array(codes, pa.int32(), mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, values)
    if not isinstance(part.dtype, np.dtype):
        found: Any = pa.array(part, from_pandas=True)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    plain = part if isinstance(part, np.ndarray) else part.to_numpy()
    mask = np.ma.getmaskarray(plain) if np.ma.isMaskedArray(plain) else None
    plain = np.ma.getdata(plain)
    if plain.dtype.kind == "O":
        with parsing(name, _WHAT.get(role, "numbers")):
            if role in ("lat", "lon"):
                plain = pd.to_numeric(pd.Series(plain, dtype=object), errors="coerce")
                return pa.array(np.asarray(plain, np.float64), from_pandas=True)
            return _from_ids(plain) if role == "user" else pa.array(plain, from_pandas=True)
    if plain.dtype.kind == "f" and plain.dtype.itemsize > 8:
        plain = plain.astype(np.float64)
    plain = np.ascontiguousarray(plain.astype(plain.dtype.newbyteorder("="), copy=False))
    return pa.array(plain, mask=mask, from_pandas=plain.dtype.kind == "f")


def _from_ids(values: NDArray) -> pa.Array:
    """Return user ids of one type, or numbers and texts as texts; refuse other mixtures."""
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


def _stream_part(source: Any, rules: Rules) -> Part:
    """Return a dataset, a frame of narwhals, or an Arrow stream as one part."""
    import narwhals as nw
    import pyarrow.dataset as ds

    known: Any = nw.from_native(source, pass_through=True)
    narwhal = isinstance(known, (nw.DataFrame, nw.LazyFrame)) and not isinstance(source, pa.Table)
    dataset = isinstance(source, ds.Dataset)
    if not (narwhal or dataset or hasattr(source, "__arrow_c_stream__")):
        raise InputError(
            "a path, a list of paths, an array or a data frame is needed, not "
            f"{type(source).__name__}."
        )
    eager = narwhal and isinstance(known, nw.DataFrame)
    name = "the frame" if eager else "the dataset"
    layout: Any = None
    with parsing(name, "a frame"):
        if narwhal:
            kinds = known.collect_schema()
            layout = layout_of(name, list(kinds.names()), rules)
            columns = [
                nw.col(one).cast(nw.String) if "Int128" in str(kinds[one]) else nw.col(one)
                for one in layout.columns.values()
            ]
            source = known.select(columns).to_native()
            if not hasattr(source, "__arrow_c_stream__"):
                if not eager:
                    raise InputError(f"{name}: the frame is lazy; pass frame.collect().")
                source = known.select(columns).to_arrow()  # pyright: ignore
        else:
            there = source if dataset else pa.RecordBatchReader.from_stream(source)
            layout = layout_of_schema(name, there.schema, rules)

    def batches() -> Iterator[pa.RecordBatch]:
        if dataset:
            return source.to_batches(
                columns=list(layout.columns.values()), batch_readahead=2, fragment_readahead=1
            )
        return iter(pa.RecordBatchReader.from_stream(source))

    def read() -> Blocks:
        return blocks_of(
            {role: piece.column(name) for role, name in layout.columns.items()}
            for batch in batches()
            for start in range(0, batch.num_rows, _BATCH)
            for piece in (batch.slice(start, _BATCH),)
        )

    return Part(name, rules, layout, read)
