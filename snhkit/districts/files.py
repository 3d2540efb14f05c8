"""Files of polygons, which may be hostile: GeoJSON, GeoPackage and GeoParquet."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import shapely
from pyproj import CRS
from pyproj.exceptions import CRSError

from snhkit.errors import InputError
from snhkit.untrusted import (
    only_layer,
    parsing,
    refuse_nested,
    refuse_paths,
    unpacked_bytes,
)

if TYPE_CHECKING:
    import geopandas as gpd

MAX_DISTRICTS = 65_536
"""The largest number of districts that can be read from a file, or counted one by one."""

MOST_COLUMNS = 256
"""The largest number of columns or properties of a file of boxes or polygons."""

_MAX_BYTES = 2**30
_NULL = re.compile(r'"geometry"\s*:\s*null')
_EMPTY = '"geometry":{"type":"Polygon","coordinates":[]}'


def frame_of_file(path: Path) -> "gpd.GeoDataFrame":
    """Return the rows of a file, opened in the format of its suffix; sizes are checked first."""
    import geopandas as gpd
    import pyogrio

    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    if (size := path.stat().st_size) > _MAX_BYTES:
        raise InputError(
            f"{path.name}: the file has {size:,} bytes, more than the limit of "
            f"{_MAX_BYTES:,}; simplify the shapes or split the file."
        )
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        with parsing(path.name, "GeoParquet"):
            _refuse_hostile(path)
            return gpd.read_parquet(path)
    if suffix in (".geojson", ".json"):
        with parsing(path.name, "GeoJSON"):
            return _from_geojson(path.read_text(encoding="utf-8-sig"))
    if suffix != ".gpkg":
        raise InputError(
            "polygons are read from .geojson, .json, .gpkg or .parquet files. Convert other files "
            f"with geopandas.read_file({path.name!r}).to_file({path.stem + '.gpkg'!r})."
        )
    address, info = only_layer(path, "GPKG")
    _refuse_many(info["features"])
    with parsing(path.name, "GPKG"):
        refuse_paths(info["crs"])
        return pyogrio.read_dataframe(address)


def _refuse_hostile(path: Path) -> None:
    """Raise InputError if a GeoParquet file has too many rows, or unpacks to too much."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        about = json.loads((file.schema_arrow.metadata or {}).get(b"geo", b"{}"))
        refuse_paths([column.get("crs") for column in about.get("columns", {}).values()])
        leaves = [file.schema.column(i).path for i in range(len(file.schema))]
    rows = size = 0
    with pq.ParquetFile(path, read_dictionary=leaves) as file:
        for batch in file.iter_batches(use_threads=False):
            rows, size = rows + batch.num_rows, size + sum(map(unpacked_bytes, batch.columns))
            _refuse_many(rows)
            if size > _MAX_BYTES:
                raise InputError(f"it unpacks to more than the limit of {_MAX_BYTES:,} bytes.")
            for column in batch.columns:
                if isinstance(column, pa.DictionaryArray) and "binary" in str(column.type):
                    refuse_nested(column.dictionary.to_pylist())


def _from_geojson(text: str) -> "gpd.GeoDataFrame":
    """Return the features of a document with their properties unchanged, and ids as the index."""
    import geopandas as gpd

    document = json.loads(text)
    features = document["features"]
    _refuse_many(len(features))
    properties = [feature.get("properties") or {} for feature in features]
    if not all(isinstance(of, dict) for of in properties):
        raise InputError("the properties of a feature must be a JSON object.")
    # A table has a place for every property of every feature, however few a small file states.
    if (names := len(set().union(*properties))) > MOST_COLUMNS:
        raise InputError(
            f"the features have {names:,} different properties; at most {MOST_COLUMNS:,} are "
            "read. Leave out those that are not needed, as frame[[LABEL, 'geometry']] does."
        )
    ids = [feature.get("id") for feature in features]
    index = None if None in ids else pd.Index(ids)
    rows = pd.DataFrame(properties, index=index, dtype=object)
    for name in rows.columns[~rows.isna().any()]:
        rows[name] = rows[name].infer_objects()
    # GEOS reads all shapes of the text at once, but no shape that is null.
    shapes = shapely.get_parts(shapely.from_geojson(_NULL.sub(_EMPTY, text)))
    if len(shapes) != len(features):
        raise InputError("it must be a FeatureCollection, whose features have one shape each.")
    shapes[[feature["geometry"] is None for feature in features]] = None
    name = "geometry" if "geometry" not in rows else "geometry of the feature"
    rows[name] = gpd.GeoSeries(shapes, index=rows.index, crs=_crs(document))
    return gpd.GeoDataFrame(rows, geometry=name)


def _crs(document: dict[str, Any]) -> CRS:
    """Return the CRS that a document names; longitude and latitude on WGS 84 if it names none."""
    named = document.get("crs") or {}
    text = json.dumps(named) if named else "CRS84"
    if "CRS84" in text:
        return CRS("EPSG:4326")
    refuse_paths(named)
    try:
        return CRS.from_user_input((named.get("properties") or named)["name"])
    except (CRSError, AttributeError, LookupError, TypeError):
        raise InputError(
            f"its CRS is unknown: {text[:100]}; write the file in EPSG:4326."
        ) from None


def _refuse_many(rows: int) -> None:
    if rows > MAX_DISTRICTS:
        raise InputError(
            f"the file has {rows:,} rows; at most {MAX_DISTRICTS:,} polygons are possible. "
            "Join polygons with frame.dissolve(by=...)."
        )
