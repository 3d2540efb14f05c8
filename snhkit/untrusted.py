"""Guards for files that may be hostile: no exception, file or row of theirs passes unnoticed."""

import json
import re
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_GEOJSON = 2**30  # bytes
_MAX_FEATURES = 100_000_000
_MAX_NESTED = 32  # as in GDAL
_IN_MEMORY = ("a frame", "numbers", "user ids", "times", "points")
_PATH = re.compile(r"""[="'`,:;\s](?:\.{0,2}/)+[^\s/]""")
_GPKG_IDS = (b"GPKG", b"GP10", b"GP11")


@contextmanager
def parsing(source: str, kind: str) -> Iterator[None]:
    """Turn every exception into an InputError that names the source, because input is untrusted."""
    try:
        yield
    except InputError as refusal:
        if str(refusal).startswith(source):
            raise
        raise InputError(f"{source}: {refusal}") from None
    except Exception as failure:
        reason = (str(failure) or type(failure).__name__).splitlines()[0][:160]
        remedy = "" if kind in _IN_MEMORY else " Is the file complete?"
        raise InputError(f"{source}: could not be read as {kind} ({reason}).{remedy}") from None


def only_layer(path: Path, driver: str) -> tuple[str, dict[str, Any]]:
    """Return the name by which pyogrio reads a file, and its description of the only layer.

    GDAL guesses formats, and some name other files to read, so the content is checked first.
    """
    import pyogrio

    address = _address(path, driver)
    with parsing(path.name, driver):
        if driver == "GPKG":
            _refuse_queries(path)
        layers = [str(name) for name, _ in pyogrio.list_layers(address)]
        if len(layers) != 1:
            raise InputError(
                f"{path.name}: it has {len(layers)} layers ({', '.join(layers[:10])}); read one "
                "with geopandas.read_file(..., layer=...) and pass the frame."
            )
        info = pyogrio.read_info(address)
        if info["driver"] != driver:
            raise InputError(
                f"{path.name}: the content of the file is not {driver}; rename the file "
                "to match its content, or write it again."
            )
        if info["features"] > _MAX_FEATURES:
            raise InputError(
                f"{path.name}: it has {info['features']:,} rows; at most {_MAX_FEATURES:,} are "
                "read from such a file. Write it as GeoParquet."
            )
    return address, info


def _address(path: Path, driver: str) -> str:
    """Return a name with which GDAL reads a file in the format ``driver`` and in no other."""
    if driver == "GPKG":
        with path.open("rb") as file:
            head = file.read(72)
        if not head.startswith(b"SQLite format 3\0") or head[68:72] not in _GPKG_IDS:
            raise InputError(
                f"{path.name}: the content of the file is not a GeoPackage; rename the "
                "file to match its content, or write it again."
            )
        return str(path)
    size = path.stat().st_size
    if size > _MAX_GEOJSON:
        raise InputError(
            f"{path.name}: the file has {size:,} bytes, more than the GeoJSON limit "
            f"of {_MAX_GEOJSON:,}; write the points as Parquet or CSV instead."
        )
    return f"GeoJSON:{path}"


def immutable(path: Path) -> closing[sqlite3.Connection]:
    """Open an SQLite file; nothing is written beside it, as SQLite otherwise may."""
    return closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True))


def _refuse_queries(path: Path) -> None:
    """Raise InputError if a table of a GeoPackage is the result of a query, which may not end."""
    with immutable(path) as database:
        # The column ``type`` may lie; the text is what SQLite runs. Indices of keys have none.
        views = (
            "SELECT name FROM sqlite_master WHERE sql NOT GLOB 'CREATE T[AR]*' AND sql NOT GLOB "
            "'CREATE VIRTUAL *' AND sql NOT GLOB 'CREATE INDEX *' AND sql NOT GLOB 'CREATE U*'"
        )
        computed = (
            "SELECT t.name FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c "
            "WHERE t.sql GLOB 'CREATE TA*' AND c.hidden > 1"
        )
        found = database.execute(f"{views} UNION ALL {computed}").fetchone()
    if found:
        raise InputError(
            f"{path.name}: {found[0][:40]!r} is a view or has computed columns, which are not "
            "read; if you trust the file, read it with geopandas.read_file and pass the frame."
        )


def unpacked(column: "pa.Array") -> "pa.Array":
    """Return a column without the dictionary in which a source may have its values."""
    import pyarrow as pa

    packed = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if packed else column


def unpacked_bytes(column: "pa.Array") -> int:
    """Return the bytes of a column, with the texts of a dictionary as often as they occur.

    A file of a few kilobytes can hold one long text and refer to it in every row.
    """
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute
    if not isinstance(column, pa.DictionaryArray) or pa.types.is_primitive(column.type.value_type):
        return column.nbytes
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return column.indices.nbytes + (pc.sum(lengths.take(column.indices)).as_py() or 0)


def refuse_nested(shapes: Iterable[bytes | str | None]) -> None:
    """Raise InputError if shapes in WKB or WKT lie in more than 32 others.

    GEOS reads shapes inside shapes until the stack of the process overflows.
    """
    for shape in shapes:
        if isinstance(shape, str) and "(" in shape:
            steps = (1 if c == "(" else -1 for c in shape if c in "()")
            if max(accumulate(steps)) > _MAX_NESTED:
                raise _nested()
        elif shape is not None:
            _walk(shape if isinstance(shape, bytes) else _from_hex(shape))


def refuse_paths(crs: object) -> None:
    """Raise InputError if a file's reference system names a file, which PROJ would open and read.

    A pipe such as standard input would never end.
    """
    if _PATH.search(re.sub(r"https?://", "", json.dumps(crs))):
        raise InputError("its CRS names a file; write it with another CRS, such as EPSG:4326.")


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:  # which GEOS refuses too
        return b""


def _walk(shape: bytes) -> None:
    """Read the types and numbers in WKB, in the order in which GEOS reads them."""
    left, at = [1], 0  # shapes still to be read, at each depth
    try:
        while left:
            if not left[-1]:
                left.pop()
                continue
            left[-1] -= 1
            order = "<I" if shape[at] == 1 else ">I"
            (told,) = struct.unpack_from(order, shape, at + 1)
            at += 9 if told & 0x20000000 else 5  # with the number of a reference system
            ranges, kind = divmod(told & 0xFFFF, 1000)
            has_z, has_m = told >> 31 or ranges in (1, 3), told >> 30 & 1 or ranges in (2, 3)
            point = 8 * (2 + has_z + has_m)
            if kind == 1:
                at += point
                continue
            (parts,) = struct.unpack_from(order, shape, at)
            at += 4
            if kind in (2, 8):
                at += parts * point
            elif kind == 3:
                for _ in range(parts):
                    at += 4 + struct.unpack_from(order, shape, at)[0] * point
            elif len(left) > _MAX_NESTED:
                raise _nested()
            else:
                left.append(parts)
    except (IndexError, struct.error):  # GEOS finds the same
        return


def _nested() -> InputError:
    return InputError(f"a shape lies in more than {_MAX_NESTED} others; frame.explode() ends this.")


def refuse_swallowed_rows(
    source: str, lines: Iterable[str], delimiter: str, is_row: Callable[[list[str]], bool]
) -> None:
    """Raise InputError if a quoted field contains text that looks like rows, or is never closed.

    A stray mark at the start of a field hides all rows to the next; ``is_row`` tells rows.
    """
    inside, begun, rows = False, 0, 0
    number = 0
    for number, line in enumerate(lines, start=1):
        ends_inside, opened = _scan(line, delimiter, inside)
        if inside:
            rows += is_row(line.split(delimiter))
            if (not ends_inside or opened) and rows > 1:
                raise InputError(
                    f"{source}: line {begun}: a quotation mark opens a field that is closed only "
                    f"on line {number} and takes in the rows between; remove or close the mark."
                )
        if ends_inside and (opened or not inside):
            begun, rows = number, int(is_row(line.split(delimiter)))
        inside = ends_inside
    if inside:
        raise InputError(
            f"{source}: line {begun}: a quotation mark opens a field and none closes it; the rows "
            "after it would be lost. Remove or close the mark."
        )


def _scan(line: str, delimiter: str, inside: bool) -> tuple[bool, bool]:
    """Return whether a line ends inside quotes, and whether the line opens a quoted field."""
    at, opened = 0, False
    while True:
        if inside:
            at = line.find('"', at)
            if at < 0:
                return True, opened
            if line[at + 1 : at + 2] == '"':
                at += 2
                continue
            inside = False
        elif line[at : at + 1] == '"':
            inside, opened, at = True, True, at + 1
            continue
        at = line.find(delimiter, at)
        if at < 0:
            return False, opened
        at += 1
