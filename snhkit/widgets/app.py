"""The explorer as a stand-alone app, whose state can be restored after a reload of the page."""

from typing import Any

import traitlets

from snhkit.defaults import DEFAULT_EPSILON, DEFAULT_METHODS, DEFAULT_SIZES_M
from snhkit.errors import InputError, SnhkitError
from snhkit.privacy import PrivacyUnit
from snhkit.viz.maps.maps import base_map
from snhkit.widgets.controls import Controls
from snhkit.widgets.explorer import Explorer
from snhkit.widgets.own_file import OwnFile
from snhkit.widgets.saved_state import SavedState, fields, orders, state
from snhkit.widgets.session import Session, synthetic

__all__ = ["App", "explore_app"]

_CITY, _N, _BUDGET = "san_francisco", 100_000, 3


class App(Explorer):
    """An explorer that fills the browser window and saves its state in the browser."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self._files: dict[str, OwnFile] = {}
        self._saved = SavedState(self._restore)
        super().__init__(*given, **named)
        self.children = [self._saved, *self.children]

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
        except (SnhkitError, LookupError, TypeError, ValueError, traitlets.TraitError) as error:
            self._desk.tell(f"The earlier visit cannot be opened: {error}", error=True)
        else:
            if again:
                self._desk.start(again)


def explore_app(file: OwnFile | None = None, *, opens_files: bool = True) -> App:
    """Return the explorer as an app, on a file of private records or a synthetic city.

    On a server that visitors share, ``opens_files`` is False: files of the machine cannot be opened
    then, and methods whose builds take many minutes are not offered.
    """
    unit = PrivacyUnit.of("record")
    controls = Controls(_CITY, _N, unit, DEFAULT_EPSILON, DEFAULT_METHODS, DEFAULT_SIZES_M)
    if not opens_files:
        controls.withhold_slow()
    app = App(
        controls,
        lambda key, n: synthetic(key, n, _BUDGET, unit),
        base_map,
        None,
        opens_files=opens_files,
        tells=file is None,
    )
    if file is not None:
        app.show_file(file, file.session())
    return app
