"""A map in a notebook on which a person draws rectangles that Python reads and sets."""

import importlib
import math
import secrets
from pathlib import Path
from typing import Any

import anywidget
import folium
import traitlets
from branca.element import MacroElement
from jinja2 import Template

from snhkit.viz.maps.maps import BOX_STYLE, embeds_everything, folium_of, to_html

__all__ = ["DrawMap"]

_HERE = Path(__file__).parent


class _Bridge(MacroElement):
    """A map element with the script that exchanges messages with the notebook."""

    _template = Template(
        "{% macro script(this, kwargs) %}{{ this.js }}\n"
        "drawBridge({{ this.map_name }}, {{ this.group_name }}, {{ this.token|tojson }},"
        " {{ this.style|tojson }}, {{ this.map_name }}.snhkitLegend, {{ this.square|tojson }});"
        "{% endmacro %}"
    )

    def __init__(
        self, fmap: folium.Map, group: folium.FeatureGroup, token: str, *, square: bool
    ) -> None:
        super().__init__()
        parts = ("panes.js", "boxes.js", "cards.js", "draw_bridge.js")
        self.js = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in parts)
        self.map_name, self.group_name = fmap.get_name(), group.get_name()
        self.token, self.style, self.square = token, BOX_STYLE, square


class DrawMap(anywidget.AnyWidget):
    """A map on which a person draws rectangles; Python reads and sets them.

    The map's page is in a sandboxed frame, which cannot access the notebook around it.

    Parameters
    ----------
    fmap : folium.Map
        A map made by ``snhkit.viz.maps.base_map``. A drawing tool is added to the map, so use a map
        for one ``DrawMap`` only.
    square : bool
        Whether the map has at most one rectangle, which is a square, and which a click puts there.

    Attributes
    ----------
    boxes : list of [south, west, north, east]
        The rectangles in degrees, in the order of the numbers drawn on them. Setting the list
        changes the map; ``observe(..., "boxes")`` calls a function whenever the list changes.
    layers : list of dict
        Coloured cells or districts to show under the rectangles, made by
        ``snhkit.viz.maps.surface.surface_overlay`` or
        ``snhkit.viz.maps.districts.district_overlay``. Each layer gets a map of its own, side by
        side; without layers, there is one map. The maps move together, and the leftmost map has the
        drawing tools.
    cards : list of dict
        For each rectangle the card that the map shows at it, while a pointer is over it or while
        it is picked; made by ``snhkit.widgets.tables.cards``.
    picked : int
        The index of the rectangle that a person picked to move, resize or remove it; -1 for none.
    view : list of float
        South, west, north and east of the area to show, in degrees; setting the list moves the
        map.
    height : int
        Height of the map in pixels; 0 for the height of the element around the map.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> from snhkit.viz.maps.maps import base_map
    >>> city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    >>> draw = DrawMap(base_map(city), boxes=[[37.76, -122.45, 37.78, -122.41]])
    >>> draw.boxes = draw.boxes + [[37.75, -122.45, 37.76, -122.44]]
    """

    _esm = _HERE / "draw_map.js"
    # The kernel need not repeat what the browser tells it, before it answers.
    boxes = traitlets.List(traitlets.List(traitlets.Float(), minlen=4, maxlen=4)).tag(
        sync=True, echo_update=False
    )
    layers = traitlets.List(traitlets.Dict()).tag(sync=True)
    cards = traitlets.List(traitlets.Dict()).tag(sync=True)
    picked = traitlets.Int(-1).tag(sync=True, echo_update=False)
    view = traitlets.List(traitlets.Float()).tag(sync=True)
    height = traitlets.Int(380).tag(sync=True)
    _html = traitlets.Unicode().tag(sync=True)
    _token = traitlets.Unicode().tag(sync=True)

    def __init__(self, fmap: folium.Map, *, square: bool = False, **traits: Any) -> None:
        token = secrets.token_hex(16)
        super().__init__(_token=token, _html=_page(fmap, token, square=square), **traits)

    def show(self, fmap: folium.Map) -> None:
        """Replace the map by another map, and remove all boxes and layers."""
        token = secrets.token_hex(16)  # so that late messages from the old page are not accepted
        with self.hold_sync():
            self.boxes, self.layers, self.cards, self.picked = [], [], [], -1
            self.view = []
            self._token = token
            self._html = _page(fmap, token, square=False)

    @traitlets.validate("boxes")
    def _check_boxes(self, proposal: Any) -> list[list[float]]:
        for s, w, n, e in proposal["value"]:
            if not (all(map(math.isfinite, (s, w, n, e))) and -90 <= s <= n <= 90 and w <= e):
                raise traitlets.TraitError(
                    "a box must be [south, west, north, east] in degrees, with south <= north and "
                    f"west <= east, not {[s, w, n, e]}."
                )
        return proposal["value"]


def _page(fmap: folium.Map, token: str, *, square: bool) -> str:
    module = folium_of(fmap)
    group = module.FeatureGroup(name="boxes", control=False).add_to(fmap)
    others = dict.fromkeys(["polyline", "polygon", "circle", "marker", "circlemarker"], False)
    importlib.import_module(module.__name__ + ".plugins").Draw(
        feature_group=group,
        show_geometry_on_click=False,  # the sandbox blocks alert()
        edit_options={"edit": False, "remove": False},  # boxes are changed where they lie
        draw_options={**others, "rectangle": {"showArea": False, "shapeOptions": BOX_STYLE}},
    ).add_to(fmap)
    _Bridge(fmap, group, token, square=square).add_to(fmap)
    return to_html(fmap) if embeds_everything(fmap) else fmap.get_root().render()
