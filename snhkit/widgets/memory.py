"""The app's state, which the browser saves and which can be restored after a reload."""

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets

__all__ = ["Memory"]

_MOST_TEXT = 200_000  # the longest state that is accepted from a browser
_LISTS = {"place": 2, "sizes": 2, "boxes": None, "built": None}  # lengths; None for any length


class _Browser(anywidget.AnyWidget):
    """The front end that reads and writes a state in the browser's storage."""

    _esm = Path(__file__).parent / "memory.js"
    state = traitlets.Unicode().tag(sync=True)
    stored = traitlets.Unicode().tag(sync=True)


class Memory(w.HBox):
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
        self.add_class("snhkit-memory")
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
    except ValueError:
        return None
    if not isinstance(state, dict) or not {*_LISTS, "title", "epsilon", "file"} <= state.keys():
        return None
    for name, length in _LISTS.items():
        value = state[name]
        if not isinstance(value, list) or (length is not None and len(value) != length):
            return None
    return state
