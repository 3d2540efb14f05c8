"""The explorer's upper part: which records, at what price, by which methods."""

import html
import inspect
from collections.abc import Sequence

import ipywidgets as w

from snhkit.data import CITIES
from snhkit.experiment.methods import METHODS, Method
from snhkit.privacy import PrivacyUnit, exact, written
from snhkit.widgets.epsilon_slider import EpsilonSlider
from snhkit.widgets.session import Session
from snhkit.widgets.wording import epsilon_in_words, message

__all__ = ["Controls"]

SIZES = (1_000, 10_000, 50_000, 100_000, 200_000, 500_000)
_STYLE = {"description_width": "72px"}
_WIDE = {"width": "auto"}
_UNITS = {"record": "one record", "user": "one person, with all records"}


class Controls(w.Box):
    """City, size, unit, epsilon, box sizes and methods; buttons; a place for messages.

    Parameters
    ----------
    city, n
        The choice to begin with, and both are hidden if ``city`` is None.
    unit : PrivacyUnit
        To begin with.
    epsilon : float
        Put on the slider if it does not have it.
    methods : sequence of str
        Keys of the methods ticked at first.
    sizes_m : (float, float)
        Sides of the boxes to begin with, in metres.
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
        self.city = _labelled(w.Dropdown, "City", options=place, value=city or place[0][1])
        counts = [(f"{size:,}", size) for size in sorted({*SIZES, n})]
        self.n = _labelled(w.Dropdown, "Records", options=counts, value=n)
        self.unit = _labelled(
            w.Dropdown, "Hides", options=[(word, key) for key, word in _UNITS.items()]
        )
        self.unit.value = unit.kind
        self.most = _labelled(
            w.BoundedIntText, "Records ≤", min=1, max=10_000, value=unit.max_per_user or 10
        )
        self.settled = w.HTML()
        self.epsilon = EpsilonSlider(epsilon)
        self.words = w.HTML()
        low, high = sizes_m
        self.low = _side("Boxes of", low)
        self.high = _side("to", high)
        self.ticks = {key: _tick(method, ticked=key in methods) for key, method in METHODS.items()}
        self.build = w.Button(description="Build", button_style="primary")
        self.cancel = w.Button(description="Cancel", disabled=True)
        self.price, self.message = w.HTML(), w.HTML()
        self.progress = w.FloatProgress(max=1)
        self.teaching = w.Checkbox(
            description="Teaching mode: show the truth", indent=False, layout=_WIDE
        )
        own = [] if city is None else [self.city, self.n]
        truth = [] if city is None else [self.teaching]
        methods_box = w.Box(list(self.ticks.values()))
        methods_box.add_class("snhkit-methods")
        sides = w.HBox([self.low, self.high, w.Label("m")])
        sides.add_class("snhkit-sides")
        buttons = w.HBox([self.build, self.cancel])
        buttons.add_class("snhkit-buttons")
        news = w.HBox([self.progress, self.message])
        news.add_class("snhkit-news")
        super().__init__(
            [
                _group("Records", *own, self.unit, self.most, self.settled, *truth),
                _group("Price", self.epsilon, self.words, sides),
                _group("Methods", methods_box, buttons, self.price),
                news,
            ]
        )
        self.add_class("snhkit-controls")

    @property
    def place(self) -> tuple[str, int]:
        """Key of the city, and the number of records."""
        return str(self.city.value), int(self.n.value or 0)

    @property
    def unit_chosen(self) -> PrivacyUnit:
        """The unit of privacy as it stands there."""
        user = self.unit.value == "user"
        return PrivacyUnit.of(str(self.unit.value), int(self.most.value) if user else None)

    @property
    def chosen(self) -> list[str]:
        """Keys of the ticked methods, in the order shown."""
        return [key for key, tick in self.ticks.items() if tick.value]

    @property
    def sizes_m(self) -> tuple[float, float]:
        """Sides of the boxes that will be asked, in metres."""
        return float(self.low.value), float(self.high.value)

    def show(self, session: Session, *, busy: bool) -> None:
        """Say what epsilon means and what the button would spend; open what may be chosen."""
        unit, ledger = session.dataset.unit, session.dataset.ledger
        words = html.escape(epsilon_in_words(self.epsilon.value, unit))
        self.words.value = f'<p class="snhkit-soft" aria-live="polite">{words}</p>'
        price, left = exact(self.epsilon.value) * len(self.chosen), ledger.remaining
        text, kind = f"spends {written(price)} of the {written(left)} left", "snhkit-soft"
        if price > left:
            text, kind = f"{text}: will be refused", "snhkit-error"
        self.price.value = f'<p class="{kind}">{html.escape(text)}</p>'
        self.unit.value = unit.kind
        self.unit.disabled = busy or len(session.units) < 2
        self.most.layout.display = "" if unit.kind == "user" else "none"
        self.most.disabled = self.unit.disabled
        self.settled.value = f'<p class="snhkit-soft">{_why_settled(session)}</p>'
        for choice in (self.city, self.n, self.build):
            choice.disabled = busy
        self.cancel.disabled = not busy
        self.progress.layout.display = "" if busy else "none"

    def say(self, share: float, text: str) -> None:
        """Tell how far a build is."""
        self.progress.value = share
        self.tell(text)

    def tell(self, text: str, *, error: bool = False) -> None:
        """Put words into the place for messages."""
        self.message.value = message(text, error=error)


def _why_settled(session: Session) -> str:
    if session.records is None:
        return "The data set came with its unit of privacy."
    if session.dataset.ledger.entries:
        return "What is hidden was settled by the first build."
    if session.records.user is None:
        return "The records do not say whose they are."
    return ""


def _group(title: str, *parts: w.Widget) -> w.VBox:
    group = w.VBox([w.HTML(f"<h4>{title}</h4>"), *parts])
    group.add_class("snhkit-group")
    return group


def _labelled(kind: type, description: str, **traits):
    return kind(description=description, style=_STYLE, layout=_WIDE, **traits)


def _side(description: str, value: float) -> w.BoundedFloatText:
    return w.BoundedFloatText(
        description=description,
        min=1,
        max=200_000,
        value=value,
        style={"description_width": "auto"},
        layout={"width": "auto"},
    )


def _tick(method: Method, ticked: bool) -> w.Checkbox:
    lacks = method.lacks
    return w.Checkbox(
        value=ticked and lacks is None,
        disabled=lacks is not None,
        description=f"{method.title}: {lacks.advice}" if lacks else method.title,
        tooltip=(inspect.getdoc(type(method.builder())) or "").partition("\n")[0],
        indent=False,
        layout=_WIDE,
    )
