"""The explorer as a stand-alone app, whose state the browser saves and a later visit restores."""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets

from snhkit.defaults import DEFAULT_EPSILON, DEFAULT_METHODS, DEFAULT_SIZES_M
from snhkit.errors import InputError, SnhkitError
from snhkit.geometry.strata import By
from snhkit.methods import METHODS
from snhkit.privacy import PrivacyUnit, exact, written
from snhkit.viz.maps.maps import base_map
from snhkit.widgets.building import Order
from snhkit.widgets.controls import Controls
from snhkit.widgets.explorer import Explorer
from snhkit.widgets.own_file import OwnFile
from snhkit.widgets.session import Session, synthetic

__all__ = ["App", "SavedState", "explore_app", "fields", "orders", "state"]

_MOST_TEXT = 200_000  # the longest state that is accepted from a browser
_LISTS = {"place": 2, "sizes": 2, "boxes": None, "built": None}  # lengths; None for any length


class _Browser(anywidget.AnyWidget):
    """The front end that reads and writes a state in the browser's storage."""

    _esm = Path(__file__).parent / "saved_state.js"
    state = traitlets.Unicode().tag(sync=True)
    stored = traitlets.Unicode().tag(sync=True)


class SavedState(w.HBox):
    """Saves a state in the browser, and offers to restore the state of an earlier visit.

    Parameters
    ----------
    go_on : callable
        A function that restores a state. It is called with the state of the earlier visit when a
        person presses "Go on".
    """

    def __init__(self, go_on: Callable[[dict[str, Any]], object]) -> None:
        self._go_on, self._state = go_on, {}
        self.browser = _Browser()
        self.words = w.HTML()
        self.buttons = [
            w.Button(description=label, tooltip=tip)
            for label, tip in (
                ("Go on", "Restore the records, boxes and releases of the earlier visit"),
                (
                    "Start over",
                    "Forget the earlier visit; epsilon spent on real records stays spent",
                ),
            )
        ]
        self._offer = w.HBox([self.words, *self.buttons], layout={"display": "none"})
        super().__init__([self.browser, self._offer])
        self.add_class("snhkit-saved")
        self.browser.observe(self._found, "stored")
        self.buttons[0].on_click(lambda _: self._answer(wanted=True))
        self.buttons[1].on_click(lambda _: self._answer(wanted=False))

    def save(self, state: dict[str, Any]) -> None:
        """Save a state of JSON values, and hide the offer to restore an earlier state."""
        self._offer.layout.display = "none"
        self.browser.state = json.dumps(state)

    def _found(self, _: object) -> None:
        state = _read(self.browser.stored)
        if state is None:
            return
        self._state = state
        title = html.escape(str(state["title"]))
        built = len(state["built"])
        self.words.value = (
            f"<p>An earlier visit had <b>{title}</b> open, with {built} "
            f"{'release' if built == 1 else 'releases'} and {len(state['boxes'])} boxes.</p>"
        )
        self._offer.layout.display = ""

    def _answer(self, *, wanted: bool) -> None:
        self._offer.layout.display = "none"
        if wanted:
            self._go_on(self._state)
        else:
            self.browser.state, self.browser.stored = " ", ""
            self.browser.state = ""


def _read(text: str) -> dict[str, Any] | None:
    """Return the state that a text from the browser holds; None if the text is not valid."""
    if not 0 < len(text) <= _MOST_TEXT:
        return None
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(state, dict) or not {*_LISTS, "title", "epsilon", "file"} <= state.keys():
        return None
    for name, length in _LISTS.items():
        value = state[name]
        if not isinstance(value, list) or (length is not None and len(value) != length):
            return None
    return state


def state(
    session: Session, controls: Controls, boxes: Sequence[Sequence[float]], file: OwnFile | None
) -> dict[str, Any]:
    """Return the state of an explorer as JSON values, none of which depends on real records.

    Parameters
    ----------
    session : Session
        The session on screen.
    controls : Controls
        The controls with the present choices.
    boxes : sequence of (south, west, north, east)
        The boxes in degrees.
    file : OwnFile, optional
        The file on screen; None for a synthetic city.
    """
    keys = {method.title: key for key, method in METHODS.items()}
    return {
        "title": session.title,
        "place": list(controls.place),
        "file": None if file is None else asdict(file),
        "epsilon": controls.epsilon.value,
        "sizes": list(controls.sizes_m),
        "boxes": [list(box) for box in boxes],
        "built": [
            [
                keys[one.title],
                written(one.release.epsilon),
                list(one.release.hyperparameters.get("sizes_m") or controls.sizes_m),
                one.by and one.by.to_dict(),
            ]
            for one in session.built.values()
            if one.title in keys
        ],
    }


def fields(earlier: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``OwnFile`` from a saved state, which spends nothing when restored.

    Without a budget, no new ledger is created.
    """
    told = dict(earlier["file"])
    columns = tuple(tuple(pair) for pair in told["columns"])
    return told | {"budget": None, "bound_epsilon": None, "columns": columns}


def orders(session: Session, controls: Controls, earlier: dict[str, Any]) -> list[Order]:
    """Set the controls to a saved state, and return an ``Order`` for each build to repeat.

    Only releases of invented records are built again. Releases of real records were saved in
    files, and a second build would spend their epsilon again.

    Parameters
    ----------
    session : Session
        The session that was opened.
    controls : Controls
        The controls, which are changed.
    earlier : dict
        The saved state, a result of the function ``state``.

    Raises
    ------
    LookupError, TypeError or ValueError
        If ``earlier`` is not a valid state.
    """
    low, high = map(float, earlier["sizes"])
    controls.low.value, controls.high.value = low, high
    if earlier["epsilon"] in controls.epsilon.options:
        controls.epsilon.value = earlier["epsilon"]
    if not session.invented:
        return []
    return [
        Order(
            session,
            (key,),
            float(exact(str(epsilon))),
            (float(sizes[0]), float(sizes[1])),
            By.restore(by[0]) if any(by) else None,
        )
        for key, epsilon, sizes, *by in earlier["built"]
        if METHODS[key].lacks is None and not controls.ticks[key].disabled
    ]


_CITY, _N = "san_francisco", 100_000


class App(Explorer):
    """An explorer that fills the browser window and saves its state in the browser."""

    _framed = False  # the page shows the story before the kernel has started

    def __init__(self, *given: Any, **named: Any) -> None:
        self._files: dict[str, OwnFile] = {}
        self._saved = SavedState(self._restore)
        super().__init__(*given, **named)
        self.children = [self._saved, *self.children]
        self.add_class("snhkit-app")

    def show_file(self, file: OwnFile, session: Session) -> None:
        """Show the session of a file; see ``Explorer.show_file``."""
        self._files[f"file:{file.path}"] = file
        super().show_file(file, session)

    def _remember(self) -> None:
        if self._session.built or self.map.boxes:
            file = self._files.get(self._controls.place[0])
            self._saved.save(state(self._session, self._controls, self.map.boxes, file))

    def _restore(self, earlier: dict[str, Any]) -> None:
        """Open an earlier visit's city or file, draw its boxes, and rebuild its releases."""
        try:
            if earlier["file"] is not None and self._opener is None:
                raise InputError(
                    "a file was open, and visitors of a shared server cannot open files."
                )
            if earlier["file"] is not None:
                file = OwnFile(**fields(earlier))
                self.show_file(file, file.session())
            else:
                self._controls.choose(*earlier["place"])
            again = orders(self._session, self._controls, earlier)
            self.map.boxes = earlier["boxes"]
        except (
            SnhkitError, LookupError, TypeError, ValueError, OverflowError, traitlets.TraitError,
        ) as error:  # fmt: skip
            self._desk.tell(f"The earlier visit cannot be opened: {error}", error=True)
        else:
            if again:
                self._desk.start(again)


def explore_app(
    file: OwnFile | None = None,
    *,
    opens_files: bool = True,
    tiles: str | None = None,
    attr: str | None = None,
) -> App:
    """Return the explorer as an app, on a file of private records or a synthetic city.

    ``tiles`` and ``attr`` are the background of its maps, as for ``base_map``.

    On a server that visitors share, ``opens_files`` is False: files of the machine cannot be opened
    then, and methods whose builds take many minutes are not offered.
    """
    unit = PrivacyUnit("record")
    controls = Controls(_CITY, _N, unit, DEFAULT_EPSILON, DEFAULT_METHODS, DEFAULT_SIZES_M)
    if not opens_files:
        controls.withhold_slow()
    app = App(
        controls,
        lambda key, n: synthetic(key, n, None, unit),
        partial(base_map, tiles=tiles, attr=attr),
        None,
        opens_files=opens_files,
        tells=file is None,
    )
    if file is not None:
        app.show_file(file, file.session())
    return app
