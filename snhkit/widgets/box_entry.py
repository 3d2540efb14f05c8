"""A text field and buttons that add boxes to a map and remove them."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.widgets import samples
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.wording import message, parse_box

_TOOLTIPS = {
    "Sample 100 boxes": "Replace all boxes by 100 random squares of the chosen sizes",
    "Remove": "Remove the picked box, or the one with the highest number",
    "Clear": "Remove all boxes",
}


class BoxEntry(w.VBox):
    """A text field that adds a box to a map, and buttons that sample and remove boxes."""

    def __init__(
        self, draw_map: DrawMap, region: Callable[[], Region], sample: Callable[[], object]
    ) -> None:
        self._map, self._region, self._sample = draw_map, region, sample
        self.text = w.Text(
            placeholder="south, west, north, east; Enter",
            description="Type a box",
            tooltip="South, west, north and east of a box, in degrees; Enter adds it",
            layout={"flex": "1 1 250px", "min_width": "0", "width": "auto"},
            style={"description_width": "auto"},
        )
        self.message = w.HTML()
        buttons = {
            "Sample 100 boxes": self._sampled,
            "Remove": self._remove,
            "Clear": self._clear,
        }
        self.text.on_msg(self._entered)
        self.text.observe(lambda _: self.say(""), "value")
        self.buttons = {
            name: w.Button(description=name, tooltip=_TOOLTIPS[name], layout={"width": "auto"})
            for name in buttons
        }
        for name, action in buttons.items():
            self.buttons[name].on_click(action)
        self.buttons["Sample 100 boxes"].button_style = "primary"
        line = w.HBox([self.text, *self.buttons.values()])
        line.add_class("snhkit-entry")
        super().__init__([line, self.message])

    def say(self, text: str) -> None:
        """Show a message, such as why a box was refused; an empty text removes the message."""
        self.message.value = message(text, error=True) if text else ""

    def refuse(self, numbers: Sequence[int]) -> None:
        """Show that the boxes with these numbers lie outside the region and were removed."""
        which = f"Box {numbers[0]} was" if len(numbers) == 1 else f"{len(numbers)} boxes were"
        self.say(f"{which} removed. Draw boxes that overlap the region, the outlined square.")

    def _entered(self, _: Any, content: Any, __: Any) -> None:
        if content.get("event") == "submit":
            self._add()

    def _add(self) -> None:
        try:
            box = parse_box(self.text.value)
        except InputError as error:
            self.say(str(error))
            return
        if not samples.inside(self._region(), [box])[0]:
            south, west, north, east = self._region().bounds
            self.say(
                "This box lies outside the region, where nothing was counted. Give a box between "
                f"latitudes {south:.4f} and {north:.4f} and longitudes {west:.4f} and {east:.4f}."
            )
            return
        self._map.boxes = [*self._map.boxes, box]
        self.text.value = ""
        self.say("")

    def _sampled(self, _: Any) -> None:
        try:
            self._sample()
        except InputError as error:
            self.say(str(error))
        else:
            self.say("")

    def _remove(self, _: Any) -> None:
        self.say("")
        boxes, picked = self._map.boxes, self._map.picked
        gone = picked if 0 <= picked < len(boxes) else len(boxes) - 1
        self._map.picked = -1
        self._map.boxes = [box for k, box in enumerate(boxes) if k != gone]

    def _clear(self, _: Any) -> None:
        self.say("")
        self._map.boxes = []
