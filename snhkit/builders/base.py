"""Functions and constants that builders share."""

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
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points
from snhkit.geometry.grid import MAX_CELLS
from snhkit.models import Model
from snhkit.privacy import Spend, noisy_count, noisy_histogram
from snhkit.release import Release

__all__ = [
    "MAX_CELLS_PER_SIDE",
    "N_SHARE",
    "Builder",
    "Extra",
    "Terms",
    "hyperparameters",
    "noisy_grid",
    "publish",
    "with_n",
]

N_SHARE = Fraction(1, 20)
"""The share of epsilon that is spent on the number of records if that is not public."""

MAX_CELLS_PER_SIDE = math.isqrt(MAX_CELLS)
"""The number of cells per side of the finest grid that is allowed."""


@dataclass(frozen=True)
class Extra:
    """An optional dependency of a builder, stored in the builder's class attribute ``extra``.

    Parameters
    ----------
    name : str
        The name of snhkit's extra that installs the package.
    package : str
        The name by which the package is imported.
    """

    name: str
    package: str

    @property
    def installed(self) -> bool:
        """True if the package is installed."""
        return find_spec(self.package) is not None

    @property
    def advice(self) -> str:
        """The command that installs the package."""
        return f'pip install "snhkit[{self.name}]"'

    def require(self) -> None:
        """Raise InputError if the package is not installed or cannot be imported.

        Builders call this in ``check``, before anything is spent.
        """
        if not self.installed:
            raise InputError(f"the package {self.package} is not installed: {self.advice}.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the package itself
                import_module(self.package)
        except ImportError as error:
            raise InputError(
                f"the package {self.package} cannot be imported ({error}): {self.advice}."
            ) from error


def with_n(records: Points, terms: Terms) -> tuple[int, Terms, tuple[Spend, ...]]:
    """Return the number of records, and buy a noisy number if it is not public.

    Returns
    -------
    n : int
        The public or noisy number of records, 0 or more.
    left : Terms
        The terms with n, less what was spent.
    bought : tuple of Spend
        The cost: nothing if n is public, else ``N_SHARE`` of epsilon.
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
    """Return the number of records as ``with_n`` does, or buy nothing if ``given`` is not None.

    For builders that need n only to choose the hyperparameter ``given``.
    """
    return with_n(records, terms) if given is None else (terms.n, terms, ())


def noisy_grid(records: Points, grid: Grid, terms: Terms) -> tuple[NDArray[np.int64], Spend]:
    """Spend all epsilon on noisy counts of a grid's cells, shape (m, m); return counts and cost."""
    return noisy_histogram(
        grid.count(records), terms.epsilon, terms.unit.sensitivity, terms.entropy
    )


def publish(
    builder: Builder, terms: Terms, spends: tuple[Spend, ...], model: Model, n: int | None = None
) -> Release:
    """Return the release of a builder's model, where ``terms`` are those that ``build`` got."""
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


def hyperparameters(builder: Any) -> dict[str, Any]:
    """Return the hyperparameters of a builder, or of a part of one, as JSON values by name."""
    return _plain(asdict(builder))


def sizes(sizes_m: tuple[float, float], but_for: str = "") -> tuple[float, float]:
    """Return query sizes (l, u) in metres as floats; InputError unless 0 < l <= u < infinity.

    ``but_for`` names another value that the caller accepts, for the message.
    """
    low, high = sizes_m
    if not 0 < low <= high < math.inf:
        raise InputError(f"sizes_m must be {but_for}(l, u) with 0 < l <= u metres, not {sizes_m}.")
    return float(low), float(high)


def _plain(value: Any) -> Any:
    """Return a value in JSON types, so that a file gives back what was stored."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (Fraction, Decimal)):
        return str(value)
    return [_plain(v) for v in value] if isinstance(value, (tuple, list)) else value
