"""Layers of GDAL: the points of GeoJSON and GeoPackage files."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from snhkit.data.sources.chunk import Part, Rows
from snhkit.data.sources.columns import Layout, Rules, layout_of
from snhkit.data.sources.files import Place
from snhkit.data.sources.geo import Geometry, named_crs
from snhkit.errors import InputError
from snhkit.untrusted import only_layer, parsing

__all__ = ["layer_parts"]

_BATCH = 2**18  # rows at a time
_DRIVERS = {".geojson": "GeoJSON", ".gpkg": "GPKG"}


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
    geometry = Geometry("geometry", "WKB", named_crs(info["crs"]))
    layout = layout_of(place.name, [*map(str, info["fields"]), "geometry"], rules, geometry)
    if (user := layout.columns.get("user")) is not None:
        with (
            parsing(place.name, driver),
            pyogrio.open_arrow(address, columns=[user], batch_size=1, use_pyarrow=True) as opened,
        ):
            layout = layout.with_ids(place.name, opened[1].schema.field(user).type)
    return [Part(place.name, rules, layout, partial(_blocks, place, layout), driver)]


def _blocks(place: Place, layout: Layout) -> Iterator[Callable[[], Iterator[Rows]]]:
    import pyogrio

    wanted = [name for role, name in layout.columns.items() if role != "geometry"]
    address, _ = only_layer(Path(place.path), _DRIVERS[place.kind])
    first = 0
    with pyogrio.open_arrow(address, columns=wanted, batch_size=_BATCH, use_pyarrow=True) as (
        about,
        reader,
    ):
        names = layout.columns | {"geometry": about["geometry_name"] or "wkb_geometry"}
        for batch in reader:
            rows = Rows({role: batch.column(names[role]) for role in layout.columns}, first)
            yield partial(iter, [rows])
            first += batch.num_rows
