"""Files of boxes or polygons whose counts a release is to estimate, and files of the results."""

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyproj import CRS
from pyproj.exceptions import CRSError

from snhkit.data.reading.quotes import refuse_swallowed_rows
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
"""The content of a file of boxes: a CSV table whose values are text, or a GeoJSON document."""


def read_boxes(
    path: str | os.PathLike[str], region: Region
) -> tuple["RangeQueries | gpd.GeoSeries", BoxRows]:
    """Read boxes from a CSV file with columns south, west, north, east, or from GeoJSON.

    Parameters
    ----------
    path : str or path
        A .csv file with the sides of boxes in degrees, or a .geojson or .json file of polygons.
    region : Region
        The region of the release that is to estimate the counts of the boxes.

    Returns
    -------
    queries : RangeQueries or GeoSeries
        The q boxes in the order of the file. If the file also holds polygons that are not boxes,
        the result is a GeoSeries of all q polygons, in degrees.
    rows : BoxRows
        The content of the file, for ``answered``.

    Raises
    ------
    InputError
        If the file is missing, too large or not of these kinds, a column is missing, there is a
        column ``count`` already, a row is neither a box nor a polygon, rows and header have
        different numbers of fields, or a quoted field contains whole rows by mistake.

    Examples
    --------
    >>> import tempfile
    >>> city = Region.around(lat=37.76, lon=-122.43, side_m=1_000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "boxes.csv"
    ...     text = "south,west,north,east\\n37.76,-122.43,37.761,-122.429\\n"
    ...     _ = path.write_text(text)
    ...     queries, rows = read_boxes(path, city)
    >>> queries
    RangeQueries(1 boxes)
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(
            f"{path}: the file is larger than the limit of {_MAX_BYTES:,} bytes; split it."
        )
    suffix = path.suffix.lower()
    if suffix not in (".csv", *_GEOJSON):
        raise InputError(f"{path}: boxes must be in a .csv, .geojson or .json file.")
    try:
        return (_from_csv if suffix == ".csv" else _from_geojson)(path, region)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def answered(
    rows: BoxRows,
    counts: NDArray[np.float64],
    suffix: str,
    more: Mapping[str, NDArray[np.float64]] | None = None,
) -> str:
    """Return the text of a file that holds the boxes and, in a column ``count``, their counts.

    Parameters
    ----------
    rows : BoxRows
        The content of a file, from ``read_boxes``.
    counts : ndarray, shape (q,)
        A release's estimate of the number of records in each box. Estimates are rounded to three
        decimals.
    suffix : str
        The suffix of the file: ".csv", ".geojson" or ".json". Boxes that were read from GeoJSON
        can also be written as ".csv", a table of their sides.
    more : mapping of str to ndarray of shape (q,), optional
        Further columns by name. The value nan becomes an empty field, or null in GeoJSON.

    Returns
    -------
    str
        The content of the file, without a newline at the end.

    Raises
    ------
    InputError
        If boxes from a CSV file are to be written as GeoJSON, or polygons as CSV.

    Examples
    --------
    >>> print(answered(pd.DataFrame({"south": ["37.5"]}), np.array([12.34567]), ".csv"))
    south,count
    37.5,12.346
    """
    found = {"count": np.round(counts, 3) + 0.0}  # no -0.0
    for name, values in (more or {}).items():
        found[name] = np.round(values, 3) + 0.0
    if isinstance(rows, pd.DataFrame):
        if suffix in _GEOJSON:
            raise InputError(
                "Boxes that were read from a CSV file can only be written as .csv, not as "
                f"{suffix}."
            )
        return _csv(rows.assign(**found))
    properties = [feature.get("properties") or {} for feature in rows["features"]]
    if suffix == ".csv":
        shapes, _ = _shapes(rows)
        if not are_boxes(shapes).all():
            raise InputError("Polygons can only be written as .geojson, not as .csv.")
        sides = shapes.bounds.set_axis(["west", "south", "east", "north"], axis=1)
        table = pd.DataFrame(properties, index=sides.index, dtype=object)
        return _csv(table.assign(**{side: sides[side] for side in _SIDES}, **found))
    columns = [[None if np.isnan(x) else x for x in column.tolist()] for column in found.values()]
    answers = [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]
    features = [
        feature | {"properties": told | answer}
        for feature, told, answer in zip(rows["features"], properties, answers, strict=True)
    ]
    return json.dumps(rows | {"features": features})


def beyond(queries: "RangeQueries | gpd.GeoSeries", region: Region) -> NDArray[np.bool_]:
    """Return whether each of q boxes, or of q polygons in degrees, extends beyond the region.

    An excess of less than a metre does not count, since bounds in degrees are rounded.
    """
    if not isinstance(queries, RangeQueries):
        south, west, north, east = region.bounds
        at, slack = queries.bounds, 1e-5  # degrees: about a metre
        past = (at.maxx > east + slack) | (at.minx < west - slack)
        return (past | (at.maxy > north + slack) | (at.miny < south - slack)).to_numpy()
    side = region.side_m + 1
    return (np.minimum(queries.x, queries.y) < -1) | (np.maximum(queries.x1, queries.y1) > side)


def _csv(table: pd.DataFrame) -> str:
    """Return a table as the text of a csv file."""
    return table.to_csv(index=False, lineterminator="\n").rstrip("\n")


def _from_csv(path: Path, region: Region) -> tuple[RangeQueries, pd.DataFrame]:
    rows = _table(path)
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
                f"box {bad[0]}: {side} = {text!r} is not a number of degrees (boxes count from 0)."
            )
        sides.append(numbers)
    return RangeQueries.from_degrees(region, *sides), rows


def _table(path: Path) -> pd.DataFrame:
    """Return the rows of a csv file as text.

    Every row must have as many fields as the header.
    """
    with parsing("the file", "CSV"):
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        delimiter = max(",;\t|", key=lines[0].count)
        header = next(csv.reader(lines[:1], delimiter=delimiter), [])
        width = len(header)

        def is_row(fields: list[str]) -> bool:
            return len(fields) == width and sum(map(_is_number, fields)) >= len(_SIDES)

        refuse_swallowed_rows("the file", lines, delimiter, is_row)
        reader = csv.reader((line + "\n" for line in lines[1:]), delimiter=delimiter, strict=True)
        rows = []
        for fields in reader:
            if fields and len(fields) != width:
                raise InputError(
                    f"line {reader.line_num + 1} has {len(fields)} fields, but the header "
                    f"has {width}."
                )
            rows += [fields] if fields else []
    if not header:
        raise InputError("it is empty; a header and a row for each box are needed.")
    return pd.DataFrame(rows, columns=header, dtype=str)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _from_geojson(
    path: Path, region: Region
) -> tuple["RangeQueries | gpd.GeoSeries", dict[str, Any]]:
    with parsing("the file", "a GeoJSON FeatureCollection"):
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        shapes, in_degrees = _shapes(document)
        properties = [f.get("properties") or {} for f in document["features"]]
        if not all(isinstance(told, dict) for told in properties):
            raise InputError("the properties of a feature must be a JSON object.")
    _refuse_count(any("count" in told for told in properties))
    other = np.flatnonzero(~shapes.geom_type.isin(["Polygon", "MultiPolygon"]))
    if other.size:
        kind = shapes.geom_type.iloc[other[0]]
        raise InputError(f"box {other[0]}: a polygon is needed, not {kind} (boxes count from 0).")
    if in_degrees and are_boxes(shapes).all():
        bounds = shapes.bounds
        return RangeQueries.from_degrees(
            region, bounds.miny, bounds.minx, bounds.maxy, bounds.maxx
        ), document
    return shapes, document


def _shapes(document: dict[str, Any]) -> tuple["gpd.GeoSeries", bool]:
    """Return the shapes of a document, with coordinates converted to degrees on WGS 84.

    Also return whether the coordinates in the document are in degrees.
    """
    import geopandas as gpd

    crs = _crs(document)
    # Only geometries are converted, so properties of any name or type cannot cause errors.
    bare = [{"geometry": f["geometry"], "properties": {}} for f in document["features"]]
    frame = gpd.GeoDataFrame.from_features(bare, columns=["geometry"], crs=crs)
    return frame.geometry.to_crs(4326), crs.is_geographic


def _crs(document: dict[str, Any]) -> CRS:
    """Return the CRS that a document names; longitude and latitude on WGS 84 if it names none."""
    named = document.get("crs") or {}
    text = json.dumps(named) if named else "CRS84"
    if "CRS84" in text:
        return CRS("EPSG:4326")
    try:
        return CRS.from_user_input((named.get("properties") or named)["name"])
    except (CRSError, AttributeError, LookupError, TypeError):
        raise InputError(
            f"its CRS is unknown: {text[:100]}; write the file in EPSG:4326."
        ) from None


def _refuse_count(present: bool) -> None:
    if present:
        raise InputError(
            "the file already has a column 'count', which the answers would "
            "overwrite; rename that column."
        )
