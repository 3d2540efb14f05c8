"""The slider under the map that chooses or plays strata, such as the hours of a day."""

import html
from collections.abc import Callable, Mapping
from pathlib import Path

import anywidget
import traitlets

from snhkit.geometry.strata import By
from snhkit.viz import reports
from snhkit.viz.maps.surface import Surface, pictures

_HERE, _REPORTS = Path(__file__).parent, Path(reports.__file__).parent


class StrataSlider(anywidget.AnyWidget):
    """A slider with Play and Pause that chooses a stratum, or all together, for the maps."""

    _esm = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (_REPORTS / "frames.js", _HERE / "strata_slider.js")
    )
    name = traitlets.Unicode().tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)  # none hide the slider
    value = traitlets.Int().tag(sync=True)

    def __init__(self, changed: Callable[[], object]) -> None:
        super().__init__()
        self._by: By | None = None
        self.observe(lambda _: changed(), "value")

    def offer(self, by: By | None) -> None:
        """Offer strata and all together, which is chosen first; with None, hide the slider."""
        if by == self._by:
            return
        self._by = by
        self.name = by.name.replace("_", " and ") if by else ""
        self.labels = ["all", *by.labels] if by else []
        self.value = 0

    @property
    def chosen(self) -> tuple[By, str] | None:
        """The strata and the label of the chosen one; None for all together."""
        if self._by is None or not 0 < self.value < len(self.labels):
            return None
        return self._by, self.labels[self.value]


def side_by_side(surfaces: Mapping[str, Surface], title: str) -> str:
    """Return HTML with a small map of each stratum, all on one colour scale."""
    drawn, scale = pictures(surfaces)
    maps = "".join(
        f'<figure><img src="{url}" alt=""><figcaption>{html.escape(label)}</figcaption></figure>'
        for label, url in drawn.items()
    )
    said = html.escape(f"{title}; the brighter, the more, up to {scale.top:g} {scale.unit}.")
    return (
        f'<div class="snhkit-strata" role="img" aria-label="{said}">{maps}</div>'
        f'<p class="snhkit-soft">{said}</p>'
    )
