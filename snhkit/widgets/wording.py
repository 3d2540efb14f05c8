"""What the explorer says: sentences and tables as HTML."""

import html
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import RangeQueries
from snhkit.privacy import PrivacyUnit

__all__ = ["answers_table", "epsilon_in_words", "message", "parse_box"]


def epsilon_in_words(epsilon: float, unit: PrivacyUnit) -> str:
    """What an epsilon promises and what it costs, for someone who has not met it.

    Examples
    --------
    >>> print(epsilon_in_words(0.2, PrivacyUnit.of("record")))
    Strong protection of one record added or removed: no outcome is more than 1.22 times as
    likely with it as without. A single noisy count is off by about 5 records.
    """
    grades = ((0.1, "Very strong"), (1, "Strong"), (3, "Modest"), (math.inf, "Weak"))
    grade = next(word for limit, word in grades if epsilon <= limit)
    return (
        f"{grade} protection of {unit.sentence}: no outcome is more than "
        f"{_three(math.exp(epsilon))} times as likely with it as without. "
        f"A single noisy count is off by about {_three(unit.sensitivity / epsilon)} records."
    )


def answers_table(
    boxes: RangeQueries | None, columns: Mapping[str, NDArray], *, truth: NDArray | None = None
) -> str:
    """A table with a row a box: its size, each column's count, and the truth if it is given.

    Parameters
    ----------
    boxes : RangeQueries, optional
        None while there is none.
    columns : mapping of name to counts, shape (q,)
        Released counts.
    truth : ndarray of int, shape (q,), optional
        True counts, for teaching with invented data only.
    """
    head = ["Box", "Size in metres", *columns]
    cells = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    if truth is not None:
        cells += '<th scope="col" class="snhkit-truth">Truth</th>'
    rows = [] if boxes is None else [_row(k, boxes, columns, truth) for k in range(len(boxes))]
    empty = (
        f'<tr><td colspan="{len(head) + (truth is not None)}">No box yet: draw one on the map with '
        "its rectangle tool, or type one below it.</td></tr>"
    )
    return (
        '<table class="snhkit-answers"><caption>Records in each box, as released</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows) or empty}</tbody></table>"
    )


def _row(k: int, boxes: RangeQueries, columns: Mapping[str, NDArray], truth: NDArray | None) -> str:
    side = boxes.region.side_m
    west, south = boxes.x[k], boxes.y[k]
    east, north = west + boxes.width[k], south + boxes.height[k]
    size = f"{boxes.width[k]:,.0f} × {boxes.height[k]:,.0f}"
    if min(west, south) < 0 or max(east, north) > side:
        size += " (reaches outside)"
    cells = [size, *(f"{np.round(counts[k], 1) + 0:,.1f}" for counts in columns.values())]
    row = f'<th scope="row">{k + 1}</th>' + "".join(f"<td>{cell}</td>" for cell in cells)
    if truth is not None:
        row += f'<td class="snhkit-truth">{truth[k]:,}</td>'
    return f"<tr>{row}</tr>"


def message(text: str, *, error: bool = False) -> str:
    """A line for the message area, which a screen reader reads out when it changes."""
    role, kind = ("alert", " snhkit-error") if error else ("status", "")
    return f'<div role="{role}" class="snhkit-message{kind}">{html.escape(text)}</div>'


def parse_box(text: str) -> list[float]:
    """South, west, north and east, in degrees, from what a person typed.

    Raises
    ------
    InputError
        Saying what is wrong.

    Examples
    --------
    >>> parse_box("37.75, -122.45, 37.76, -122.44")
    [37.75, -122.45, 37.76, -122.44]
    """
    parts = text.replace(",", " ").split()
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        raise InputError("A box is four numbers in degrees: south, west, north, east.")
    south, west, north, east = numbers
    if not (-90 <= south < north <= 90):
        raise InputError(f"South ({south:g}) must lie below north ({north:g}), within ±90 degrees.")
    if not (-180 <= west < east <= 540):
        raise InputError(f"West ({west:g}) must lie left of east ({east:g}).")
    return numbers


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
