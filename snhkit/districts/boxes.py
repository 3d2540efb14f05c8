"""Files of boxes or polygons whose counts a release is to estimate, and files of the estimates."""

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import shapely

from snhkit.checks import is_number
from snhkit.districts.districts import read_districts
from snhkit.districts.files import MOST_COLUMNS
from snhkit.errors import InputError
from snhkit.geometry.queries import are_boxes
from snhkit.untrusted import parsing, refuse_swallowed_rows

if TYPE_CHECKING:
    import geopandas as gpd

_SIDES = 4
_NAMES = ("south", "west", "north", "east")
_MAX_BYTES = 2**30
_GEOJSON = (".geojson", ".json")
_DECIMALS = {"count": 3, "noise_sd": 3, "low": 3, "high": 3, "area_m2": 1}


def read_boxes(path: str | os.PathLike[str]) -> "pd.DataFrame | gpd.GeoDataFrame":
    """Read boxes or polygons from a file, for ``Release.estimate``.

    Parameters
    ----------
    path : str or path
        A .csv file with columns south, west, north, east in degrees, separated by a comma, a
        semicolon, a | or a tab; or polygons in a .geojson, .json, .gpkg or .parquet file.

    Returns
    -------
    DataFrame or GeoDataFrame
        A row for each box or polygon, with all columns of the file. In a CSV file, the values of
        columns other than the sides stay text.

    Raises
    ------
    InputError
        If the file is missing, too large or of another kind, a side is missing or not a number,
        rows and header have different numbers of fields, a quoted field contains whole rows by
        mistake, or a shape is not a valid polygon.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "boxes.csv"
    ...     _ = path.write_text("south,west,north,east\\n37.76,-122.43,37.761,-122.429\\n")
    ...     read_boxes(path)
       south    west   north     east
    0  37.76 -122.43  37.761 -122.429
    """
    path = Path(path).expanduser()
    if path.suffix.lower() != ".csv":
        return read_districts(path).rows
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(
            f"{path}: the file is larger than the limit of {_MAX_BYTES:,} bytes; split it."
        )
    try:
        return _from_csv(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def estimates_text(frame: "pd.DataFrame | gpd.GeoDataFrame", suffix: str) -> str:
    """Return a frame of estimates as the text of a file, rounded; unknown is empty, or null.

    In ".csv", rectangles are given by their sides in degrees, and other shapes are left out.
    """
    import geopandas as gpd

    known = {name: round_ for name, round_ in _DECIMALS.items() if name in frame.columns}
    frame = frame.assign(
        **{name: frame[name].round(digits) + 0.0 for name, digits in known.items()}
    )
    names = {str(name).strip().lower(): name for name in frame.columns}
    if suffix in _GEOJSON:
        if not isinstance(frame, gpd.GeoDataFrame):
            if not set(_NAMES) <= set(names):
                raise InputError("boxes without south, west, north and east have no GeoJSON.")
            south, west, north, east = (frame[names[side]].to_numpy(float) for side in _NAMES)
            boxes = shapely.box(west, south, east, north)
            frame = gpd.GeoDataFrame(frame, geometry=boxes, crs=4326)
        plain = isinstance(frame.index, pd.RangeIndex)
        return frame.to_json(drop_id=plain, to_wgs84=True, default=str) + "\n"
    if isinstance(frame, gpd.GeoDataFrame):
        bounds = frame.geometry.to_crs(4326).bounds
        filled = bool(are_boxes(frame.geometry.to_crs(4326)).all())
        frame = pd.DataFrame(frame.drop(columns=frame.geometry.name))
        if filled and not set(_NAMES) & set(names):
            sides = dict(zip(_NAMES, ("miny", "minx", "maxy", "maxx"), strict=True))
            first = pd.DataFrame({side: bounds[of] for side, of in sides.items()})
            frame = pd.concat([first, frame], axis=1)
    return frame.to_csv(index=False, lineterminator="\n")


def _from_csv(path: Path) -> pd.DataFrame:
    rows = _table(path)
    given = [s if (s := c.strip().lower()) in _NAMES else c for c in rows.columns]
    if twice := [c for k, c in enumerate(given) if c in given[:k]]:
        raise InputError(f"two columns are named {twice[0][:60]!r}; rename or remove one of them.")
    names = dict(zip(given, rows.columns, strict=True))
    missing = [side for side in _NAMES if side not in names]
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}; it has {', '.join(map(str, rows.columns))[:300]}. "
            f"Boxes need the columns {', '.join(_NAMES)}, in degrees."
        )
    for side in _NAMES:
        numbers = np.asarray(pd.to_numeric(rows[names[side]], errors="coerce"), float)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            text = str(rows[names[side]].iloc[bad[0]])[:60]
            raise InputError(
                f"box {bad[0]}: {side} = {text!r} is not a number of degrees (boxes count from 0)."
            )
        rows[names[side]] = numbers
    return rows


def _table(path: Path) -> pd.DataFrame:
    """Return the rows of a csv file as text, each with as many fields as the header."""
    with parsing("the file", "CSV"):
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        delimiter = max(",;\t|", key=lines[0].count)
        header = next(csv.reader(lines[:1], delimiter=delimiter), [])
        if (width := len(header)) > MOST_COLUMNS:
            raise InputError(f"it has {width:,} columns; at most {MOST_COLUMNS:,} are read.")

        def is_row(fields: list[str]) -> bool:
            return len(fields) == width and sum(map(is_number, fields)) >= _SIDES

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
