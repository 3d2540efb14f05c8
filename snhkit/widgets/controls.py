"""The explorer's left side: what is built, at what price."""

import html
import inspect
from collections.abc import Iterable, Sequence

import ipywidgets as w

from snhkit.data import CITIES
from snhkit.dataset import PrivateDataset
from snhkit.experiment.methods import METHODS, Method
from snhkit.privacy import exact, written
from snhkit.widgets.wording import epsilon_in_words, message

__all__ = ["Controls"]

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 2.0, 5.0, 10.0)
SIZES = (1_000, 10_000, 50_000, 100_000, 200_000)
_STYLE = {"description_width": "64px"}
_WIDE = {"width": "auto"}


class Controls(w.VBox):
    """City, size, epsilon and methods; a button; and a place for messages.

    Parameters
    ----------
    city, n
        The choice to begin with, and both are hidden if ``city`` is None.
    epsilon : float
        Put on the slider if it does not have it.
    methods : sequence of str
        Keys of the methods ticked at first.
    """

    def __init__(self, city: str | None, n: int, epsilon: float, methods: Sequence[str]) -> None:
        self.city = w.Dropdown(
            options=[(c.name, key) for key, c in CITIES.items()],
            value=city or next(iter(CITIES)),
            description="City",
            style=_STYLE,
            layout=_WIDE,
        )
        self.n = w.Dropdown(
            options=[(f"{size:,}", size) for size in _with(SIZES, n)],
            value=n,
            description="Records",
            style=_STYLE,
            layout=_WIDE,
        )
        self.epsilon = w.SelectionSlider(
            options=[(f"{e:g}", e) for e in _with(EPSILONS, epsilon)],
            value=epsilon,
            description="Epsilon ε",
            style=_STYLE,
            layout=_WIDE,
        )
        self.words = w.HTML()
        self.ticks = {key: _tick(method, ticked=key in methods) for key, method in METHODS.items()}
        self.build = w.Button(
            description="Build", button_style="primary", layout={"flex": "0 0 90px"}
        )
        self.price = w.HTML()
        self.message = w.HTML()
        self.progress = w.Output()
        self.teaching = w.Checkbox(
            description="Teaching mode: show the truth", indent=False, layout=_WIDE
        )
        own = [] if city is None else [self.city, self.n]
        truth = [] if city is None else [self.teaching]
        parts = [*own, self.epsilon, self.words, *self.ticks.values()]
        super().__init__(
            [*parts, w.HBox([self.build, self.price]), self.message, self.progress, *truth],
            layout={"flex": "0 0 280px", "width": "280px"},
        )

    @property
    def place(self) -> tuple[str, int]:
        """Key of the city, and the number of records."""
        return str(self.city.value), int(self.n.value or 0)

    @property
    def chosen(self) -> list[str]:
        """Keys of the ticked methods, in the order shown."""
        return [key for key, tick in self.ticks.items() if tick.value]

    def show_price(self, dataset: PrivateDataset) -> None:
        """Say what epsilon means, and what the button would spend."""
        words = html.escape(epsilon_in_words(self.epsilon.value, dataset.unit))
        self.words.value = f'<p class="snhkit-soft" aria-live="polite">{words}</p>'
        price, left = exact(self.epsilon.value) * len(self.chosen), dataset.ledger.remaining
        text = f"spends {written(price)} of the {written(left)} left"
        self.price.value = f'<p class="snhkit-soft">{html.escape(text)}</p>'

    def busy(self, text: str) -> None:
        """Shut the button and say what is going on."""
        self.build.disabled, self.build.description = True, "Building…"
        self.message.value = message(text)

    def ready(self, text: str = "", *, error: bool = False) -> None:
        """Open the button again, and say how it went."""
        self.build.disabled, self.build.description = False, "Build"
        self.message.value = message(text, error=error)


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


def _with(options: Iterable[float], value: float) -> list:
    return sorted({*options, value})
