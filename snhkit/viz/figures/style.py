"""Each method has the same colour, marker, line and hatch in all figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from snhkit.methods import METHODS
from snhkit.viz.maps.surface import COLOURS

# The colours of Okabe and Ito without yellow, which is invisible on white, and with grey instead of
# black, which is invisible on black.
_COLOURS = (*COLOURS[:6], "#808080")
_MARKERS = "osD^vP*Xdph<>H8"
_HATCHES = (
    "", "//", "..", "xx", "\\\\", "++", "oo", "--", "**", "||", "////", "OO", "\\\\\\\\", "...",
    "xxx", "+++", "ooo",
)  # fmt: skip
EPSILON = ", ε = "
"""Separates the title of a method from an epsilon in the name of a release."""

_FIRST = ("SNH", "Denoised grid")  # methods with the first styles


@dataclass(frozen=True)
class MethodStyle:
    """The colour, marker, line and hatch of a method in figures; hollow markers mark a repeat."""

    colour: str
    marker: str
    linestyle: str
    hatch: str
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """The style of a line or of points, as keyword arguments for matplotlib's ``Axes.plot``."""
        face = {"markerfacecolor": "none"} if self.hollow else {}
        return {"color": self.colour, "marker": self.marker, "linestyle": self.linestyle} | face

    @property
    def bar(self) -> dict[str, Any]:
        """The style of a bar, as keyword arguments for matplotlib's ``Axes.bar``."""
        return {"color": self.colour, "hatch": self.hatch}


def method_styles(titles: Iterable[str]) -> dict[str, MethodStyle]:
    """Return the style for each title of a method; other names get styles that no method has.

    Parameters
    ----------
    titles : iterable of str
        Titles of methods, or other names. A title may be followed by ", ε = " and an epsilon, for
        several releases by one method. These have the same colour and marker; all but the first
        have hollow markers and other line styles.

    Returns
    -------
    dict of str to MethodStyle
        The styles, by the elements of ``titles``.

    Examples
    --------
    >>> styles = method_styles(["UG", "mine", "yours"])
    >>> styles["UG"] == method_styles(["UG"])["UG"], styles["mine"] == styles["yours"]
    (True, False)
    """
    known = [*_FIRST, *(m.title for m in METHODS.values() if m.title not in _FIRST)]
    asked = list(dict.fromkeys(titles))
    heads = {name: name.partition(EPSILON)[0] for name in asked}
    names = [*known, *(head for head in dict.fromkeys(heads.values()) if head not in known)]
    found, seen = {}, dict.fromkeys(names, 0)
    for name, head in heads.items():
        found[name] = _style(names.index(head), seen[head])
        seen[head] += 1
    return found


def _style(k: int, further: int = 0) -> MethodStyle:
    dashes = ("-", "--", ":", "-.")
    return MethodStyle(
        colour=_COLOURS[k % len(_COLOURS)],
        marker=_MARKERS[k % len(_MARKERS)],
        linestyle=dashes[(k // len(_COLOURS) + further) % len(dashes)],
        hatch=_HATCHES[k % len(_HATCHES)],
        hollow=further > 0,
    )
