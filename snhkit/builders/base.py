"""What builders have in common."""

import math
import warnings
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.builder import Builder, Terms
from snhkit.checks import positive, whole
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points
from snhkit.geometry.grid import MAX_CELLS
from snhkit.models import Model
from snhkit.privacy import Spend, noisy_count, noisy_histogram
from snhkit.release import Release

__all__ = [
    "MOST_CELLS",
    "N_SHARE",
    "Builder",
    "Extra",
    "Terms",
    "hyperparameters",
    "noisy_grid",
    "positive",
    "publish",
    "whole",
    "with_n",
]

N_SHARE = Fraction(1, 20)
"""The share of epsilon that buys an unknown number of records."""

MOST_CELLS = math.isqrt(MAX_CELLS)
"""Cells a side of the finest grid there is."""


@dataclass(frozen=True)
class Extra:
    """What a builder needs beyond snhkit's own dependencies; it names it as its ``extra``.

    Parameters
    ----------
    name : str
        Of the extra of snhkit.
    package : str
        That is imported.
    """

    name: str
    package: str

    @property
    def installed(self) -> bool:
        """Whether it is here."""
        return find_spec(self.package) is not None

    @property
    def advice(self) -> str:
        """How to get it."""
        return f'pip install "snhkit[{self.name}]"'

    def require(self) -> None:
        """Raise InputError if it is not here, or does not work: before anything is spent on it."""
        if not self.installed:
            raise InputError(f"the package {self.package} is not installed: {self.advice}.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its own affairs
                import_module(self.package)
        except ImportError as error:
            raise InputError(
                f"the package {self.package} cannot be imported ({error}): {self.advice}."
            ) from error


def with_n(records: Points, terms: Terms) -> tuple[int, Terms, tuple[Spend, ...]]:
    """The number of records, the terms that are left, and what it cost.

    A public n is free. An unknown one is bought, noisy, with ``N_SHARE`` of epsilon.
    """
    if terms.n is not None:
        return terms.n, terms, ()
    noisy, spend = noisy_count(
        len(records),
        terms.epsilon * N_SHARE,
        terms.unit.sensitivity,
        terms.entropy,
        "number of records",
    )
    n = max(noisy, 0)
    return n, replace(terms, n=n, epsilon=terms.epsilon - spend.epsilon), (spend,)


def with_n_unless(
    given: object, records: Points, terms: Terms
) -> tuple[int | None, Terms, tuple[Spend, ...]]:
    """``with_n``, but nothing is bought if the hyperparameter that would follow from n is given."""
    return with_n(records, terms) if given is None else (terms.n, terms, ())


def noisy_grid(records: Points, grid: Grid, terms: Terms) -> tuple[NDArray[np.int64], Spend]:
    """Noisy counts of a grid's cells, shape (m, m), for all that ``terms`` still allow."""
    return noisy_histogram(
        grid.count(records), terms.epsilon, terms.unit.sensitivity, terms.entropy
    )


def publish(
    builder: Builder, terms: Terms, spends: tuple[Spend, ...], model: Model, n: int | None = None
) -> Release:
    """Wrap a model into the release of ``builder`` on the ``terms`` it was first given."""
    return Release(
        method=type(builder).__name__,
        hyperparameters=hyperparameters(builder),
        epsilon=terms.epsilon,
        unit=terms.unit,
        n=terms.n if n is None else n,
        replayable=terms.entropy.replayable,
        spends=spends,
        model=model,
    )


def hyperparameters(builder: Builder) -> dict[str, Any]:
    """Those of a builder, as JSON values."""
    return _plain(asdict(builder))  # pyright: ignore[reportArgumentType]


def sizes(sizes_m: tuple[float, float], but_for: str = "") -> tuple[float, float]:
    """Query sizes as numbers; InputError unless they are (l, u) with 0 < l <= u metres."""
    low, high = sizes_m
    if not 0 < low <= high < math.inf:
        raise InputError(f"sizes_m must be {but_for}(l, u) with 0 < l <= u metres, not {sizes_m}.")
    return float(low), float(high)


def _plain(value: Any) -> Any:
    """The same in JSON's own types, so that a file can hold it and gives back what went in."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (Fraction, Decimal)):
        return str(value)
    return [_plain(v) for v in value] if isinstance(value, (tuple, list)) else value
