"""Folium maps of a region, of releases, and of boxes with their released counts."""

import html
import importlib
import importlib.util
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import folium
import numpy as np
from branca.element import Element, MacroElement
from jinja2 import Template

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import RangeQueries, Region
from snhkit.markup import number
from snhkit.release import Release
from snhkit.viz.maps.land import land
from snhkit.viz.maps.local_tiles import is_local, local_tiles
from snhkit.viz.maps.surface import ColourScale, Surface, surface_overlay

_HERE = Path(__file__).parent
_EARTH = -58.0, -175.0, 78.0, 179.0  # south, west, north, east of all that is inhabited


class Furniture(MacroElement):
    """Land, graticule and legend of a map, with the styles and JavaScript that they need.

    With ``bounds=None``, the area that the map shows does not change.
    """

    _template = Template(
        "{% macro script(this, kwargs) %}"
        "{% if this.bounds %}"
        "snhkit.fit({{ this._parent.get_name() }}, {{ this.bounds|tojson }});\n"
        "snhkit.home({{ this._parent.get_name() }}, {{ this.bounds|tojson }});\n"
        "snhkit.wheel({{ this._parent.get_name() }});\n"
        "{% endif %}"
        "{% if this.land %}"
        "snhkit.land({{ this._parent.get_name() }}, {{ this.land|tojson }});\n"
        "{% endif %}"
        "snhkit.graticule({{ this._parent.get_name() }});\n"
        "{{ this._parent.get_name() }}.snhkitLegend ="
        " snhkit.legend({{ this._parent.get_name() }});{% endmacro %}"
    )

    def __init__(
        self, bounds: list[list[float]] | None, land: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.bounds, self.land = bounds, land

    def render(self, **kwargs: Any) -> None:
        """Add the map's scripts to the page, and the styles and functions of all maps once."""
        figure: Any = self.get_root()
        css = (_HERE / "furniture.css").read_text(encoding="utf-8")
        js = (_HERE / "furniture.js").read_text(encoding="utf-8")
        # The name makes folium add the styles and functions once per page, for any number of maps.
        figure.html.add_child(Element(f"<style>{css}</style>"), name="snhkit_css")
        figure.script.add_child(Element(js), name="snhkit_js")
        super().render(**kwargs)


class Call(MacroElement):
    """A map element that calls a function of furniture.js with the map and JSON values."""

    _template = Template(
        "{% macro script(this, kwargs) %}snhkit.{{ this.function }}({{ this._parent.get_name() }}"
        "{% for value in this.values %}, {{ value|tojson }}{% endfor %});{% endmacro %}"
    )

    def __init__(self, function: str, *values: Any) -> None:
        super().__init__()
        self.function, self.values = function, values


BOX_STYLE = {
    "color": "#ffffff",  # the style sheet adds a dark halo, so boxes are visible on any colour
    "opacity": 1,
    "weight": 2,
    "fillOpacity": 0,
    "className": "snhkit-box",
}
# At the start of a page, this policy makes the browser refuse every request to the network.
_CSP = (
    "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; img-src data: blob:; "
    "font-src data:; style-src 'unsafe-inline' data:; script-src 'unsafe-inline' data:\">"
)


def base_map(
    region: Region | None,
    *,
    m: folium.Map | None = None,
    tiles: str | os.PathLike[str] | folium.TileLayer | None = None,
    attr: str | None = None,
) -> folium.Map:
    """Return a map of a region's outline, with coasts, borders, a graticule and a scale bar.

    By default, the map loads no background from the network, and shows coarse coasts, borders and
    names (see ``snhkit.viz.maps.land``). If ``folium-offline`` is installed (the extra
    ``offline``), the page contains all its scripts and styles. Otherwise, the browser that shows
    the map loads Leaflet, the map library, from the network.

    Parameters
    ----------
    region : Region or None
        The region to show; None for the whole earth.
    m : folium.Map, optional
        An existing map to which the outline and the graticule are added; the map's view does not
        change.
    tiles, attr : str, path or folium.TileLayer, optional
        The background of a new map. The path of a local file ``*.mbtiles`` with PNG, JPEG or WebP
        tiles is embedded around the region, and nothing is requested. Otherwise, as for
        ``folium.Map``: the name of a tile set, or the address of a tile server together with the
        attribution that the server requires. A tile server sees where one looks.

    Returns
    -------
    folium.Map
        The new map, or ``m``.

    Raises
    ------
    InputError
        If ``m`` is not a folium map, or ``tiles`` or ``attr`` is given together with ``m``.

    Examples
    --------
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> page = to_html(base_map(city))
    >>> "https://cdn" in page
    False
    """
    south, west, north, east = _EARTH if region is None else region.bounds
    if region is None and is_local(tiles):
        tiles = attr = None  # they are tiles of one region
    if m is None:
        bounds = [[south, west], [north, east]]
        m = _new_map(None if is_local(tiles) else tiles, attr, smooth=tiles is None)
    elif tiles is not None or attr is not None:
        raise InputError(
            "tiles and attr set the background of a new map; leave them out if you give m."
        )
    else:
        bounds = None
    module = folium_of(m)
    if "snhkit_furniture" not in m._children:
        ground = land(region) if bounds is not None and tiles is None else None
        m.add_child(Furniture(bounds, ground), name="snhkit_furniture")
    if region is None:
        return m
    if is_local(tiles) and isinstance(tiles, (str, os.PathLike)):
        m.add_child(Call("localTiles", *local_tiles(tiles, region, attr)))
    ring = np.stack(region.ring(), axis=1).tolist()
    style = {"weight": 1.5, "class_name": "snhkit-outline", "interactive": False}
    outline = module.PolyLine(ring, color=None, **style)
    m.add_child(outline, name=f"snhkit_outline of {region}")
    return m


def compare_map(
    releases: Mapping[str, Release],
    boxes: RangeQueries | None = None,
    *,
    m: folium.Map | None = None,
    cell_m: float | None = None,
    tiles: str | os.PathLike[str] | folium.TileLayer | None = None,
    attr: str | None = None,
) -> folium.Map:
    """Return a map with a layer of released counts for each release, chosen by radio buttons.

    All layers share one colour scale.

    Parameters
    ----------
    releases : mapping of str to Release
        Releases of one region, by the name to show; at least one.
    boxes : RangeQueries, optional
        Boxes to draw, each with a tooltip that shows the count of every release. Boxes that were
        placed around private records reveal where the records are, so such a map is for the owner
        of the records only.
    m : folium.Map, optional
        An existing map to which the layers are added; the map's view does not change.
    cell_m : float, optional
        Width, in metres, of the squares whose counts are shown as colours; by default, the smallest
        of 1, 2, 5, 10, ... metres with at most 150 squares per side of the region.
    tiles, attr : str or folium.TileLayer, optional
        The background of a new map, as for ``base_map``.

    Returns
    -------
    folium.Map
        The new map, or ``m``.

    Raises
    ------
    InputError
        If there is no release, the releases' regions differ, ``m`` is not a folium map or already
        has a layer with the name of a release, or ``tiles`` or ``attr`` is given together with
        ``m``.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> releases = {"UG": data.release(snh.UniformGrid(), epsilon=0.5)}
    >>> fmap = snh.compare_map(releases)  # fmap.save("releases.html")
    >>> snh.compare_map({"other": releases["UG"]}, m=fmap) is fmap
    True
    """
    region = _common_region(releases)
    surfaces = {name: Surface.drawn(release, cell_m) for name, release in releases.items()}
    scale = ColourScale.shared(surfaces.values())
    if m is not None:
        _make_room(m, releases)
    m = base_map(region, m=m, tiles=tiles, attr=attr)
    module = folium_of(m)
    images = importlib.import_module(module.__name__ + ".raster_layers")
    legends = []
    for name, surface in surfaces.items():
        overlay = surface_overlay(surface, scale, name)
        south, west, north, east = overlay["bounds"]
        label = html.escape(name)  # Leaflet's layer control takes names as HTML
        images.ImageOverlay(
            overlay["image"],
            [[south, west], [north, east]],
            name=label,
            overlay=False,
            show=not legends,
            alt=overlay["alt"],
        ).add_to(m)
        note = {"note": stamp(releases[name])} if hasattr(releases[name], "epsilon") else {}
        legends.append({"name": label, "legend": overlay["legend"] | note})
    Call("legendOfLayer", legends).add_to(m)
    if boxes is not None:
        _add_boxes(module, m, releases, boxes)
    _control_last(module, m)
    return m


def to_html(fmap: folium.Map) -> str:
    """Return a map as one HTML page that requests nothing; SnhkitError if it would."""
    if not embeds_everything(fmap):
        raise SnhkitError(
            "This map loads parts from the network, so the map cannot be saved as one "
            "self-contained page. Install folium-offline (pip install 'snhkit[offline]'), and make "
            "the map without tiles."
        )
    root = fmap.get_root()
    root.header.add_child(Element(_CSP), name="csp", index=0)  # type: ignore[attr-defined]
    return root.render()


def embeds_everything(fmap: folium.Map) -> bool:
    """Return whether a map needs no network: it has no tiles and uses ``folium-offline``."""
    has_tiles = any("TileLayer" in type(child).__name__ for child in fmap._children.values())
    return folium_of(fmap).__name__ == "offlinefolium" and not has_tiles


def folium_of(fmap: folium.Map) -> ModuleType:
    """Return the package that made a map, ``folium`` or ``offlinefolium``.

    Parts that are added to the map must come from the same package.

    Parameters
    ----------
    fmap : folium.Map
        The map.

    Raises
    ------
    InputError
        If the object is not a folium map.

    Examples
    --------
    >>> import folium
    >>> folium_of(folium.Map()).__name__
    'folium'
    """
    for kind in type(fmap).__mro__:
        package = kind.__module__.partition(".")[0]
        if kind.__name__ == "Map" and package in ("folium", "offlinefolium"):
            return importlib.import_module(package)
    raise InputError(f"m must be a folium.Map, not an object of type {type(fmap).__name__}.")


def stamp(release: Release) -> str:
    """Return a line of text for a legend: epsilon, the unit of privacy and today's date."""
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"{release.price}, hides {release.unit.sentence}; drawn {today}"


def _new_map(tiles: Any, attr: str | None, *, smooth: bool) -> folium.Map:
    found = importlib.util.find_spec("offlinefolium")
    module = importlib.import_module("offlinefolium" if found else "folium")
    fmap = module.Map(
        [0, 0],  # the map is fitted to its region in the page
        zoom_start=1,
        tiles=tiles,
        attr=attr,
        control_scale=True,
        max_zoom=20,
        font_size="12px",
        zoom_snap=0.1 if smooth else 1,
    )
    # Only Leaflet is kept. jQuery and Bootstrap, about a megabyte, would be needed for popups.
    fmap.default_js = [asset for asset in fmap.default_js if asset[0] == "leaflet"]
    fmap.default_css = [asset for asset in fmap.default_css if asset[0] == "leaflet_css"]
    return fmap


def _common_region(releases: Mapping[str, Release]) -> Region:
    regions = {release.region for release in releases.values()}
    if len(regions) != 1:
        raise InputError(
            f"a map needs releases of one region, not {len(releases)} releases of {len(regions)} "
            "regions; give at least one release, and only releases of the same region."
        )
    return regions.pop()


def _make_room(m: folium.Map, releases: Mapping[str, Release]) -> None:
    """Hide the pictures of counts that a map shows; raise InputError if it has a release's name."""
    folium_of(m)
    layers: list[Any] = [child for child in m._children.values() if hasattr(child, "layer_name")]
    taken = {layer.layer_name for layer in layers}
    for name in releases:
        if html.escape(name) in taken:
            raise InputError(
                f"the map m already has a layer called {name!r}; give the release another name."
            )
    for layer in layers:
        if type(layer).__name__ == "ImageOverlay" and not layer.overlay:
            layer.show = False


def _control_last(module: ModuleType, m: folium.Map) -> None:
    """Move or add the layer control behind all layers, to which its script refers."""
    for name, child in m._children.items():
        if type(child).__name__ == "LayerControl":
            m._children.move_to_end(name)
            return
    module.LayerControl(collapsed=False).add_to(m)


def _add_boxes(
    module: ModuleType,
    fmap: folium.Map,
    releases: Mapping[str, Release],
    boxes: RangeQueries,
) -> None:
    answers = [(html.escape(name), r.answer(boxes)) for name, r in releases.items()]
    group = module.FeatureGroup(name="Boxes and their counts").add_to(fmap)
    for row, corners in enumerate(boxes.corners_in_degrees().tolist()):
        lines = [f"{name}: {number(counts[row])}" for name, counts in answers]
        tip = "<br>".join([f"<b>Box {row + 1}</b>, released counts", *lines])
        module.Polygon(corners, tooltip=tip, **_snake(BOX_STYLE)).add_to(group)
        label = f'<span class="snhkit-number">{row + 1}</span>'
        icon = module.DivIcon(html=label, class_name="", icon_size=(0, 0), icon_anchor=(-3, 8))
        module.Marker(corners[2], icon=icon, interactive=False, keyboard=False).add_to(group)


def _snake(style: dict[str, Any]) -> dict[str, Any]:
    """Return Leaflet's style options under the names that folium's functions use."""
    spelt = {"fillOpacity": "fill_opacity", "className": "class_name"}
    return {spelt.get(name, name): value for name, value in style.items()} | {"fill": True}
