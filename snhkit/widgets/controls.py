"""The explorer's controls: records, epsilon, box sizes and methods."""

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets

from snhkit.data import CITIES
from snhkit.defaults import DEFAULT_OWN_METHODS
from snhkit.geometry.strata import By
from snhkit.methods import METHODS, Method
from snhkit.privacy import PrivacyUnit
from snhkit.widgets.session import DISTRICTS, Session
from snhkit.widgets.wording import epsilon_in_words

EPSILONS = (
    *(round(step * 10.0**k, 3) for k in (-2, -1, 0) for step in (1, 1.5, 2, 3, 4, 6, 8)),
    10.0,
)
"""The default options of ``EpsilonSlider``: 22 values from 0.01 to 10 on a logarithmic scale."""


class EpsilonSlider(anywidget.AnyWidget):
    """A slider over given values of epsilon, which a screen reader reads out."""

    _esm = Path(__file__).parent / "epsilon_slider.js"
    options = traitlets.List(traitlets.Float()).tag(sync=True)
    value = traitlets.Float().tag(sync=True)

    def __init__(self, value: float, options: Iterable[float] = EPSILONS) -> None:
        super().__init__(options=sorted({*options, value}), value=value)

    @traitlets.validate("value")
    def _one_of_them(self, proposal: Any) -> float:
        if proposal["value"] not in self.options:
            raise traitlets.TraitError(
                f"epsilon must be one of {self.options}, not {proposal['value']}."
            )
        return proposal["value"]


SIZES = (1_000, 10_000, 50_000, 100_000, 200_000, 500_000)
_STYLE = {"description_width": "72px"}
_WIDE = {"width": "auto"}
_UNITS = {"record": "one record", "user": "one person"}
_LARGEST_M = 200_000


class Controls(w.VBox):
    """The menus, the slider and the tick boxes of the explorer, in a column.

    With ``city=None``, the records are a person's own, and menus for invented records are left out.
    """

    def __init__(
        self,
        city: str | None,
        n: int,
        unit: PrivacyUnit,
        epsilon: float,
        methods: Sequence[str],
        sizes_m: tuple[float, float],
    ) -> None:
        place = [(c.name, key) for key, c in CITIES.items()]
        self.city = _labelled(
            w.Dropdown, "City", "Synthetic city", options=place, value=city or place[0][1]
        )
        counts = [(f"{size:,}", size) for size in sorted({*SIZES, n})]
        self.n = _labelled(
            w.Dropdown, "Records", "Number of invented records", options=counts, value=n
        )
        self.unit = _labelled(
            w.Dropdown,
            "Hides",
            "Unit of privacy: what a release does not reveal",
            options=[(word, key) for key, word in ({unit.kind: unit.kind} | _UNITS).items()],
        )
        self.unit.value = unit.kind
        self.most = _labelled(
            w.BoundedIntText,
            "Records ≤",
            "Number of records kept of each person",
            min=1,
            max=10_000,
            value=unit.max_per_user or 10,
        )
        self.settled = w.HTML()
        self.epsilon = EpsilonSlider(epsilon)
        self.words = w.HTML()
        low, high = sizes_m
        self.low = _side("Boxes of", "Smallest side, in metres, of boxes to be counted", low)
        self.high = _side("to", "Largest side, in metres, of boxes to be counted", high)
        self.sides_wrong = w.HTML()
        self.by = _labelled(
            w.Dropdown, "Maps", "One map, or a map for each hour or weekday, at one epsilon",
            options=[("one", ""), ("by hour", By.hour()), ("by weekday", By.weekday())],
        )  # fmt: skip
        self.ticks = {key: _tick(method, ticked=key in methods) for key, method in METHODS.items()}
        self.ticks[DISTRICTS] = w.Checkbox(
            description="Districts directly (Tessellation)",
            tooltip="One noisy count of each district: the least noise, but boxes only by area",
            indent=False,
            layout={"width": "auto", "display": "none"},
        )
        self.ticks[DISTRICTS].add_class("snhkit-long")
        self._proposed = False
        self.teaching = w.Checkbox(
            description="Teaching mode: show the truth",
            tooltip="Show true counts and errors; possible for invented records only",
            value=city is not None,
            indent=False,
            layout=_WIDE,
        )
        own = [] if city is None else [self.city, self.n]
        truth = [] if city is None else [self.teaching]
        methods_box = w.Box(list(self.ticks.values()))
        methods_box.add_class("snhkit-methods")
        sides = w.HBox([self.low, self.high, w.Label("m")])
        sides.add_class("snhkit-sides")
        super().__init__(
            [
                _group("Records", *own, self.unit, self.most, self.settled, *truth),
                _group("Privacy", self.epsilon, self.words, self.by, sides, self.sides_wrong),
                _group("Methods", methods_box, w.HTML(_explained())),
            ]
        )
        self.add_class("snhkit-controls")

    def offer_file(self, title: str, key: str) -> None:
        """Add a file of private records to the menu of cities, and choose it.

        Only the default methods for private records are then ticked, since each build costs budget.
        """
        entry = (f"{title} (your file)", key)
        if entry not in self.city.options:
            for name, tick in self.ticks.items():
                tick.value = name in DEFAULT_OWN_METHODS
            self.city.options = [entry, *self.city.options]  # chooses the first, which shows it
        self.city.value = key

    def withhold_slow(self) -> None:
        """Disable the methods whose builds take many minutes, since other visitors would wait."""
        for key, tick in self.ticks.items():
            if key != DISTRICTS and METHODS[key].slow:
                tick.disabled, tick.value = True, False
                tick.description = f"{METHODS[key].title}: not on a shared server"

    def choose(self, city: str, n: int) -> None:
        """Choose a city and a number of records; raise LookupError if one is not in the menus."""
        if city not in CITIES or n not in SIZES:
            raise LookupError(f"there is no synthetic city {city!r} with {n!r} records")
        self.city.value, self.n.value = city, n

    @property
    def place(self) -> tuple[str, int]:
        """Key of the chosen city, and the chosen number of records."""
        return str(self.city.value), int(self.n.value or 0)

    @property
    def unit_chosen(self) -> PrivacyUnit:
        """The chosen unit of privacy."""
        user = self.unit.value == "user"
        return PrivacyUnit(str(self.unit.value), int(self.most.value) if user else None)

    @property
    def chosen(self) -> list[str]:
        """Short names of the ticked methods, in the order shown."""
        return [key for key, tick in self.ticks.items() if tick.value and not tick.disabled]

    @property
    def by_chosen(self) -> By | None:
        """The strata in which a release is built; None for one map."""
        return self.by.value or None  # pyright: ignore[reportReturnType]

    @property
    def sizes_m(self) -> tuple[float, float]:
        """Smallest and largest side, in metres, of the boxes for which releases are prepared."""
        return float(self.low.value), float(self.high.value)

    def show(self, session: Session, *, busy: bool) -> None:
        """Update the texts on epsilon and the unit of privacy; disable controls during a build."""
        unit = session.dataset.unit
        words = html.escape(epsilon_in_words(self.epsilon.value, unit))
        self.words.value = f'<p class="snhkit-soft" aria-live="polite">{words}</p>'
        low, high = self.sizes_m
        wrong = "The smallest box size must not exceed the largest." if low > high else ""
        self.sides_wrong.value = (
            f'<p class="snhkit-error" role="alert">{wrong}</p>' if wrong else ""
        )
        if unit.kind not in (value for _, value in self.unit.options):
            self.unit.options = [(unit.kind, unit.kind), *self.unit.options]
        self.unit.value = unit.kind
        if unit.max_per_user is not None:
            self.most.value = unit.max_per_user
        self.unit.disabled = busy or len(session.units) < 2
        self.most.layout.display = "none" if unit.max_per_user is None else ""
        self.most.disabled = self.unit.disabled
        texts = html.escape(f"{_why_settled(session)} {unit.counting}".strip())
        self.settled.value = f'<p class="snhkit-soft">{texts}</p>'
        self._propose(session)
        for choice in (self.city, self.n):
            choice.disabled = busy
        self.by.layout.display = "" if session.has_times else "none"
        if not session.has_times:
            self.by.value = ""
        for invented in (self.n, self.teaching):  # not used for real records
            invented.layout.display = "" if session.invented else "none"

    def _propose(self, session: Session) -> None:
        """Offer to count the districts directly, and tick this for private records at first."""
        tick = self.ticks[DISTRICTS]
        tick.layout.display = "none" if session.districts is None else ""
        if session.districts is None:
            tick.value = False
        elif not (self._proposed or session.invented or session.built):
            self._proposed = True
            if tuple(self.chosen) != DEFAULT_OWN_METHODS:  # a person has chosen already
                return
            for name, other in self.ticks.items():
                other.value = name == DISTRICTS


def _why_settled(session: Session) -> str:
    """Return the reason why the unit of privacy cannot be changed; empty if it can be."""
    if session.records is None:
        return "The unit of privacy was declared with the dataset and cannot be changed."
    if session.dataset.ledger.entries:
        return "The unit of privacy cannot be changed after the first build."
    if session.records.user is None:
        return "The unit of privacy is a record, because the records have no user ids."
    return ""


def _group(title: str, *parts: w.Widget) -> w.VBox:
    group = w.VBox([w.HTML(f"<h2>{title}</h2>"), *parts])
    group.add_class("snhkit-group")
    return group


def _labelled(kind: type, description: str, tooltip: str, **traits):
    return kind(description=description, tooltip=tooltip, style=_STYLE, layout=_WIDE, **traits)


def _side(description: str, tooltip: str, value: float) -> w.BoundedFloatText:
    return w.BoundedFloatText(
        description=description,
        tooltip=tooltip,
        min=1,
        max=_LARGEST_M,
        value=value,
        style={"description_width": "auto"},
        layout={"width": "auto"},
    )


def _tick(method: Method, ticked: bool) -> w.Checkbox:
    lacks = method.lacks
    tick = w.Checkbox(
        value=ticked and lacks is None,
        disabled=lacks is not None,
        description=f"{_name(method)}: {lacks.advice}" if lacks else _name(method),
        tooltip=method.about,
        indent=False,
        layout=_WIDE,
    )
    if lacks or method.slow:
        tick.add_class("snhkit-long")
    return tick


def _name(method: Method) -> str:
    return f"{method.title}, slow" if method.slow else method.title


def _explained() -> str:
    """Return HTML with a sentence on each method, which is hidden until a person clicks."""
    rows = "".join(
        f"<dt>{html.escape(_name(method))}</dt><dd>{html.escape(method.about)}</dd>"
        for method in METHODS.values()
    )
    return f"<details><summary>What each method does</summary><dl>{rows}</dl></details>"
