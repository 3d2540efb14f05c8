"""Sentences and messages of the explorer, and the parsing of typed boxes."""

import html
import math

from snhkit.checks import typed_number
from snhkit.errors import InputError
from snhkit.privacy import PrivacyUnit


def epsilon_in_words(epsilon: float, unit: PrivacyUnit) -> str:
    """Return two sentences for beginners: how strongly an epsilon protects, and how large noise is.

    Parameters
    ----------
    epsilon : float
        The privacy parameter.
    unit : PrivacyUnit
        The unit of privacy.

    Examples
    --------
    >>> print(epsilon_in_words(0.2, PrivacyUnit("record")))
    Strong protection of one record added or removed: no outcome is more than 1.22 times as
    likely with it as without. A single noisy count is off by about 5 records.
    """
    grades = ((0.1, "Very strong"), (1, "Strong"), (3, "Modest"), (math.inf, "Weak"))
    grade = next(word for limit, word in grades if unit.factor * epsilon <= limit)
    off = _three(unit.sensitivity / epsilon)
    compared = "with the one as with the other" if unit.n_public else "with it as without"
    return (
        f"{grade} protection of {unit.sentence}: no outcome is more than "
        f"{_three(math.exp(unit.factor * epsilon))} times as likely {compared}. "
        f"A single noisy count is off by about {off} {'record' if off == '1' else 'records'}."
    )


def message(text: str, *, error: bool = False) -> str:
    """Return a text as the HTML of a message, which a screen reader reads out."""
    role, kind = ("alert", " snhkit-error") if error else ("status", "")
    return f'<div role="{role}" class="snhkit-message{kind}">{html.escape(text)}</div>'


def parse_box(text: str) -> list[float]:
    """Return [south, west, north, east] in degrees; raise InputError if that is no box on Earth."""
    parts = text.replace(",", " ").split()
    try:
        numbers = list(map(typed_number, parts))
    except ValueError:
        numbers = []
    if len(numbers) != 4:
        raise InputError(
            f"A box must be four numbers in degrees, south, west, north, east, not {text[:60]!r}."
        )
    south, west, north, east = numbers
    if not (-90 <= south < north <= 90):
        raise InputError(
            f"South ({south:g}) must be less than north ({north:g}), both from -90 to 90 degrees."
        )
    if not (-180 <= west < east <= 540):
        raise InputError(
            f"West ({west:g}) must be less than east ({east:g}), both from -180 to 540 degrees. If "
            "the box crosses the meridian of 180 degrees, add 360 to east."
        )
    return numbers


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
