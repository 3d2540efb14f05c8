"""Functions and constants that builders share."""

import math
import warnings
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from snhkit.builder import Builder
from snhkit.checks import two_numbers
from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.geometry.grid import MAX_CELLS
from snhkit.models import Model
from snhkit.privacy import Measurements
from snhkit.release import Release

__all__ = [
    "MAX_CELLS_PER_SIDE",
    "Builder",
    "Extra",
    "hyperparameters",
    "publish",
]

MAX_CELLS_PER_SIDE = math.isqrt(MAX_CELLS)
"""The largest number of cells per side that a grid may have."""


@dataclass(frozen=True)
class Extra:
    """A pip extra of snhkit that a builder needs, its attribute ``extra``, and its package."""

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
        """Raise InputError unless the package can be imported: in ``check``, at no cost."""
        if not self.installed:
            raise InputError(f"the package {self.package} is not installed: {self.advice}.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings of the package are not for our users
                import_module(self.package)
        except ImportError as error:
            raise InputError(
                f"the package {self.package} cannot be imported ({error}); try {self.advice}."
            ) from error


def publish(builder: Builder, private: Measurements, model: Model, **shown: Any) -> Release:
    """Return a release of a builder's model, with the costs of its measurements.

    The release shows ``shown`` as hyperparameters; by default all fields of the builder.
    """
    return Release(
        method=type(builder).__name__,
        hyperparameters=shown or hyperparameters(builder),
        epsilon=private.spent,
        delta=private.delta,
        unit=private.unit,
        n=private.n,
        replayable=private.replayable,
        spends=private.spends,
        model=model,
    )


def hyperparameters(builder: Any) -> dict[str, Any]:
    """Return the fields of a builder, or of a dataclass in a builder, as JSON values by name."""
    return _plain(asdict(builder))


def sizes(sizes_m: tuple[float, float], but_for: str = "") -> tuple[float, float]:
    """Return query sizes (l, u), 0 < l <= u metres; messages insert ``but_for``, as "None or "."""
    low, high = two_numbers("sizes_m", sizes_m)
    if not 0 < low <= high < math.inf:
        raise InputError(f"sizes_m must be {but_for}(l, u) with 0 < l <= u metres, not {sizes_m}.")
    return low, high


def refuse_wide(method: str, widest_m: float, region: Region, *, narrower: bool = False) -> None:
    """Raise InputError if boxes do not fit into a region, or, if need be, are not narrower."""
    if widest_m > region.side_m or (narrower and widest_m == region.side_m):
        raise InputError(
            f"{method}: boxes of {widest_m:g} m do not fit into a region of {region.side_m:g} m; "
            "give smaller sizes_m."
        )


def _plain(value: Any) -> Any:
    """Return a value converted to JSON types, which writing and reading do not change."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (Fraction, Decimal)):
        return str(value)
    return [_plain(v) for v in value] if isinstance(value, (tuple, list)) else value
