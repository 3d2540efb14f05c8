"""Released counts of districts, coloured on a map."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import folium
import numpy as np
import shapely
from branca.element import MacroElement
from jinja2 import Template
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.release.polygons import polygons_in
from snhkit.viz.maps.maps import base_map
from snhkit.viz.maps.surface import ColourScale

if TYPE_CHECKING:
    import geopandas as gpd

    from snhkit.release import Release

__all__ = ["Districts", "district_map", "district_overlay"]

_UNIT = "records per km²"
_WHOLE = 0.999  # of an area, but for what projections bend
_FINEST = 4_000  # of a region's side: borders are drawn no finer, which is below a pixel


class _Districts(MacroElement):
    """The polygons and their legend."""

    _template = Template(
        "{% macro script(this, kwargs) %}snhkitLegend({{ this.overlay.legend|tojson }});\n"
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
    label: str | None = None,
    tiles: str | folium.TileLayer | None = None,
    attr: str | None = None,
) -> folium.Map:
    """A map of districts, H3 cells or other polygons, coloured by their released counts.

    The colour is the count over the area, so that a large district does not look crowded.

    Parameters
    ----------
    release : Release
        What is asked; it costs no privacy.
    districts : GeoDataFrame or GeoSeries
        Polygons in any CRS. What lies outside the region is not counted, and has no colour.
    label : str, optional
        The column that names them; otherwise the frame's index does.
    tiles, attr
        As for ``base_map``.

    Raises
    ------
    InputError
        If there is no such column, the frame has no CRS, or a shape is not a valid polygon.

    Examples
    --------
    >>> import geopandas as gpd, shapely, snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    >>> release = data.release(snh.UniformGrid(), epsilon=1)
    >>> halves = [shapely.box(-96.9, 46.8, -96.8, 47), shapely.box(-96.8, 46.8, -96.7, 47)]
    >>> frame = gpd.GeoDataFrame({"side": ["west", "east"]}, geometry=halves, crs=4326)
    >>> fmap = district_map(release, frame, label="side")  # fmap.save("districts.html")
    """
    overlay = district_overlay(release, districts, release.method, label=label)
    fmap = base_map(release.region, tiles=tiles, attr=attr)
    _Districts(overlay).add_to(fmap)
    return fmap


def district_overlay(
    release: "Release",
    districts: "gpd.GeoDataFrame | gpd.GeoSeries",
    title: str,
    *,
    label: str | None = None,
) -> dict[str, Any]:
    """The same as a layer of a ``DrawMap``, ready for JSON.

    Returns
    -------
    dict
        ``districts`` (GeoJSON in degrees) and ``legend``.
    """
    shapes = Districts.of(release.region, districts, label)
    counts, errors = release.answer(districts), release.standard_error(districts)
    return shapes.overlay(counts, errors, shapes.scale([counts]), title)


@dataclass(frozen=True, eq=False, repr=False)
class Districts:
    """Polygons as they lie in a region, to be coloured by several releases' counts.

    Parameters
    ----------
    frame : GeoDataFrame or GeoSeries
        What a release is asked, q rows.
    names : list of str
        What each is called.
    shapes : array of shapely geometries, shape (q,)
        In the region's metres, cut to about the region.
    area_m2 : ndarray, shape (q,)
        Of the part in the region.
    share : ndarray, shape (q,)
        Of the whole area that lies in the region.
    drawn : list of dict
        GeoJSON geometries in degrees, of the part in the region if there is one.
    """

    frame: "gpd.GeoDataFrame | gpd.GeoSeries"
    names: list[str]
    shapes: NDArray[Any]
    area_m2: NDArray[np.float64]
    share: NDArray[np.float64]
    drawn: list[dict[str, Any]]

    @classmethod
    def of(
        cls, region: Region, frame: "gpd.GeoDataFrame | gpd.GeoSeries", label: str | None = None
    ) -> "Districts":
        """Cut a frame's polygons to a region; ``label`` is the column that names them."""
        names = _names(frame, label)
        shapes = polygons_in(region, frame)
        inside = shapely.intersection(shapes, shapely.box(0, 0, region.side_m, region.side_m))
        area = shapely.area(inside)
        whole = frame.to_crs(region.crs).area.to_numpy()
        drawn = _in_degrees(region, np.where(area > 0, inside, shapes))
        geometries = [json.loads(shape) for shape in drawn]
        return cls(frame, names, shapes, area, area / np.maximum(whole, 1e-9), geometries)

    @property
    def titles(self) -> list[str]:
        """The names, with a word on those that are not wholly counted."""
        said = np.select(
            [self.share <= 0, self.share < _WHOLE], [" (outside)", " (reaches outside)"], ""
        )
        return [name + word for name, word in zip(self.names, said, strict=True)]

    def density(self, counts: NDArray) -> NDArray[np.float64]:
        """Records per km², shape (q,); nan outside the region."""
        return counts * 1e6 / np.where(self.area_m2 > 0, self.area_m2, np.nan)

    def scale(self, counts: Iterable[NDArray]) -> ColourScale:
        """One scale of colours for the counts of all releases compared."""
        densities = [self.density(each) for each in counts]
        known = [density[self.area_m2 > 0].max(initial=0.01) for density in densities]
        return ColourScale.up_to(max(known, default=1.0), _UNIT)

    def overlay(
        self, counts: NDArray, errors: NDArray, scale: ColourScale, title: str
    ) -> dict[str, Any]:
        """What ``district_overlay`` returns, of counts and standard errors, shape (q,)."""
        density = self.density(counts)
        colours = scale.palette[scale.levels(np.nan_to_num(density))]
        features = [
            {
                "type": "Feature",
                "geometry": self.drawn[k],
                "properties": {
                    "colour": "#" + bytes(colours[k]).hex() if self.share[k] > 0 else None,
                    "lines": [
                        self.names[k],
                        *_lines(counts[k], errors[k], density[k], self.share[k]),
                    ],
                },
            }
            for k in np.flatnonzero(~shapely.is_empty(self.shapes))
        ]
        return {
            "districts": {"type": "FeatureCollection", "features": features},
            "legend": scale.legend(title),
        }


def _names(districts: "gpd.GeoDataFrame | gpd.GeoSeries", label: str | None) -> list[str]:
    if label is None:
        return [str(name) for name in districts.index]
    columns = [str(name) for name in getattr(districts, "columns", [])]
    if label not in columns:
        raise InputError(f"there is no column {label!r}; there are {', '.join(columns) or 'none'}.")
    return [str(name) for name in districts[label]]


def _lines(count: float, error: float, density: float, share: float) -> list[str]:
    """What a tooltip says."""
    if share <= 0:
        return ["outside the region: not counted"]
    known = "" if np.isnan(error) else f" ± {error:,.1f} (standard error of the noise)"
    lines = [f"{count + 0:,.1f} records{known}", f"{density:,.1f} {_UNIT.partition(' ')[2]}"]
    part = [] if share >= _WHOLE else [f"{share:.0%} of it lies in the region and is counted"]
    return lines + part


def _in_degrees(region: Region, shapes: NDArray[Any]) -> NDArray[Any]:
    """GeoJSON geometries of shapes in the region's metres."""

    def degrees(xy: NDArray[np.float64]) -> NDArray[np.float64]:
        lat, lon = region.to_latlon(xy)
        return np.stack([lon, lat], axis=1).round(6)

    simple = shapely.simplify(shapes, region.side_m / _FINEST)
    return shapely.to_geojson(shapely.transform(simple, degrees))
