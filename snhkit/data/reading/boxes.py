"""Boxes to be asked, from a file, and their answers beside them."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.data.reading.table import parsing
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region
from snhkit.geometry.queries import are_boxes

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["BoxRows", "answered", "beyond", "read_boxes"]

_SIDES = ("south", "west", "north", "east")
_MAX_BYTES = 2**30
_GEOJSON = (".geojson", ".json")

BoxRows = pd.DataFrame | dict[str, Any]
"""A file of boxes as it was: the rows of a table, all text, or a GeoJSON document."""


def read_boxes(
    path: str | os.PathLike[str], region: Region
) -> tuple["RangeQueries | gpd.GeoSeries", BoxRows]:
    """Read boxes from a CSV file with columns south, west, north, east, or from GeoJSON.

    Parameters
    ----------
    path : str or path
        A .csv file in degrees, or a .geojson or .json file of polygons.
    region : Region
        In whose metres the boxes are wanted.

    Returns
    -------
    queries : RangeQueries or GeoSeries
        The boxes, in the file's order; shapes in degrees if they are not all boxes.
    rows : BoxRows
        What the file holds, for ``answered``.

    Raises
    ------
    InputError
        If the file is missing, too large or not of these kinds, a column is missing, there is a
        ``count`` already, or a row is neither a box nor a polygon.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: larger than {_MAX_BYTES:,} bytes; split it.")
    suffix = path.suffix.lower()
    if suffix not in (".csv", *_GEOJSON):
        raise InputError(f"{path}: boxes come in a .csv, .geojson or .json file.")
    try:
        return (_from_csv if suffix == ".csv" else _from_geojson)(path, region)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def answered(rows: BoxRows, counts: NDArray[np.float64], suffix: str) -> str:
    """The rows with their ``count``, as the text of a .csv or a .geojson or .json file.

    Parameters
    ----------
    rows : BoxRows
        From ``read_boxes``.
    counts : ndarray, shape (q,)
        A release's answers.
    suffix : str
        Which kind of file. Boxes may become a table of their bounds.

    Raises
    ------
    InputError
        If a table is to become GeoJSON, or polygons a table.

    Examples
    --------
    >>> print(answered(pd.DataFrame({"south": ["37.5"]}), np.array([12.34567]), ".csv"))
    south,count
    37.5,12.346
    """
    counts = np.round(counts, 3) + 0.0  # no -0.0
    if isinstance(rows, pd.DataFrame):
        if suffix in _GEOJSON:
            raise InputError(f"boxes from a table are answered as .csv, not as {suffix}.")
        return _csv(rows.assign(count=counts))
    properties = [feature.get("properties") or {} for feature in rows["features"]]
    if suffix == ".csv":
        shapes = _frame(rows).geometry
        if not are_boxes(shapes).all():
            raise InputError("polygons are answered as .geojson, not as .csv.")
        sides = shapes.bounds.set_axis(["west", "south", "east", "north"], axis=1)
        table = pd.DataFrame(properties, index=sides.index, dtype=object)
        return _csv(table.assign(**{side: sides[side] for side in _SIDES}, count=counts))
    features = [
        feature | {"properties": told | {"count": count}}
        for feature, told, count in zip(rows["features"], properties, counts.tolist(), strict=True)
    ]
    return json.dumps(rows | {"features": features})


def beyond(queries: "RangeQueries | gpd.GeoSeries", region: Region) -> NDArray[np.bool_]:
    """Whether each box, or shape in degrees, reaches out of the region, shape (q,).

    By less than a metre does not count: bounds in degrees are rounded.
    """
    if not isinstance(queries, RangeQueries):
        south, west, north, east = region.bounds
        at, slack = queries.bounds, 1e-5  # degrees: about a metre
        past = (at.maxx > east + slack) | (at.minx < west - slack)
        return (past | (at.maxy > north + slack) | (at.miny < south - slack)).to_numpy()
    side = region.side_m + 1
    return (np.minimum(queries.x, queries.y) < -1) | (np.maximum(queries.x1, queries.y1) > side)


def _csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, lineterminator="\n").rstrip("\n")


def _from_csv(path: Path, region: Region) -> tuple[RangeQueries, pd.DataFrame]:
    with parsing("the file", "CSV"):
        with path.open(encoding="utf-8-sig") as file:
            delimiter = max(",;\t|", key=file.readline().count)
        rows = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
    if not isinstance(rows.index, pd.RangeIndex):
        raise InputError("rows have more fields than the header has names.")
    names = {str(c).strip().lower(): c for c in rows.columns}
    missing = [side for side in _SIDES if side not in names]
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}; it has {', '.join(map(str, rows.columns))[:300]}. "
            f"Boxes need the columns {', '.join(_SIDES)}, in degrees."
        )
    _refuse_count("count" in rows)
    sides = []
    for side in _SIDES:
        numbers = np.asarray(pd.to_numeric(rows[names[side]], errors="coerce"), float)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            text = str(rows[names[side]].iloc[bad[0]])[:60]
            raise InputError(
                f"box {bad[0]}: {side} = {text!r}, must be a number of degrees "
                "(boxes count from 0)."
            )
        sides.append(numbers)
    return RangeQueries.from_degrees(region, *sides), rows


def _from_geojson(
    path: Path, region: Region
) -> tuple["RangeQueries | gpd.GeoSeries", dict[str, Any]]:
    with parsing("the file", "a GeoJSON FeatureCollection"):
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        crs = json.dumps(document.get("crs") or "CRS84")
        frame = _frame(document)
        properties = [f.get("properties") or {} for f in document["features"]]
        if not all(isinstance(told, dict) for told in properties):
            raise InputError("the properties of a feature are no JSON object.")
    _refuse_count(any("count" in told for told in properties))
    if not re.search(r"CRS84|\b4326\b", crs):
        raise InputError(f"its shapes are to be in degrees (EPSG:4326), not in {crs[:100]}.")
    other = np.flatnonzero(~frame.geom_type.isin(["Polygon", "MultiPolygon"]))
    if other.size:
        kind = frame.geom_type.iloc[other[0]]
        raise InputError(f"box {other[0]}: a polygon is needed, not {kind} (boxes count from 0).")
    if are_boxes(frame.geometry).all():
        return RangeQueries.from_geodataframe(region, frame), document
    return frame.geometry, document


def _frame(document: dict[str, Any]):
    import geopandas as gpd

    # Geometries alone: a property of whatever name or type cannot disturb them.
    bare = [{"geometry": f["geometry"], "properties": {}} for f in document["features"]]
    return gpd.GeoDataFrame.from_features(bare, columns=["geometry"], crs="EPSG:4326")


def _refuse_count(present: bool) -> None:
    if present:
        raise InputError("there is a column 'count' already; rename it, or it would be lost.")
