"""Files of columns: Parquet, read one row group at a time, and GDAL's GeoJSON and GeoPackage."""

from collections.abc import Iterator
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from snhkit.data.sources.chunk import Blocks, Part, Rows, blocks_of
from snhkit.data.sources.columns import Layout, Rules, layout_of, layout_of_schema
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry, named_crs
from snhkit.errors import InputError
from snhkit.untrusted import only_layer, parsing, unpacked_bytes

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAX_BYTES = 8 * 2**30  # of the wanted columns of a row group, unpacked
_BATCH = 2**18  # rows that are decoded at a time
_BATCH_BYTES = 2**30
_BUFFER = 2**20  # bytes of a column that are read at a time
_PART = 2**22  # approximate number of rows in a part
_DRIVERS = {".geojson": "GeoJSON", ".gpkg": "GPKG"}


def parquet_parts(place: Place, rules: Rules) -> list[Part]:
    """Divide a Parquet file into parts of whole row groups, and find the columns to read."""
    with parsing(place.name, "Parquet"), _opened(place) as file:
        layout = layout_of_schema(place.name, file.schema_arrow, rules)
        leaves = _leaves(place.name, file, layout)
        about = file.metadata
        rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    first = accumulate(rows[:-1], initial=0) if rows else []
    parts = [list(part) for _, part in groupby(enumerate(first), lambda one: one[1] // _PART)]
    blocks = [[partial(_rows, place, layout, leaves, *group) for group in part] for part in parts]
    return [
        Part(place.name, rules, layout, partial(iter, some), "Parquet") for some in blocks or [[]]
    ]


def _rows(
    place: Place, layout: Layout, leaves: list[str], group: int, first: int
) -> Iterator[Rows]:
    """Yield the rows of a row group; texts stay in dictionaries until their size is known."""
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
    """Return the paths of the wanted columns; raise InputError if a row group is too large."""
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


def layer_parts(place: Place, rules: Rules) -> list[Part]:
    """Open a GeoJSON or GeoPackage file of one layer, and find the columns to read."""
    import pyogrio

    if place.system:
        raise InputError(
            f"{place.name}: copy the file to this machine; only GeoParquet is read there."
        )
    if rules.lat is not None or rules.lon is not None:
        raise InputError(f"{place.name}: its points are geometries; leave lat and lon out.")
    if place.name not in place.path:
        raise InputError(
            f"{place.name}: the name of the file is not in UTF-8, and GDAL reads no such file; "
            "rename the file."
        )
    driver = _DRIVERS[place.kind]
    address, info = only_layer(Path(place.path), driver)
    if not info.get("crs"):
        raise InputError(
            f"{place.name}: the points have no CRS, so the unit of their coordinates is unknown; "
            "write the file with a CRS."
        )
    geometry = Geometry("geometry", "WKB", named_crs(place.name, info["crs"]))
    layout = layout_of(place.name, [*map(str, info["fields"]), "geometry"], rules, geometry)
    if (user := layout.columns.get("user")) is not None:
        with (
            parsing(place.name, driver),
            pyogrio.open_arrow(address, columns=[user], batch_size=1, use_pyarrow=True) as opened,
        ):
            layout = layout.with_ids(opened[1].schema.field(user).type)
    return [Part(place.name, rules, layout, partial(_layer_blocks, place, layout), driver)]


def _layer_blocks(place: Place, layout: Layout) -> Blocks:
    import pyogrio

    wanted = [name for role, name in layout.columns.items() if role != "geometry"]
    address, _ = only_layer(Path(place.path), _DRIVERS[place.kind])
    with pyogrio.open_arrow(address, columns=wanted, batch_size=_BATCH, use_pyarrow=True) as (
        about,
        reader,
    ):
        names = layout.columns | {"geometry": about["geometry_name"] or "wkb_geometry"}
        yield from blocks_of(
            {role: batch.column(names[role]) for role in layout.columns} for batch in reader
        )
