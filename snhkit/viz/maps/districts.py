"""Maps of districts that are coloured by their released counts."""

import json
import os
import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import folium
import numpy as np
import shapely
from branca.element import MacroElement
from jinja2 import Template
from numpy.typing import NDArray

from snhkit.errors import InputError, OutsideWarning
from snhkit.geometry import Region
from snhkit.release.shapes import polygons_in
from snhkit.viz.maps.maps import base_map, stamp
from snhkit.viz.maps.surface import ColourScale

if TYPE_CHECKING:
    import geopandas as gpd

    from snhkit.release import Release

__all__ = ["Districts", "district_map", "district_overlay", "read_districts"]

_UNIT = "records per km²"
_WHOLE = 0.999  # a larger share is taken as the whole area, since projections change areas slightly
_FINEST = 4_000  # borders are simplified by at most the region's side / 4,000, less than a pixel


class _Districts(MacroElement):
    """A map element that draws coloured polygons and shows their legend."""

    _template = Template(
        "{% macro script(this, kwargs) %}"
        "{{ this._parent.get_name() }}.snhkitLegend({{ this.overlay.legend|tojson }});\n"
        "snhkit.districts({{ this._parent.get_name() }}, {{ this.overlay.districts|tojson }})"
        ".addTo({{ this._parent.get_name() }});{% endmacro %}"
    )

    def __init__(self, overlay: dict[str, Any]) -> None:
        super().__init__()
        self.overlay = overlay


def district_map(
    release: "Release",
    districts: "gpd.GeoDataFrame | gpd.GeoSeries",
    *,
    label: Hashable | None = None,
    m: folium.Map | None = None,
    tiles: str | folium.TileLayer | None = None,
    attr: str | None = None,
) -> folium.Map:
    """Return a map of districts, or other polygons, coloured by their released counts.

    The colour shows the count divided by the area, so that a large district does not look crowded
    only because of its size.

    Parameters
    ----------
    release : Release
        The release that counts the districts; counting costs no epsilon.
    districts : GeoDataFrame or GeoSeries
        Polygons in any CRS, such as districts or H3 hexagons. The part of a polygon outside the
        region is not counted and has no colour.
    label : hashable, optional
        The column with the districts' names; by default, the index values are the names.
    m : folium.Map, optional
        An existing map to which the districts are added; the map's view does not change.
    tiles, attr : str or folium.TileLayer, optional
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
    shapes = Districts.of(release.region, districts, label)
    return shapes.map(release, base_map(release.region, m=m, tiles=tiles, attr=attr))


def district_overlay(
    release: "Release",
    districts: "gpd.GeoDataFrame | gpd.GeoSeries",
    title: str,
    *,
    label: Hashable | None = None,
) -> dict[str, Any]:
    """Return districts, coloured by their released counts, as a layer for ``DrawMap.layers``.

    Parameters
    ----------
    release, districts, label
        The same parameters as those of ``district_map``.
    title : str
        The title of the legend.

    Returns
    -------
    dict
        JSON values: ``districts`` (GeoJSON in degrees) and ``legend``, the content of the legend.
    """
    shapes = Districts.of(release.region, districts, label)
    counts, bounds = shapes.answers(release)
    return shapes.overlay(counts, bounds, shapes.scale([counts]), title)


@dataclass(frozen=True, eq=False, repr=False)
class Districts:
    """Polygons in a region, to be coloured by the counts of one or several releases.

    Parameters
    ----------
    frame : GeoDataFrame or GeoSeries
        The polygons as they were given; q is the number of polygons.
    names : list of str, length q
        The names of the polygons.
    shapes : array of shapely geometries, shape (q,)
        The polygons in metres from the region's lower-left corner, clipped approximately to the
        region.
    area_m2 : ndarray, shape (q,)
        The area of each polygon's part inside the region, in square metres.
    share : ndarray, shape (q,)
        The area of each polygon's part inside the region, divided by the polygon's area; from 0 to
        1.
    drawn : list of dict, length q
        The shapes to draw, as GeoJSON geometries in degrees: the part of a polygon inside the
        region, or the whole polygon if no part is inside.
    """

    frame: "gpd.GeoDataFrame | gpd.GeoSeries"
    names: list[str]
    shapes: NDArray[Any]
    area_m2: NDArray[np.float64]
    share: NDArray[np.float64]
    drawn: list[dict[str, Any]]

    @classmethod
    def of(
        cls,
        region: Region,
        frame: "gpd.GeoDataFrame | gpd.GeoSeries",
        label: Hashable | None = None,
    ) -> "Districts":
        """Return the polygons of ``frame`` for a region, with names from the column ``label``."""
        names = _names(frame, label)
        shapes = polygons_in(region, frame)
        inside = shapely.intersection(shapes, shapely.box(0, 0, region.side_m, region.side_m))
        area = shapely.area(inside)
        whole = frame.to_crs(region.crs).area.to_numpy()
        drawn = _in_degrees(region, np.where(area > 0, inside, shapes))
        geometries = [json.loads(shape) for shape in drawn]
        return cls(frame, names, shapes, area, area / np.maximum(whole, 1e-9), geometries)

    def answers(self, release: "Release") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a release's counts of the polygons, (q,), and their 90 % intervals, (q, 2)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideWarning)  # tooltips mention parts outside
            return release.answer(self.frame), release.interval(self.frame)

    def map(self, release: "Release", m: folium.Map | None = None) -> folium.Map:
        """Return a map of the polygons coloured by a release's counts; see ``district_map``.

        Parameters
        ----------
        release : Release
            The release that counts the polygons.
        m : folium.Map, optional
            The map to which the polygons are added; by default a new map of the release's region.
        """
        counts, bounds = self.answers(release)
        overlay = self.overlay(counts, bounds, self.scale([counts]), release.method)
        overlay["legend"]["note"] = stamp(release)
        m = base_map(release.region) if m is None else m
        _Districts(overlay).add_to(m)
        return m

    @property
    def titles(self) -> list[str]:
        """The names of the polygons, each with a note if the polygon is not all in the region."""
        said = np.select(
            [self.share <= 0, self.share < _WHOLE],
            [" (outside the region)", " (partly outside the region)"],
            "",
        )
        return [name + word for name, word in zip(self.names, said, strict=True)]

    def density(self, counts: NDArray) -> NDArray[np.float64]:
        """Return counts per km² of the area inside the region, shape (q,); nan if the area is 0."""
        return counts * 1e6 / np.where(self.area_m2 > 0, self.area_m2, np.nan)

    def scale(self, counts: Iterable[NDArray]) -> ColourScale:
        """Return one colour scale for several releases; ``counts`` has an array (q,) for each."""
        densities = [self.density(each) for each in counts]
        known = [density[self.area_m2 > 0].max(initial=0.01) for density in densities]
        return ColourScale.up_to(max(known, default=1.0), _UNIT)

    def overlay(
        self, counts: NDArray, bounds: NDArray, scale: ColourScale, title: str
    ) -> dict[str, Any]:
        """Return the polygons, coloured by given counts, as a layer for ``DrawMap.layers``.

        Parameters
        ----------
        counts : ndarray, shape (q,)
            Released counts of the polygons.
        bounds : ndarray, shape (q, 2)
            Lower and upper bounds of the counts' 90 % intervals, nan if unknown.
        scale : ColourScale
            The colour scale for records per km².
        title : str
            The title of the legend.
        """
        density = self.density(counts)
        colours = scale.palette[scale.levels(np.nan_to_num(density))]

        def colour(k: int) -> str | None:
            return "#" + bytes(colours[k]).hex() if self.share[k] > 0 else None

        def lines(k: int) -> list[str]:
            return _lines(counts[k], bounds[k], density[k], self.share[k])

        return {"districts": self._features(colour, lines), "legend": scale.legend(title)}

    def outlines(self) -> dict[str, Any]:
        """Return the polygons without colours and counts as a layer for ``DrawMap.layers``."""

        def lines(k: int) -> list[str]:
            return [] if self.share[k] > 0 else ["outside the region: not counted"]

        return {"districts": self._features(lambda _: None, lines)}

    def _features(
        self, colour: Callable[[int], str | None], lines: Callable[[int], list[str]]
    ) -> dict[str, Any]:
        """Return the polygons as GeoJSON, each with a colour and the lines of a tooltip.

        ``colour`` and ``lines`` are called with the index of a polygon. The tooltip shows the name
        of the polygon above the result of ``lines``.
        """
        features = [
            {
                "type": "Feature",
                "geometry": self.drawn[k],
                "properties": {
                    "colour": colour(k),
                    "inside": bool(self.share[k] > 0),
                    "lines": [self.names[k], *lines(k)],
                },
            }
            for k in np.flatnonzero(~shapely.is_empty(self.shapes)).tolist()
        ]
        return {"type": "FeatureCollection", "features": features}


def _names(districts: "gpd.GeoDataFrame | gpd.GeoSeries", label: Hashable | None) -> list[str]:
    if label is None:
        return [str(name) for name in districts.index]
    columns = list(getattr(districts, "columns", []))
    if not columns:
        raise InputError(
            "label: a GeoSeries has no columns; pass a GeoDataFrame, or leave label out."
        )
    found = [i for i, name in enumerate(columns) if name == label]
    if len(found) != 1:
        there = f"{len(found)} columns are called" if found else "there is no column"
        raise InputError(
            f"label: {there} {label!r}; the columns are {', '.join(map(str, columns))}."
        )
    return [str(name) for name in districts.iloc[:, found[0]]]


def _lines(count: float, bounds: NDArray, density: float, share: float) -> list[str]:
    """Return the lines of text that the tooltip of a polygon shows below the polygon's name."""
    if share <= 0:
        return ["outside the region: not counted"]
    known = [] if np.isnan(bounds).any() else ["90 % interval: {:,.1f} to {:,.1f}".format(*bounds)]
    lines = [f"{count + 0:,.1f} records", *known, f"{density:,.1f} {_UNIT.partition(' ')[2]}"]
    part = [] if share >= _WHOLE else [f"{share:.0%} of the area lies in the region and is counted"]
    return lines + part


def _in_degrees(region: Region, shapes: NDArray[Any]) -> NDArray[Any]:
    """Convert shapes from metres to GeoJSON texts in degrees, with simplified borders."""

    def degrees(xy: NDArray[np.float64]) -> NDArray[np.float64]:
        lat, lon = region.to_latlon(xy)
        return np.stack([lon, lat], axis=1).round(6)

    simple = shapely.simplify(shapes, region.side_m / _FINEST)
    return shapely.to_geojson(shapely.transform(simple, degrees))


def read_districts(path: "str | os.PathLike[str]") -> "gpd.GeoDataFrame":
    """Return the polygons of a .geojson, .gpkg or .parquet file.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    import geopandas as gpd

    reader = gpd.read_parquet if Path(path).suffix == ".parquet" else gpd.read_file
    try:
        return reader(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{path}: the file cannot be read as polygons ({type(error).__name__}); give a "
            ".geojson, .gpkg or .parquet file."
        ) from None
