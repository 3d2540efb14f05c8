"""Parts that all maps have: land, a graticule (lines of latitude and longitude), a legend."""

from pathlib import Path
from typing import Any

from branca.element import Element, MacroElement
from jinja2 import Template

__all__ = ["Furniture", "LegendOfLayer"]

_HERE = Path(__file__).parent


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


class LegendOfLayer(MacroElement):
    """A map element that shows the legend of the layer whose radio button is selected."""

    _template = Template(
        "{% macro script(this, kwargs) %}snhkit.legendOfLayer("
        "{{ this._parent.get_name() }}, {{ this.legends|tojson }});{% endmacro %}"
    )

    def __init__(self, legends: list[dict[str, Any]]) -> None:
        super().__init__()
        self.legends = legends
