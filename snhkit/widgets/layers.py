"""What lies on the maps: which release on which, with or without its cells."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ipywidgets as w

from snhkit.viz.cells import cell_outlines
from snhkit.viz.surface import ColourScale, Surface, surface_overlay
from snhkit.widgets.session import Session

__all__ = ["Layers"]

TRUTH, NOTHING, NO_MAP = "Truth", "No picture", "—"
_LABELS = ("On the map", "beside it", "and")


class Layers(w.HBox):
    """Three choices, one for each of up to three maps, and whether cells are outlined."""

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed, self._offering = changed, False
        self.choices = [
            w.Dropdown(
                options=[NO_MAP if k else NOTHING],
                description=label,
                style={"description_width": "auto"},
                layout={"width": "auto", "flex": "1 1 0", "min_width": "0"},
            )
            for k, label in enumerate(_LABELS)
        ]
        self.cells = w.Checkbox(
            description="Outline the cells", indent=False, layout={"width": "auto"}
        )
        super().__init__([*self.choices, self.cells])
        self.add_class("snhkit-layers")
        for choice in (*self.choices, self.cells):
            choice.observe(self._tell, "value")

    def _tell(self, _: object) -> None:
        if not self._offering:
            self._changed()

    def offer(self, session: Session, *, truth: bool) -> None:
        """Let the newest releases be chosen first, and the truth only if it may be shown."""
        newest = [*reversed(session.built), *([TRUTH] if truth else [])]
        for k, choice in enumerate(self.choices):
            before, was_empty = choice.value, len(choice.options) == 1
            none = NO_MAP if k else NOTHING
            options = [none, *newest] if k else [*newest, none]
            if list(choice.options) == options:
                continue
            self._offering = True  # or each step would draw
            choice.options = options
            choice.value = options[0] if before not in options or (was_empty and not k) else before
            self._offering = False

    def shown(self, session: Session) -> list[dict[str, Any]]:
        """A layer for each map, on one scale of colours, for ``DrawMap.layers``."""
        names = [c.value for k, c in enumerate(self.choices) if not k or c.value != NO_MAP]
        surfaces = [one.surface for one in session.built.values()]
        scale = ColourScale.shared(
            surfaces or [session.true_surface] if TRUTH in names else surfaces
        )
        layers = [self._layer(session, str(name), scale) for name in names]
        with_legend = [layer["legend"] for layer in layers if layer]
        for legend in with_legend[:-1]:  # one scale, said once
            for part in ("colours", "ticks", "unit"):
                del legend[part]
        return layers

    def _layer(self, session: Session, name: str, scale: ColourScale) -> dict[str, Any]:
        if name == NOTHING:
            return {}
        built = session.built.get(name)
        surface = session.true_surface if built is None else built.surface
        picture = _picture(surface, scale, name)
        cells, note = _cells(built.release) if built and self.cells.value else (None, "")
        return {**picture, "cells": cells, "legend": {**picture["legend"], "note": note}}


_cells = lru_cache(maxsize=8)(cell_outlines)


@lru_cache(maxsize=32)
def _picture(surface: Surface, scale: ColourScale, title: str) -> dict[str, Any]:
    return surface_overlay(surface, scale, title)
