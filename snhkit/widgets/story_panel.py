"""The first picture of the explorer: the story of epsilon, until a person wants to play."""

import html
from collections.abc import Callable

import ipywidgets as w

from snhkit.viz.reports.story import SHIPPED, shipped_story, story_html

__all__ = ["SHIPPED", "StoryPanel"]


class StoryPanel(w.VBox):
    """The story of epsilon in a sandboxed frame, and a button that calls ``left``."""

    def __init__(self, left: Callable[[], object]) -> None:
        self.play = w.Button(
            description="Play with a budget →",
            button_style="primary",
            tooltip="Choose methods, spend a budget, draw boxes, open a file of your own",
            layout={"width": "auto"},
        )
        self.play.on_click(lambda _: left())
        page = html.escape(story_html(shipped_story()))
        frame = w.HTML(
            f'<iframe title="What epsilon does" sandbox="allow-scripts" srcdoc="{page}"></iframe>'
        )
        frame.add_class("snhkit-story-frame")
        super().__init__([self.play, frame])
        self.add_class("snhkit-story")
