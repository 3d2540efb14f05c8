"""Maps that need no network: a region, released surfaces, and boxes with their answers."""

import html
import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import folium
import numpy as np
from branca.element import Element, MacroElement
from jinja2 import Template

from snhkit.errors import InputError, SnhkitError
from snhkit.geometry import RangeQueries, Region
from snhkit.viz.maps.surface import ColourScale, Surface, surface_overlay

if TYPE_CHECKING:
    from snhkit.release import Release

__all__ = ["base_map", "compare_map", "embeds_everything", "folium_of", "to_html"]

_HERE = Path(__file__).parent
BOX_STYLE = {
    "color": "#ffffff",  # with a dark halo from the style sheet: seen on any colour
    "opacity": 1,
    "weight": 2,
    "fillOpacity": 0,
    "className": "snhkit-box",
}
# First in the page, this makes "no network" a rule that the browser enforces.
_CSP = (
    "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; img-src data: blob:; "
    "font-src data:; style-src 'unsafe-inline' data:; script-src 'unsafe-inline' data:\">"
)


class _Furniture(MacroElement):
    """First view, graticule, style and legend, which later scripts of the page find by name."""

    _template = Template(
        "{% macro html(this, kwargs) %}<style>{{ this.css }}</style>{% endmacro %}"
        "{% macro script(this, kwargs) %}{{ this.js }}\n"
        "snhkit.fit({{ this._parent.get_name() }}, {{ this.bounds|tojson }});\n"
        "snhkit.graticule({{ this._parent.get_name() }});\n"
        "const snhkitLegend = snhkit.legend({{ this._parent.get_name() }});{% endmacro %}"
    )

    def __init__(self, bounds: list[list[float]]) -> None:
        super().__init__()
        self.bounds = bounds
        self.css = (_HERE / "furniture.css").read_text(encoding="utf-8")
        self.js = (_HERE / "furniture.js").read_text(encoding="utf-8")


class _LegendOfLayer(MacroElement):
    """Shows the legend of the base layer that is chosen."""

    _template = Template(
        "{% macro script(this, kwargs) %}(function (map, legends) {\n"
        "snhkitLegend(legends[0].legend);\n"
        'map.on("baselayerchange", (e) =>'
        " snhkitLegend(legends.find((one) => one.name === e.name).legend));\n"
        "})({{ this._parent.get_name() }}, {{ this.legends|tojson }});{% endmacro %}"
    )

    def __init__(self, legends: list[dict[str, Any]]) -> None:
        super().__init__()
        self.legends = legends


def base_map(
    region: Region, *, tiles: str | folium.TileLayer | None = None, attr: str | None = None
) -> folium.Map:
    """A map of the region: its outline, a graticule and a scale, and nothing from the network.

    With ``folium-offline`` installed (the extra ``offline``) the page holds all it needs;
    otherwise a browser loads Leaflet from the network when it shows the map.

    Parameters
    ----------
    region : Region
        What is shown.
    tiles, attr
        A background, as ``folium.Map`` takes it: its name, or the address of a tile server with
        the attribution it asks for. The server learns which part of the world is looked at.

    Examples
    --------
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> page = to_html(base_map(city))
    >>> "https://cdn" in page
    False
    """
    module = _folium()
    south, west, north, east = region.bounds
    fmap = module.Map(
        [region.lat, region.lon],
        zoom_start=11,
        tiles=tiles,
        attr=attr,
        control_scale=True,
        max_zoom=20,
        font_size="12px",
        zoom_snap=1 if tiles else 0.1,
    )
    # Leaflet alone: popups and icons would want jQuery and Bootstrap, a megabyte of them.
    fmap.default_js = [asset for asset in fmap.default_js if asset[0] == "leaflet"]
    fmap.default_css = [asset for asset in fmap.default_css if asset[0] == "leaflet_css"]
    _Furniture([[south, west], [north, east]]).add_to(fmap)
    ring = np.stack(region.ring(), axis=1).tolist()
    outline = {"weight": 1.5, "class_name": "snhkit-outline", "interactive": False}
    module.PolyLine(ring, color=None, **outline).add_to(fmap)
    return fmap


def compare_map(
    releases: "Mapping[str, Release]",
    boxes: RangeQueries | None = None,
    *,
    cell_m: float | None = None,
    tiles: str | folium.TileLayer | None = None,
    attr: str | None = None,
) -> folium.Map:
    """A map with one layer a release, chosen by radio buttons, on one shared colour scale.

    Parameters
    ----------
    releases : mapping of name to Release
        At least one, all of one region.
    boxes : RangeQueries, optional
        Drawn with every release's answer as a tooltip. Boxes laid around private records tell
        where these are: draw such boxes for the owner only.
    cell_m : float, optional
        Width in metres of the cells shown.
    tiles, attr
        As for ``base_map``.

    Raises
    ------
    InputError
        If there is no release, or regions differ.
    """
    region = _common_region(releases)
    fmap = base_map(region, tiles=tiles, attr=attr)
    module = folium_of(fmap)
    surfaces = {name: Surface.of(release, cell_m) for name, release in releases.items()}
    scale = ColourScale.shared(surfaces.values())
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
        ).add_to(fmap)
        legends.append({"name": label, "legend": overlay["legend"]})
    _LegendOfLayer(legends).add_to(fmap)
    if boxes is not None:
        _add_boxes(module, fmap, releases, boxes)
    module.LayerControl(collapsed=False).add_to(fmap)
    return fmap


def to_html(fmap: folium.Map) -> str:
    """The map as one HTML page that opens with no network.

    Raises
    ------
    SnhkitError
        If the map would have to load something: without ``folium-offline``, or with tiles.
    """
    if not embeds_everything(fmap):
        raise SnhkitError(
            "This map loads parts from the network, so it cannot be one self-contained page: "
            "install folium-offline (pip install 'snhkit[offline]') and use no tiles."
        )
    root = fmap.get_root()
    root.header.add_child(Element(_CSP), name="csp", index=0)  # type: ignore[attr-defined]
    return root.render()


def embeds_everything(fmap: folium.Map) -> bool:
    """Whether the map's page holds all it shows: made by ``folium-offline``, and no tiles."""
    has_tiles = any("TileLayer" in type(child).__name__ for child in fmap._children.values())
    return folium_of(fmap).__name__ == "offlinefolium" and not has_tiles


def folium_of(fmap: folium.Map) -> ModuleType:
    """The module that made the map, ``folium`` or ``offlinefolium``: its parts must match."""
    return importlib.import_module(type(fmap).__module__.partition(".")[0])


def _folium() -> ModuleType:
    found = importlib.util.find_spec("offlinefolium")
    return importlib.import_module("offlinefolium" if found else "folium")


def _common_region(releases: "Mapping[str, Release]") -> Region:
    regions = {release.region for release in releases.values()}
    if len(regions) != 1:
        raise InputError(f"a map shows releases of one region, not of {len(regions)}.")
    return regions.pop()


def _add_boxes(
    module: ModuleType,
    fmap: folium.Map,
    releases: "Mapping[str, Release]",
    boxes: RangeQueries,
) -> None:
    answers = [(html.escape(name), r.answer(boxes)) for name, r in releases.items()]
    group = module.FeatureGroup(name="Boxes and their answers").add_to(fmap)
    for row, corners in enumerate(boxes.corners_in_degrees().tolist()):
        lines = [f"{name}: {counts[row]:,.1f}" for name, counts in answers]
        tip = "<br>".join([f"<b>Box {row + 1}</b>, released counts", *lines])
        module.Polygon(corners, tooltip=tip, **_snake(BOX_STYLE)).add_to(group)


def _snake(style: dict[str, Any]) -> dict[str, Any]:
    """Leaflet's names as folium's Python functions spell them."""
    spelt = {"fillOpacity": "fill_opacity", "className": "class_name"}
    return {spelt.get(name, name): value for name, value in style.items()} | {"fill": True}
