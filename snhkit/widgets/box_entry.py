"""Boxes that are typed in degrees instead of drawn with a mouse."""

from typing import Any

import ipywidgets as w

from snhkit.errors import InputError
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.wording import message, parse_box

__all__ = ["BoxEntry"]

_TOOLTIPS = {
    "Add": "Add the box that is typed",
    "Remove last": "Remove the box with the highest number",
    "Clear": "Remove all boxes",
}


class BoxEntry(w.VBox):
    """A text field that adds a box to a map, and buttons that remove boxes.

    Parameters
    ----------
    draw_map : DrawMap
        The map whose boxes are changed.
    """

    def __init__(self, draw_map: DrawMap) -> None:
        self._map = draw_map
        self.text = w.Text(
            placeholder="south, west, north, east in degrees",
            description="Type a box",
            tooltip="South, west, north and east of a box, in degrees",
            layout={"flex": "1 1 0", "min_width": "0", "width": "auto"},
            style={"description_width": "auto"},
        )
        self.message = w.HTML()
        buttons = {"Add": self._add, "Remove last": self._remove_last, "Clear": self._clear}
        self.buttons = {
            name: w.Button(description=name, tooltip=_TOOLTIPS[name], layout={"width": "auto"})
            for name in buttons
        }
        for name, action in buttons.items():
            self.buttons[name].on_click(action)
        super().__init__([w.HBox([self.text, *self.buttons.values()]), self.message])

    def _add(self, _: Any) -> None:
        try:
            box = parse_box(self.text.value)
        except InputError as error:
            self.message.value = message(str(error), error=True)
            return
        self._map.boxes = [*self._map.boxes, box]
        self.text.value = self.message.value = ""

    def _remove_last(self, _: Any) -> None:
        self._map.boxes = self._map.boxes[:-1]

    def _clear(self, _: Any) -> None:
        self._map.boxes = []
