"""The explorer: builds private releases of a city and counts boxes on a map with them."""

import asyncio
import html
import threading
from collections.abc import Callable
from pathlib import Path

import folium
import ipywidgets as w
import numpy as np

from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError, SnhkitError
from snhkit.experiment.methods import method
from snhkit.geometry import RangeQueries, Region
from snhkit.release import Release
from snhkit.widgets.box_entry import BoxEntry
from snhkit.widgets.building import Building, Order
from snhkit.widgets.controls import Controls
from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.export_panel import ExportPanel, OnScreen
from snhkit.widgets.layers import Layers
from snhkit.widgets.plots import Plots
from snhkit.widgets.session import Built, Session
from snhkit.widgets.tables import answers_table, districts_table, ledger_panel
from snhkit.widgets.wording import message

__all__ = ["Explorer"]

_CSS = (Path(__file__).parent / "explorer.css").read_text(encoding="utf-8")
_DELAY_S = 0.15  # after a change of the boxes, until the figure is drawn again
_BANNER = (
    '<div role="note" class="snhkit-banner"><b>Teaching mode.</b> The true counts are shown, which '
    "is possible only because these records are invented. True counts of real records are never "
    "shown, because epsilon protects them.</div>"
)


class Explorer(w.VBox):
    """The widget that ``explore`` returns, for notebooks and for use from code.

    Parameters
    ----------
    controls : Controls
        The controls with the first choices.
    session_of : callable
        Returns the session for a city's key and a number of records.
    map_of : callable
        Returns a new folium map of a region.
    height : int
        Height of the map in pixels.

    Attributes
    ----------
    map : DrawMap
        The map; ``map.boxes`` are its rectangles in degrees.
    releases : dict of str to Release
        The newest release of each method, by the method's title.
    dataset : PrivateDataset
        The records with their ledger.
    boxes : RangeQueries or None
        The map's rectangles in the region's metres.
    building : bool
        True while a build is running.
    """

    def __init__(
        self,
        controls: Controls,
        session_of: Callable[[str, int], Session],
        map_of: Callable[[Region], folium.Map],
        height: int,
    ) -> None:
        self._lock = threading.RLock()  # messages of the front end may arrive while a cell runs
        self._controls, self._session_of, self._map_of = controls, session_of, map_of
        self._session = session_of(*controls.place)
        self._sessions = {controls.place: self._session}
        self._work = Building(controls.say, self._keep)
        self._showing, self._later = False, None
        self.map = DrawMap(map_of(self._session.region), height=height)
        self._export = ExportPanel(
            lambda: OnScreen.of(self._session, controls.place, self.map.boxes)
        )
        self._title, self._banner, self._table, self._ledger = (w.HTML() for _ in range(4))
        self._districts = w.HTML()
        self._layers, self._plots = Layers(self._show_layers), Plots()
        super().__init__(
            [
                w.HTML(f"<style>{_CSS}</style>", layout={"display": "none"}),
                self._title,
                self._banner,
                controls,
                self._layers,
                self.map,
                BoxEntry(self.map),
                self._table,
                self._districts,
                self._plots,
                self._export,
                self._ledger,
            ]
        )
        self.add_class("snhkit-explorer")
        self._ledger.add_class("snhkit-ledger")
        self._listen()
        self._show_all()

    def _listen(self) -> None:
        controls = self._controls
        self.map.observe(self._boxes_changed, "boxes")
        self._plots.choice.observe(self._draw, "value")
        controls.build.on_click(self._build_clicked)
        controls.cancel.on_click(lambda _: self.cancel())
        controls.teaching.observe(self._show_all, "value")
        for choice in (controls.city, controls.n):
            choice.observe(self._another_city, "value")
        for choice in (controls.unit, controls.most):
            choice.observe(self._another_unit, "value")
        for price in (controls.epsilon, *controls.ticks.values()):
            price.observe(self._show_controls, "value")
        for side in (controls.low, controls.high):
            side.observe(self._draw, "value")

    @property
    def dataset(self) -> PrivateDataset:
        """The records with their ledger."""
        return self._session.dataset

    @property
    def releases(self) -> dict[str, Release]:
        """The newest release of each method, by the method's title."""
        return self._session.releases

    @property
    def boxes(self) -> RangeQueries | None:
        """The map's rectangles in the region's metres; None while there is none."""
        if not self.map.boxes:
            return None
        south, west, north, east = zip(*self.map.boxes, strict=True)
        turn = [lon % 360 for lon in west], [lon % 360 for lon in east]
        return RangeQueries.from_degrees(self._session.region, south, turn[0], north, turn[1])

    @property
    def building(self) -> bool:
        """True while a build is running."""
        return self._work.running

    def __repr__(self) -> str:
        return f"Explorer({self._session.title}): show it as the last line of a notebook's cell."

    def build(self, *methods: str) -> None:
        """Build methods, each an entry in the ledger, and return when all are built.

        Parameters
        ----------
        *methods : str
            Short names of the methods to build; by default the ticked ones.

        Raises
        ------
        InputError
            If no method is ticked, the box sizes are not in order, or another build is running.
            Nothing is charged.
        BudgetExceeded
            If a method would cost more than is left; the methods before it are built.
        Cancelled
            If a person pressed Cancel; what was charged stays spent.
        """
        said = ""
        try:
            order = self._order(methods)
            self._begin()
            self._work.run(order)
        except SnhkitError as refusal:
            said = str(refusal)
            raise
        finally:
            self._show_all()
            self._controls.tell(said, error=bool(said))

    def cancel(self) -> None:
        """Cancel the build that is running, at its next step; what was charged stays spent."""
        if not self.building:
            return
        self._work.cancel()
        self._controls.cancel.disabled = True
        self._controls.tell("Stopping at the next step …")

    def _order(self, methods: tuple[str, ...] = ()) -> Order:
        chosen = tuple(map(_known, methods)) or tuple(self._controls.chosen)
        if self.building:
            raise InputError("A build is running: wait for it, or cancel it.")
        price = float(self._controls.epsilon.value)
        return Order(self._session, chosen, price, self._controls.sizes_m)

    def _begin(self) -> None:
        self._controls.say(0, "Building …")
        self._controls.show(self._session, busy=True)

    def _build_clicked(self, _: w.Button) -> None:
        try:
            order = self._order()
        except SnhkitError as refusal:
            self._controls.tell(str(refusal), error=True)
            return
        self._begin()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # without a notebook nobody can press Cancel
            asyncio.run(self._build_aside(order))
        else:
            self._task = loop.create_task(self._build_aside(order))

    async def _build_aside(self, order: Order) -> None:
        said, failed = "", True
        try:
            await self._work.run_aside(order)
            failed = False
        except SnhkitError as refusal:
            said = str(refusal)
        except Exception as failure:
            kind = type(failure).__name__
            said = f"The build failed with {kind}; the notebook's log shows where."
            raise
        finally:
            self._show_all()
            self._controls.tell(said, error=failed)

    def _keep(self, session: Session, built: Built) -> None:
        with self._lock:
            session.keep(built)
            self._show_all()

    def _another_city(self, _: object) -> None:
        place = self._controls.place
        self._controls.tell("Making the synthetic city …")
        if place not in self._sessions:
            self._sessions[place] = self._session_of(*place)
        before, self._session = self._session.region, self._sessions[place]
        if self._session.region != before:
            self.map.show(self._map_of(self._session.region))
        self._controls.tell("")
        self._show_all()

    def _another_unit(self, _: object) -> None:
        if self._showing:
            return
        try:
            self._session = self._session.under(self._controls.unit_chosen)
            self._sessions[self._controls.place] = self._session
        except SnhkitError as refusal:
            self._controls.tell(str(refusal), error=True)
        self._show_controls()

    @property
    def _teaching(self) -> bool:
        return bool(self._controls.teaching.value) and self._session.invented

    def _show_all(self, _: object = None) -> None:
        with self._lock:
            session = self._session
            title, about = html.escape(session.title), html.escape(session.about)
            self._title.value = f'<h3>{title}</h3><p class="snhkit-soft">{about}</p>'
            self._banner.value = _BANNER if self._teaching else ""
            self._ledger.value = ledger_panel(self.dataset.ledger)
            self._export.refresh()
            self._show_controls()
            self._layers.offer(session, truth=self._teaching)
            self._plots.offer(truth=self._teaching)
            self._show_layers()
            self._show_districts()
            self._show_answers()
            self._draw()

    def _show_controls(self, _: object = None) -> None:
        with self._lock:
            self._showing = True
            try:
                self._controls.show(self._session, busy=self._work.running)
            finally:
                self._showing = False

    def _show_layers(self) -> None:
        with self._lock:
            self.map.layers = self._layers.shown(self._session)

    def _show_districts(self) -> None:
        districts, session = self._session.districts, self._session
        self._districts.layout.display = None if districts else "none"
        if districts is not None:
            truth = session.true_districts if self._teaching else None
            self._districts.value = districts_table(
                districts.titles, session.district_answers, truth=truth
            )

    def _boxes_changed(self, _: object) -> None:
        self._show_answers()
        if self._later is not None:
            self._later.cancel()
        try:
            self._later = asyncio.get_running_loop().call_later(_DELAY_S, self._draw)
        except RuntimeError:
            self._draw()

    def _show_answers(self) -> None:
        with self._lock:
            try:
                boxes = self.boxes
            except InputError as error:
                self._table.value = message(str(error), error=True)
                return
            truth = None
            if self._teaching:
                truth = np.zeros(0, int) if boxes is None else self._session.truth(boxes)
            answers = {} if boxes is None else self._session.answers(boxes)
            self._table.value = answers_table(boxes, answers, truth=truth)

    def _draw(self, _: object = None) -> None:
        with self._lock:
            try:
                self._plots.draw(
                    self._session, self.boxes, self._controls.sizes_m, truth=self._teaching
                )
            except InputError as error:
                self._plots.picture.value = message(str(error), error=True)


def _known(key: str) -> str:
    """Return the short name of a method; InputError if there is none, or it is not installed."""
    if extra := method(key).lacks:
        extra.require()
    return key
