"""Maps of districts that are coloured by their released counts."""

import json
import os
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any

import folium
import numpy as np
import pandas as pd
import shapely
from numpy.typing import ArrayLike, NDArray

from snhkit.defaults import DEFAULT_LEVEL
from snhkit.districts.districts import WHOLE, Districts, DistrictsLike, LocalDistricts
from snhkit.markup import count_texts, number
from snhkit.methods import title_of
from snhkit.release import Release
from snhkit.release.estimates import Estimates
from snhkit.viz.maps.maps import Call, base_map, stamp
from snhkit.viz.maps.surface import ColourScale

_UNIT = "records per km²"
_FINEST = 4_000  # borders are simplified by at most the region's side / 4,000, less than a pixel


def district_map(
    release: Release,
    districts: DistrictsLike,
    *,
    label: Hashable | None = None,
    m: folium.Map | None = None,
    tiles: str | os.PathLike[str] | folium.TileLayer | None = None,
    attr: str | None = None,
) -> folium.Map:
    """Return a map of districts, or other polygons, coloured by their released counts.

    The colour shows the count divided by the area, so that a large district does not look crowded
    only because of its size.

    Parameters
    ----------
    release : Release
        The release that counts the districts; counting costs no epsilon.
    districts : GeoDataFrame, GeoSeries, path or Districts
        Polygons in any CRS, such as districts or H3 hexagons. The part of a polygon outside the
        region is not counted and has no colour.
    label : hashable, optional
        The column with the districts' names; by default, the index values are the names.
    m : folium.Map, optional
        An existing map to which the districts are added; the map's view does not change.
    tiles, attr : str, path or folium.TileLayer, optional
        The background of a new map, as for ``base_map``.

    Returns
    -------
    folium.Map
        The new map, or ``m``.

    Raises
    ------
    InputError
        If there is no column ``label``, ``districts`` has no CRS, a shape is not a valid polygon,
        ``m`` is not a folium map, or ``tiles`` or ``attr`` is given together with ``m``.

    Examples
    --------
    >>> import geopandas as gpd, shapely, snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.UniformGrid(), epsilon=1)
    >>> halves = [shapely.box(-96.9, 46.8, -96.8, 47), shapely.box(-96.8, 46.8, -96.7, 47)]
    >>> frame = gpd.GeoDataFrame({"side": ["west", "east"]}, geometry=halves, crs=4326)
    >>> fmap = snh.district_map(release, frame, label="side")  # fmap.save("districts.html")
    """
    local = Districts.of(districts, label).inside(release.region)
    fmap = base_map(release.region, m=m, tiles=tiles, attr=attr)
    return add_districts(fmap, release, local, answers(release, local))


def district_overlay(
    release: Release, districts: DistrictsLike, title: str, *, label: Hashable | None = None
) -> dict[str, Any]:
    """Return districts, coloured by their released counts, as a layer for ``DrawMap.layers``.

    The parameters are those of ``district_map``, and the title of the legend.
    """
    local = Districts.of(districts, label).inside(release.region)
    frame = answers(release, local)
    return coloured(local, frame, scale_of(local, [frame]), title)


def answers(release: Release, local: LocalDistricts) -> pd.DataFrame:
    """Return the estimates of a release for districts, with the column ``label`` before them."""
    return Estimates(release, local, pd.DataFrame({"label": local.districts.labels})).frame()


def add_districts(
    m: folium.Map, release: Release, local: LocalDistricts, frame: pd.DataFrame
) -> folium.Map:
    """Add districts, coloured by a frame of their estimates, to a map; return the map."""
    overlay = coloured(local, frame, scale_of(local, [frame]), title_of(release))
    overlay["legend"]["note"] = stamp(release)
    Call("districts", overlay["districts"], overlay["legend"]).add_to(m)
    return m


def density(local: LocalDistricts, counts: ArrayLike) -> NDArray[np.float64]:
    """Return counts per km² of the area inside the region, shape (q,); nan if the area is 0."""
    return np.asarray(counts) * 1e6 / np.where(local.area_m2 > 0, local.area_m2, np.nan)


def scale_of(local: LocalDistricts, frames: Iterable[pd.DataFrame]) -> ColourScale:
    """Return one colour scale for the estimates of several releases."""
    inside = local.area_m2 > 0
    known = [density(local, frame["count"])[inside].max(initial=0.01) for frame in frames]
    return ColourScale.up_to(max(known, default=1.0), _UNIT)


def coloured(
    local: LocalDistricts, frame: pd.DataFrame, scale: ColourScale, title: str
) -> dict[str, Any]:
    """Return districts, coloured by their counts in a frame, as a layer for ``DrawMap.layers``."""
    per_km2 = density(local, frame["count"])
    colours = scale.palette[scale.levels(np.nan_to_num(per_km2))]
    told = zip(frame["count"], frame["low"], frame["high"], per_km2, local.share, strict=True)
    lines = [_lines(*row) for row in told]
    fill = [
        "#" + bytes(colour).hex() if share > 0 else None
        for colour, share in zip(colours, local.share, strict=True)
    ]
    return {"districts": _features(local, fill, lines), "legend": scale.legend(title)}


def outlines(local: LocalDistricts) -> dict[str, Any]:
    """Return districts without colours and counts as a layer for ``DrawMap.layers``."""
    lines = [[] if share > 0 else ["outside the region: not counted"] for share in local.share]
    return {"districts": _features(local, [None] * len(lines), lines)}


def _features(
    local: LocalDistricts, colours: list[str | None], lines: list[list[str]]
) -> dict[str, Any]:
    """Return districts as GeoJSON, each with a colour and lines of a tooltip below its label."""
    drawn = _drawn(local)
    features = [
        {
            "type": "Feature",
            "geometry": drawn[k],
            "properties": {
                "colour": colours[k],
                "inside": bool(local.share[k] > 0),
                "lines": [local.districts.labels[k], *lines[k]],
            },
        }
        for k in np.flatnonzero(~shapely.is_empty(local.shapes)).tolist()
    ]
    return {"type": "FeatureCollection", "features": features}


def _lines(count: float, low: float, high: float, per_km2: float, share: float) -> list[str]:
    """Return the lines of text that the tooltip of a polygon shows below the polygon's name."""
    if share <= 0:
        return ["outside the region: not counted"]
    told, ends = count_texts(count, low, high)
    known = [f"{100 * DEFAULT_LEVEL:g} % interval: {ends}"] if ends else []
    lines = [f"{told} records", *known, f"{number(per_km2)} {_UNIT.partition(' ')[2]}"]
    part = [] if share >= WHOLE else [f"{share:.0%} of the area lies in the region and is counted"]
    return lines + part


@lru_cache(maxsize=8)
def _drawn(local: LocalDistricts) -> list[dict[str, Any]]:
    """Return the parts inside the region, else the whole shape, as GeoJSON with simple borders."""
    region = local.region

    def degrees(xy: NDArray[np.float64]) -> NDArray[np.float64]:
        lat, lon = region.to_latlon(xy)
        return np.stack([lon, lat], axis=1).round(6)

    shapes = np.where(local.area_m2 > 0, local.clipped, local.shapes)
    simple = shapely.simplify(shapes, region.side_m / _FINEST)
    return [json.loads(text) for text in shapely.to_geojson(shapely.transform(simple, degrees))]
