"""See what epsilon does: build private releases of a city and ask them about boxes on a map."""

import html
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import ipywidgets as w
import numpy as np

from snhkit.data import city as find_city
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError, SnhkitError
from snhkit.experiment.methods import method
from snhkit.geometry import Points, RangeQueries
from snhkit.release import Release
from snhkit.viz.maps import base_map
from snhkit.viz.surface import ColourScale, surface_overlay
from snhkit.widgets.box_entry import BoxEntry
from snhkit.widgets.controls import Controls
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.export_panel import ExportPanel, OnScreen
from snhkit.widgets.session import Session, owned, synthetic
from snhkit.widgets.wording import answers_table, message

__all__ = ["Explorer", "explore"]

_CSS = (Path(__file__).parent / "explorer.css").read_text(encoding="utf-8")
_BUDGET = 3.0  # of all methods once at the first epsilon, and a few again
_TRUTH, _NOTHING = "Truth", "No picture"
_BANNER = (
    '<div role="note" class="snhkit-banner"><b>Teaching mode.</b> The true counts are shown, which '
    "is possible only because these records are invented. Of real records the truth is never "
    "shown: it is what epsilon protects.</div>"
)


class Explorer(w.VBox):
    """What ``explore`` returns: shown in a notebook, and used from code.

    Attributes
    ----------
    map : DrawMap
        The map; ``map.boxes`` are its rectangles in degrees.
    releases : dict of method's title to Release
        The newest release of each method built.
    dataset : PrivateDataset
        The records explored, with their ledger.
    boxes : RangeQueries or None
        The map's rectangles in the region's metres.
    """

    def __init__(
        self, controls: Controls, session_of: Callable[[str, int], Session], height: int
    ) -> None:
        self._controls, self._session_of = controls, session_of
        self._session = session_of(*controls.place)
        self.map = DrawMap(base_map(self._session.region), height=height)
        self._export = ExportPanel(
            lambda: OnScreen.of(self._session, controls.place, self.map.boxes)
        )
        self._title, self._banner, self._table, self._ledger = (w.HTML() for _ in range(4))
        self._layer = w.ToggleButtons(
            options=[_NOTHING], style={"button_width": "auto"}, layout={"width": "auto"}
        )
        layers = w.HBox([w.Label("On the map", layout={"flex": "0 0 auto"}), self._layer])
        picture = w.VBox([layers, self.map, BoxEntry(self.map)], layout={"flex": "1 1 0"})
        picture.layout.min_width = "0"
        super().__init__(
            [
                w.HTML(f"<style>{_CSS}</style>", layout={"display": "none"}),
                self._title,
                self._banner,
                w.HBox([controls, picture]),
                self._table,
                self._export,
                self._ledger,
            ]
        )
        self.add_class("snhkit-explorer")
        self._ledger.add_class("snhkit-ledger")
        self.map.observe(self._show_answers, "boxes")
        self._layer.observe(self._show_layer, "value")
        controls.build.on_click(self._build_clicked)
        controls.teaching.observe(self._show_all, "value")
        for choice in (controls.city, controls.n):
            choice.observe(self._another_city, "value")
        for price in (controls.epsilon, *controls.ticks.values()):
            price.observe(self._show_price, "value")
        self._show_all()

    @property
    def dataset(self) -> PrivateDataset:
        """The records explored, with their ledger."""
        return self._session.dataset

    @property
    def releases(self) -> dict[str, Release]:
        """The newest release of each method built, by the method's title."""
        return dict(self._session.releases)

    @property
    def boxes(self) -> RangeQueries | None:
        """The map's rectangles in metres; None while there is none."""
        if not self.map.boxes:
            return None
        south, west, north, east = zip(*self.map.boxes, strict=True)
        turn = [lon % 360 for lon in west], [lon % 360 for lon in east]
        return RangeQueries.from_degrees(self._session.region, south, turn[0], north, turn[1])

    def __repr__(self) -> str:
        return f"Explorer({self._session.title})"

    def build(self, *methods: str) -> None:
        """Do what the button does: build the ticked methods, each an entry of the ledger.

        Parameters
        ----------
        *methods : str
            Keys of other methods to build than the ticked ones.

        Raises
        ------
        BudgetExceeded
            When a method would cost more than is left; those before it are built.
        """
        chosen = methods or self._controls.chosen
        if not chosen:
            raise InputError("Tick at least one method.")
        try:
            for k, key in enumerate(chosen, 1):
                title = method(key).title
                self._controls.busy(f"Building {title} ({k} of {len(chosen)}) …")
                self._build_one(key)
        finally:
            self._controls.ready()

    def _build_one(self, key: str) -> None:
        failure = None
        with self._controls.progress:
            try:
                self._session.build(key, self._controls.epsilon.value)
            except BaseException as error:  # the output area would print and swallow it
                failure = error
        self._show_all()
        if failure is not None:
            raise failure

    def _build_clicked(self, _: w.Button) -> None:
        try:
            self.build()
        except SnhkitError as refusal:
            self._controls.ready(str(refusal), error=True)
        except Exception as failure:
            kind = type(failure).__name__
            self._controls.ready(
                f"Something broke ({kind}); the notebook's log has it.", error=True
            )
            raise

    def _another_city(self, _: object) -> None:
        self._controls.busy("Inventing the city …")
        before = self._session.region
        self._session = self._session_of(*self._controls.place)
        if self._session.region != before:
            self.map.show(base_map(self._session.region))
        self._controls.ready()
        self._show_all()

    def _show_all(self, _: object = None) -> None:
        session = self._session
        title, about = html.escape(session.title), html.escape(session.about)
        self._title.value = f'<h3>{title}</h3><p class="snhkit-soft">{about}</p>'
        self._banner.value = _BANNER if self._controls.teaching.value else ""
        self._ledger.value = self.dataset.ledger._repr_html_()
        self._show_price()
        self._offer_layers()
        self._show_layer()
        self._show_answers()
        self._export.refresh()

    def _offer_layers(self) -> None:
        before, was_empty = self._layer.value, len(self._layer.options) == 1
        truth = [_TRUTH] if self._controls.teaching.value else []
        options = [*self._session.releases, *truth, _NOTHING]
        self._layer.unobserve(self._show_layer, "value")  # or each step would send a picture
        self._layer.options = options
        self._layer.value = options[0] if was_empty or before not in options else before
        self._layer.observe(self._show_layer, "value")

    def _show_price(self, _: object = None) -> None:
        self._controls.show_price(self.dataset)

    def _show_layer(self, _: object = None) -> None:
        name, surfaces = self._layer.value, self._session.surfaces
        if name == _NOTHING or name is None:
            self.map.overlay = {}
            return
        surface = self._session.true_surface() if name == _TRUTH else surfaces[name]
        scale = ColourScale.shared(surfaces.values() or [surface])
        self.map.overlay = surface_overlay(surface, scale, name)

    def _show_answers(self, _: object = None) -> None:
        try:
            boxes = self.boxes
        except InputError as error:
            self._table.value = message(str(error), error=True)
            return
        truth = None
        if self._controls.teaching.value:
            truth = np.zeros(0, int) if boxes is None else self._session.truth(boxes)
        answers = {} if boxes is None else self._session.answers(boxes)
        self._table.value = answers_table(boxes, answers, truth=truth)


def explore(
    points: Points | PrivateDataset | None = None,
    *,
    public: Points | None = None,
    budget: float | None = None,
    city: str = "san_francisco",
    n: int = 100_000,
    epsilon: float = 0.2,
    methods: Sequence[str] = ("ug", "identity", "snh"),
    height: int = 380,
) -> Explorer:
    """Explore a synthetic city, or your own records, on a map.

    Parameters
    ----------
    points : Points or PrivateDataset, optional
        Your records, which then need a ``budget`` here or in the data set. Without them the
        twelve synthetic cities are offered, each with a budget of 3 unless you say otherwise.
    public : Points, optional
        Public points in the same region, for methods that learn from them.
    budget : float, optional
        All the epsilon that may be spent on a data set.
    city, n
        The synthetic city and the number of its records to begin with.
    epsilon : float
        What a build costs, to begin with.
    methods : sequence of str
        Keys of the methods to begin with.
    height : int
        Of the map, in pixels.

    Raises
    ------
    InputError
        Saying which argument is wrong.

    Examples
    --------
    >>> explorer = explore(city="fargo", n=1_000, methods=["ug"])
    >>> explorer.build()
    >>> explorer.map.boxes = [[46.87, -96.80, 46.88, -96.78]]
    >>> explorer.releases["UG"].answer(explorer.boxes).shape
    (1,)
    """
    for key in methods:
        if extra := method(key).lacks:
            extra.require()
    if points is None and public is not None:
        raise InputError("explore: public goes with points; a synthetic city has its own.")
    if points is not None:
        session = owned(points, public, budget)
        return Explorer(Controls(None, n, epsilon, methods), lambda city, n: session, height)
    controls = Controls(find_city(city).key, n, epsilon, methods)
    invent = cache(partial(synthetic, budget=_BUDGET if budget is None else budget))
    return Explorer(controls, invent, height)
