"""Layers of GDAL: the points of GeoJSON and GeoPackage files."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from snhkit.data.sources.chunk import Block, Chunk, chunk_of
from snhkit.data.sources.columns import Layout, Rules, layout_of
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry, named_crs
from snhkit.data.sources.people import id_family
from snhkit.errors import InputError
from snhkit.untrusted import only_layer, parsing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LayerPart", "layer_part"]

_BATCH = 2**18  # rows at a time
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
