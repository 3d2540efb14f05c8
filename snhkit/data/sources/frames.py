"""Arrays, frames and tables in memory, and .npy files, as Arrow columns in blocks of rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from snhkit.data.sources.chunk import Part, Rows
from snhkit.data.sources.columns import Layout, Rules, layout_of, layout_of_schema
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry
from snhkit.errors import InputError
from snhkit.untrusted import parsing

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["array_parts", "object_part"]

_BATCH = 2**18  # rows at a time
_MAX_COLUMNS = 10_000
_WHAT = {"user": "user ids", "time": "times", "point": "points"}
_Blocks = Iterator[Callable[[], Iterator[Rows]]]


def _blocks(batches: "Iterator[Mapping[str, pa.Array]]") -> _Blocks:
    """Yield each batch of columns by role as a block."""
    first = 0
    for columns in batches:
        yield partial(iter, [Rows(columns, first)])
        first += len(next(iter(columns.values())))


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


def _mapped_blocks(place: Place, rules: Rules) -> _Blocks:
    yield from _array_part(place.name, _mapped(place), rules).read()


def object_part(source: Any, rules: Rules) -> Part:
    """Return an array, a frame or table of any library, or an Arrow stream as one part."""
    import pandas as pd
    import pyarrow.dataset as ds

    if isinstance(source, np.ndarray):
        return _array_part("the array", source, rules)
    if isinstance(source, pd.DataFrame):
        return _pandas_part(source, rules)
    if isinstance(source, ds.Dataset):
        return _dataset_part(source, rules)
    return _stream_part(source, rules)


def _array_part(name: str, array: NDArray, rules: Rules) -> Part:
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
    if "user" in columns:
        layout = layout.with_ids(name, _from_numpy("user", columns["user"][:1]).type)

    def read() -> _Blocks:
        return _blocks(
            {r: _from_numpy(r, column[start : start + _BATCH]) for r, column in columns.items()}
            for start in range(0, len(array), _BATCH)
        )

    return Part(name, rules, layout, read)


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


def _pandas_part(frame: "pd.DataFrame", rules: Rules) -> Part:
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
    at = dict(layout.roles)

    def column(role: str, start: int, end: int) -> "pa.Array":
        part = frame.iloc[start:end, at[role]]
        return _from_series(name, role, part.to_wkb() if role == "geometry" else part)

    def value(start: int, row: int, role: str) -> object:
        return frame.iat[start + row, at[role]] if role in at else None

    def read() -> _Blocks:
        told = geometry is None and "point" not in at
        for start in range(0, len(frame), _BATCH):
            rows = {role: column(role, start, start + _BATCH) for role in at}
            yield partial(iter, [Rows(rows, start, value=partial(value, start) if told else None)])

    if "user" in at:
        layout = layout.with_ids(name, column("user", 0, 1).type)
    return Part(name, rules, layout, read, numbering="rows count from 0, as by iloc")


def _from_series(name: str, role: str, part: "pd.Series") -> "pa.Array":
    import pandas as pd
    import pyarrow as pa

    if isinstance(part.dtype, pd.CategoricalDtype):
        values = _from_series(name, role, pd.Series(part.cat.categories))
        codes = part.cat.codes.to_numpy()
        indices = pa.array(codes, pa.int32(), mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, values)
    if part.dtype == object:
        with parsing(name, _WHAT.get(role, "numbers")):
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


def _dataset_part(source: Any, rules: Rules) -> Part:
    name = "the dataset"
    layout = layout_of_schema(name, source.schema, rules)

    def read() -> _Blocks:
        batches = source.to_batches(
            columns=list(layout.columns.values()), batch_size=_BATCH, batch_readahead=2,
            fragment_readahead=1,
        )  # fmt: skip
        return _blocks(_by_role(layout, batch) for batch in batches if batch.num_rows)

    return Part(name, rules, layout, read)


def _stream_part(source: Any, rules: Rules) -> Part:
    """Return an object that narwhals knows or that has Arrow's C stream interface as one part."""
    import narwhals as nw
    import pyarrow as pa

    known: Any = nw.from_native(source, pass_through=True)
    narwhal = isinstance(known, (nw.DataFrame, nw.LazyFrame)) and not isinstance(source, pa.Table)
    if not narwhal and not hasattr(source, "__arrow_c_stream__"):
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
        schema = pa.RecordBatchReader.from_stream(source).schema
        if not narwhal:
            layout = layout_of_schema(name, schema, rules)
        elif (user := layout.columns.get("user")) is not None:
            layout = layout.with_ids(name, schema.field(user).type)

    def read() -> _Blocks:
        return _blocks(
            _by_role(layout, batch.slice(start, _BATCH))
            for batch in pa.RecordBatchReader.from_stream(source)
            for start in range(0, batch.num_rows, _BATCH)
        )

    return Part(name, rules, layout, read)


def _by_role(layout: Layout, batch: "pa.RecordBatch") -> "dict[str, pa.Array]":
    return {role: batch.column(name) for role, name in layout.columns.items()}
