"""Geographic files of points: GeoJSON, GeoPackage, GeoParquet.

The library GDAL, which reads these files, guesses the format from the content, and some formats
name other files or addresses to be read instead. The content is therefore checked before GDAL is
called.
"""

from pathlib import Path
from typing import Any

from snhkit.data.reading.columns import find_column, find_user
from snhkit.data.reading.frames import from_geoframe
from snhkit.data.reading.table import Table, parsing, refuse_rows
from snhkit.errors import InputError

__all__ = ["from_geojson", "from_geoparquet", "from_gpkg", "only_layer"]

_MAX_GEOJSON = 2**30
_GPKG_IDS = (b"GPKG", b"GP10", b"GP11")


def from_geojson(path: Path, user: str | int | None, time: str | int | None) -> Table:
    """Read the points of a GeoJSON file."""
    return _from_layer(path, "GeoJSON", user, time)


def from_gpkg(path: Path, user: str | int | None, time: str | int | None) -> Table:
    """Read the points of a GeoPackage that has one layer."""
    return _from_layer(path, "GPKG", user, time)


def from_geoparquet(path: Path, user: str | int | None, time: str | int | None) -> Table:
    """Read the points of a GeoParquet file."""
    import geopandas as gpd

    with parsing(path.name, "GeoParquet"):
        return from_geoframe(path.name, gpd.read_parquet(path), user, time)


def only_layer(path: Path, driver: str) -> tuple[str, dict[str, Any]]:
    """Return the name by which pyogrio reads a file, and pyogrio's description of its only layer.

    Parameters
    ----------
    path : Path
        A file that exists.
    driver : str
        "GeoJSON" or "GPKG": the format that the file must have.

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
        refuse_rows(path.name, info["features"])
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


def _from_layer(path: Path, driver: str, user: str | int | None, time: str | int | None) -> Table:
    import pyogrio

    address, info = only_layer(path, driver)
    with parsing(path.name, driver):
        fields = [str(field) for field in info["fields"]]
        at_user = find_user(path.name, fields, user)
        at_time = None if time is None else find_column(path.name, fields, "time", time)
        user, time = (None if at is None else fields[at] for at in (at_user, at_time))
        wanted = [name for name in (user, time) if name is not None]
        frame = pyogrio.read_dataframe(address, columns=wanted)
        return from_geoframe(path.name, frame, user, time)
