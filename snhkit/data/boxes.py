"""Boxes to be asked, from a file, and their answers beside them."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, Region

__all__ = ["answered", "read_boxes"]

_SIDES = ("south", "west", "north", "east")
_MAX_BYTES = 2**30


def read_boxes(path: str | os.PathLike[str], region: Region) -> tuple[RangeQueries, pd.DataFrame]:
    """Read boxes from a CSV file with columns south, west, north, east, or from GeoJSON.

    Parameters
    ----------
    path : str or path
        A .csv file in degrees, or a .geojson or .json file of rectangles.
    region : Region
        In whose metres the boxes are wanted.

    Returns
    -------
    queries : RangeQueries
        The boxes, in the file's order.
    rows : DataFrame or GeoDataFrame
        The file's rows as they are, for ``answered``.

    Raises
    ------
    InputError
        If the file is missing, too large or not of these kinds, a column is missing, or a box
        is not one; rows are counted from 1, after the header.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file.")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: larger than {_MAX_BYTES:,} bytes; split it.")
    suffix = path.suffix.lower()
    if suffix in (".geojson", ".json"):
        return _from_geojson(path, region)
    if suffix == ".csv":
        return _from_csv(path, region)
    raise InputError(f"{path}: boxes come in a .csv, .geojson or .json file.")


def answered(rows: pd.DataFrame, counts: NDArray[np.float64], suffix: str) -> str:
    """The rows with a column ``count``, as the text of a .csv, .geojson or .json file.

    Parameters
    ----------
    rows : DataFrame or GeoDataFrame
        From ``read_boxes``.
    counts : ndarray, shape (q,)
        A release's answers.
    suffix : str
        Which kind of file; rows without shapes become .csv.

    Examples
    --------
    >>> print(answered(pd.DataFrame({"south": ["37.5"]}), np.array([12.34567]), ".csv"))
    south,count
    37.5,12.346
    """
    full = rows.assign(count=np.round(counts, 3))
    if "geometry" in full and suffix in (".geojson", ".json"):
        return full.to_json(drop_id=True)  # pyright: ignore[reportCallIssue]
    if "geometry" in full:
        bounds = full.geometry.bounds.set_axis(["west", "south", "east", "north"], axis=1)
        full = pd.DataFrame(full.drop(columns="geometry")).join(bounds[list(_SIDES)])
    return full.to_csv(index=False, lineterminator="\n").rstrip("\n")


def _from_csv(path: Path, region: Region) -> tuple[RangeQueries, pd.DataFrame]:
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, OSError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: not a CSV file ({error}).") from None
    names = {str(c).strip().lower(): c for c in rows.columns}
    missing = [side for side in _SIDES if side not in names]
    if missing:
        raise InputError(
            f"{path}: no column {', '.join(missing)}; it has {', '.join(map(str, rows.columns))}. "
            f"Boxes need the columns {', '.join(_SIDES)}, in degrees."
        )
    sides = []
    for side in _SIDES:
        numbers = pd.to_numeric(rows[names[side]], errors="coerce").to_numpy(float)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            text = rows[names[side]].iloc[bad[0]]
            raise InputError(f"{path}: row {bad[0] + 1}: {side} = {text!r}, must be degrees.")
        sides.append(numbers)
    return _placed(path, region, sides), rows


def _from_geojson(path: Path, region: Region) -> tuple[RangeQueries, pd.DataFrame]:
    import geopandas as gpd

    try:
        with path.open(encoding="utf-8") as stream:
            features = json.load(stream)["features"]
        rows = gpd.GeoDataFrame.from_features(features, crs="EPSG:4326")
    except (ValueError, LookupError, TypeError, RecursionError, OSError) as error:
        raise InputError(
            f"{path}: not a GeoJSON FeatureCollection ({type(error).__name__})."
        ) from None
    try:
        return RangeQueries.from_geodataframe(region, rows), rows
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _placed(path: Path, region: Region, sides: list[NDArray[np.float64]]) -> RangeQueries:
    try:
        return RangeQueries.from_degrees(region, *sides)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
