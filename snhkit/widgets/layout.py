"""The layout of the explorer: a column of controls, the maps, tables and figures."""

import html
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import ipywidgets as w

from snhkit.viz.reports.story import SHIPPED, shipped_story, story_html

__all__ = ["BANNER", "SHIPPED", "Body", "Drawers", "StoryPanel"]

BANNER = (
    '<div role="note" class="snhkit-banner"><b>Teaching mode:</b> true counts are shown, which '
    "is possible only because these records are invented. True counts of real records are never "
    "shown.</div>"
)
_MOST_PANES = 3


class Body(w.Box):
    """All parts of the explorer, which the style sheet arranges to fit the available width.

    ``said`` holds the texts and tables by name: title, banner, built, verdict, table, districts.
    """

    def __init__(
        self,
        said: Mapping[str, w.HTML],
        *,
        side: Sequence[w.Widget],
        desk: w.Widget,
        stage: Sequence[w.Widget],
        every: w.Widget,
        drawers: w.Widget,
    ) -> None:
        self.fold = w.Button(
            description="☰ Controls",
            tooltip="Show or hide the column of controls",
            layout={"width": "auto"},
        )
        self.fold.on_click(self._turn)
        self._turned = False
        counts = _box("counts", [every, said["table"], said["districts"]])
        super().__init__(
            [
                _box("head", [self.fold, said["title"], desk]),
                _box("notes", [said["banner"], said["built"]]),
                _box("side", side),
                _box("stage", stage),
                _box("panel", [counts, said["verdict"], drawers]),
            ]
        )
        self.add_class("snhkit-body")
        for name, part in said.items():
            part.add_class(f"snhkit-{name}-part")
        self.set_panes(1)

    def _turn(self, _: object) -> None:
        self._turned = not self._turned
        (self.add_class if self._turned else self.remove_class)("snhkit-turned")

    def set_panes(self, count: int) -> None:
        """Arrange the parts for 1 to 3 maps side by side."""
        for k in range(1, _MOST_PANES + 1):
            (self.add_class if k == max(count, 1) else self.remove_class)(f"snhkit-panes-{k}")


def _box(name: str, parts: Sequence[w.Widget]) -> w.Box:
    box = w.VBox(list(parts))
    box.add_class(f"snhkit-{name}")
    return box


class Drawers(w.VBox):
    """Widgets that are hidden until a person presses the button with their title."""

    def __init__(self, parts: Mapping[str, w.Widget]) -> None:
        self.buttons = {title: w.ToggleButton(description=title) for title in parts}
        rows = []
        for part, button in zip(parts.values(), self.buttons.values(), strict=True):
            inside = w.VBox([part], layout={"display": "none"})
            button.tooltip = f"Show or hide: {button.description}"
            button.observe(partial(self._turn, inside), "value")
            rows += [button, inside]
        super().__init__(rows)
        self.add_class("snhkit-fold")

    def _turn(self, inside: w.VBox, change: dict[str, Any]) -> None:
        inside.layout.display = "" if change["new"] else "none"


class StoryPanel(w.VBox):
    """A button that calls ``left``, above the story of epsilon in a sandboxed frame.

    With ``framed=False`` the page around the panel has the frame, as the app's page does.
    """

    def __init__(self, left: Callable[[], object], *, framed: bool) -> None:
        self.play = w.Button(
            description="Play with a budget →",
            button_style="primary",
            tooltip="Choose methods, spend a budget, draw boxes, open a file of your own",
            layout={"width": "auto"},
        )
        self.play.on_click(lambda _: left())
        super().__init__([self.play, *([_story()] if framed else [])])
        self.add_class("snhkit-story")


def _story() -> w.HTML:
    page = html.escape(story_html(shipped_story()))
    frame = f'<iframe title="What epsilon does" sandbox="allow-scripts" srcdoc="{page}"></iframe>'
    return w.HTML(frame).add_class("snhkit-story-frame")
