"""Layers of GDAL: the points of GeoJSON and GeoPackage files.

GDAL guesses the format from the content, and some formats name other files or addresses to be read
instead. The content is therefore checked before GDAL is called.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snhkit.data.sources.chunk import Block, Chunk, chunk_of
from snhkit.data.sources.columns import Layout, Rules, layout_of
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry, named_crs
from snhkit.data.sources.people import id_family
from snhkit.data.sources.report import parsing
from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LayerPart", "layer_part", "only_layer"]

_BATCH = 2**18  # rows at a time
_MAX_GEOJSON = 2**30
MAX_FEATURES = 100_000_000
_GPKG_IDS = (b"GPKG", b"GP10", b"GP11")
_DRIVERS = {".geojson": "GeoJSON", ".gpkg": "GPKG"}


@dataclass(frozen=True)
class LayerPart:
    """The points of a GeoJSON or GeoPackage file that has one layer."""

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
        """Yield, for each batch of rows, a function that decodes the rows."""
        import pyogrio

        wanted = [name for role, name in self.layout.columns.items() if role != "geometry"]
        address, _ = only_layer(Path(self.place.path), _DRIVERS[self.place.kind])
        first = 0
        with (
            parsing(self.name, _DRIVERS[self.place.kind]),
            pyogrio.open_arrow(address, columns=wanted, batch_size=_BATCH, use_pyarrow=True) as (
                about,
                reader,
            ),
        ):
            points = about["geometry_name"] or "wkb_geometry"
            for batch in reader:
                columns = {
                    role: batch.column(points if role == "geometry" else name)
                    for role, name in self.layout.columns.items()
                }
                yield partial(self._chunks, columns, first)
                first += batch.num_rows

    def _chunks(self, columns: "dict[str, pa.Array]", first: int) -> Iterator[Chunk]:
        with parsing(self.name, _DRIVERS[self.place.kind]):
            yield chunk_of(self.name, columns, self.layout, self.rules, first)


def layer_part(place: Place, rules: Rules) -> LayerPart:
    """Open a GeoJSON or GeoPackage file, and find the columns to read."""
    import pyogrio

    if place.system:
        raise InputError(
            f"{place.name}: copy the file to this machine; only GeoParquet is read there."
        )
    if rules.lat is not None or rules.lon is not None:
        raise InputError(f"{place.name}: its points are geometries; leave lat and lon out.")
    driver = _DRIVERS[place.kind]
    address, info = only_layer(Path(place.path), driver)
    if not info.get("crs"):
        raise InputError(
            f"{place.name}: the points have no CRS, so the unit of their coordinates is unknown; "
            "write the file with a CRS."
        )
    geometry = Geometry("geometry", "WKB", named_crs(info["crs"]))
    layout = layout_of(place.name, [*map(str, info["fields"]), "geometry"], rules, geometry)
    ids = None
    if "user" in layout.columns:
        with (
            parsing(place.name, driver),
            pyogrio.open_arrow(
                address, columns=[layout.columns["user"]], batch_size=1, use_pyarrow=True
            ) as (_, reader),
        ):
            kind = reader.schema.field(layout.columns["user"]).type
            ids = id_family(kind), str(kind)
    return LayerPart(place, rules, layout, ids)


def only_layer(path: Path, driver: str) -> tuple[str, dict[str, Any]]:
    """Return the name by which pyogrio reads a file, and pyogrio's description of its only layer.

    ``driver`` is "GeoJSON" or "GPKG", the format that the file must have.

    Raises
    ------
    InputError
        If the file has another format, is damaged, is too large, or has not exactly one layer.
    """
    import pyogrio

    address = _address(path, driver)
    with parsing(path.name, driver):
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
        if info["features"] > MAX_FEATURES:
            raise InputError(
                f"{path.name}: it has {info['features']:,} rows; at most {MAX_FEATURES:,} are read "
                "from such a file. Write it as GeoParquet."
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
