"""The menus for the releases on the maps, and the tick boxes for how the maps are drawn."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ipywidgets as w
import numpy as np
import pandas as pd

from snhkit.districts.districts import LocalDistricts
from snhkit.geometry.strata import By
from snhkit.methods import METHODS
from snhkit.viz.maps.districts import coloured, outlines, scale_of
from snhkit.viz.maps.surface import ColourScale, Surface, cell_outlines, surface_overlay
from snhkit.widgets.session import Session

TRUTH, NOTHING, NO_MAP = "Truth", "No picture", "—"
_LEARNED = tuple(METHODS[key].title for key in ("denoised", "snh", "snh-paper"))
_LABELS = ("On the map", "beside it", "and")


class Layers(w.HBox):
    """Menus for the releases on up to three maps, and tick boxes for how the maps are drawn."""

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed, self._offering, self._chosen = changed, False, False
        self.choices = [
            w.Dropdown(
                options=[NO_MAP if k else NOTHING],
                description=label,
                tooltip="Release shown on this map; all maps share one colour scale",
                style={"description_width": "auto"},
                layout={"width": "auto", "flex": "1 1 0", "min_width": "min-content"},
            )
            for k, label in enumerate(_LABELS)
        ]
        self.cells, self.by_district = (
            w.Checkbox(description=words, tooltip=tip, indent=False, layout={"width": "auto"})
            for words, tip in (
                ("Outline the cells", "Outline the cells of each release"),
                ("By district", "Colour the districts instead of the cells"),
            )
        )
        super().__init__([*self.choices, self.cells])
        self.add_class("snhkit-layers")
        for choice in (*self.choices, self.cells, self.by_district):
            choice.observe(self._report, "value")

    def _report(self, change: dict[str, Any]) -> None:
        if not self._offering:
            self._chosen |= change["owner"] in self.choices
            self._changed()

    def offer(self, session: Session, *, truth: bool) -> None:
        """Offer the releases of a session, newest first, and the true counts if ``truth``."""
        ticks = [self.cells] if session.districts is None else [self.cells, self.by_district]
        self.children = [*self.choices, *ticks]
        newest = [*reversed(session.built), *([TRUTH] if truth else [])]
        if not session.built:
            self._chosen = False
        first = [] if self._chosen else _first_glance(session, truth=truth)
        self._offering = True  # otherwise each assignment would redraw the maps
        for k, choice in enumerate(self.choices):
            before, none = choice.value, NO_MAP if k else NOTHING
            options = [none, *newest] if k else [*newest, none]
            if list(choice.options) != options:
                choice.options = options
                choice.value = before if before in options else options[0]
            if not self._chosen:
                choice.value = first[k] if k < len(first) else none
        self._offering = False

    @property
    def names(self) -> list[str]:
        """The selected value of each menu: a release's name, "Truth", "No picture" or "—"."""
        return [str(choice.value) for choice in self.choices]

    def by(self, session: Session) -> By | None:
        """Return the strata of the first map that has some; None if none has, or by district."""
        if session.districts is not None and self.by_district.value:
            return None
        on_maps = (session.built[name].by for name in self.names if name in session.built)
        return next((by for by in on_maps if by), None)

    def shown(
        self, session: Session, stratum: tuple[By, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return one layer per map, for ``DrawMap.layers``; all layers share one colour scale.

        With strata and the label of one of them, maps that have these strata show that one.
        """
        names = [str(c.value) for k, c in enumerate(self.choices) if not k or c.value != NO_MAP]
        wanted = [name for name in names if name != NOTHING]
        if session.districts is not None and self.by_district.value:
            pictures = _in_districts(session, session.districts, wanted)
        else:
            pictures = _in_cells(session, wanted, stratum)
        layers = [self._outlined(session, name, pictures.get(name)) for name in names]
        with_legend = [layer["legend"] for layer in layers if "legend" in layer]
        for legend in with_legend[:-1]:  # the last legend shows the scale for all maps
            for part in ("colours", "ticks", "unit"):
                del legend[part]
        return layers

    def _outlined(
        self, session: Session, name: str, picture: dict[str, Any] | None
    ) -> dict[str, Any]:
        if picture is None:
            return {} if session.districts is None else outlines(session.districts)
        built = session.built.get(name)
        cells, note = _cells(built.release) if built and self.cells.value else (None, "")
        return {**picture, "cells": cells, "legend": {**picture["legend"], "note": note}}


def _first_glance(session: Session, *, truth: bool) -> list[str]:
    """Return the names to show first, of the newest epsilon: a plain, a learned one, "Truth"."""
    kinds = {name: (one.release.epsilon, one.by) for name, one in session.built.items()}
    newest = list(kinds.values())[-1:]
    titles = {name: one.title for name, one in session.built.items() if kinds[name] in newest}
    plain = [name for name, title in titles.items() if title not in _LEARNED]
    learned = [name for wanted in _LEARNED for name, title in titles.items() if title == wanted]
    return [*plain[:1], *learned[:1], *([TRUTH] if truth and titles else [])]


_cells = lru_cache(maxsize=8)(cell_outlines)
_scale = lru_cache(maxsize=4)(ColourScale.shared)  # of a tuple of surfaces


def _in_cells(
    session: Session, names: list[str], stratum: tuple[By, str] | None
) -> dict[str, dict[str, Any]]:
    """Return a layer of coloured cells for each name; all layers share one colour scale."""
    if stratum is not None:
        return _in_stratum(session, names, *stratum)
    built = {name: one.surface for name, one in session.built.items()}
    true = {TRUTH: session.true_surface} if TRUTH in names else {}
    scale = _scale(tuple((built or true).values()))
    return {name: _picture((built | true)[name], scale, name) for name in names}


def _in_stratum(
    session: Session, names: list[str], by: By, label: str
) -> dict[str, dict[str, Any]]:
    """Return layers of one stratum; the scale is that of all strata, so that they compare."""
    divided = {name: one.surfaces for name, one in session.built.items() if one.by == by}
    scale = _scale(tuple(each for one in divided.values() for each in one.values()))
    if TRUTH in names:
        divided[TRUTH] = session.true_surfaces(by)
    found = {}
    for name in names:
        if name in divided:
            said = f"{name} · {label}"
            found[name] = _picture(divided[name][label], scale, said)
        else:
            found[name] = _picture(session.built[name].surface, scale, f"{name} · all")
    return found


@lru_cache(maxsize=128)
def _picture(surface: Surface, scale: ColourScale, title: str) -> dict[str, Any]:
    return surface_overlay(surface, scale, title)


def _in_districts(
    session: Session, districts: LocalDistricts, names: list[str]
) -> dict[str, dict[str, Any]]:
    """Return a layer of coloured districts for each name; all layers share one colour scale."""
    built, true = session.district_answers, {}
    if TRUTH in names:
        counts = pd.DataFrame({"count": session.true_districts.astype(float)})
        true = {TRUTH: counts.assign(low=np.nan, high=np.nan)}
    scale = scale_of(districts, (built or true).values())
    shown = built | true
    return {name: coloured(districts, shown[name], scale, name) for name in names}
