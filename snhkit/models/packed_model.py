"""Answers from a compressed grid of whole counts, in bounded memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.packed_counts import BAND, MOST, PackedCounts
from snhkit.models.unknown_noise import UnknownNoise

__all__ = ["PackedGridModel"]

_UNITS = 16  # units in one noise scale, so that rounding errors are far below the noise
_WIDEST = 2.0**128  # the limit of the unit in a file, so that answers stay finite


@dataclass(frozen=True, eq=False)
class PackedGridModel(UnknownNoise):
    """A grid of non-negative estimated counts, stored as whole multiples of a unit.

    The answer to a box is the sum over its cells. Answers to disjoint boxes therefore add up, and
    the answer to a box is never below the answer to a box inside it.

    Parameters
    ----------
    counts : PackedCounts
        Counts of the cells in units.
    unit : float
        The unit, in records.
    """

    counts: PackedCounts
    unit: float
    kind: ClassVar[str] = "denoised"
    packed_dtype: ClassVar[str] = "uint8"

    @classmethod
    def of(
        cls, region: Region, values: NDArray[np.float64], noise_scale: float, total: int
    ) -> "PackedGridModel":
        """Return a model of counts, rounded so that they add up to the total.

        Instead of single counts, the running sum over all cells, row after row, is rounded. The
        rounding error of the sum of any number of consecutive cells in a row is therefore below one
        unit.

        Parameters
        ----------
        region : Region
            The region that the cells divide.
        values : ndarray, shape (m, m)
            Estimated counts, not negative. They are scaled to the total; if all are 0, the total is
            spread evenly.
        noise_scale : float
            The scale of the noise of a cell, in records. The unit is about a sixteenth of the
            scale.
        total : int
            The sum of all counts, in records; not negative.
        """
        unit = max(noise_scale / _UNITS, 2 * total / MOST)
        many = max(round(total / unit), 1) if total else 0
        if not values.any():
            values = np.ones_like(values)
        grid, bands = Grid(region, len(values)), list(_rounded(values, many))
        largest = max(int(rows.max()) for rows in bands)
        return cls(PackedCounts.of_bands(grid, largest, bands), total / many if many else unit)

    @property
    def region(self) -> Region:
        """The region in which boxes can be answered."""
        return self.counts.grid.region

    @property
    def grid(self) -> Grid:
        """The cells of the model."""
        return self.counts.grid

    def cells(self) -> Grid:
        """Return the cells of the counts."""
        return self.counts.grid

    def additive(self) -> "PackedGridModel":
        """Return this model, whose answers add up."""
        return self

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the estimated count of each box, shape (q,).

        A cell that a box covers in part contributes its share of area.
        """
        return self.counts.sums(queries) * self.unit

    def arrays(self) -> dict[str, NDArray]:
        """Return the compressed counts, and where each band of rows ends."""
        return {"counts": self.counts.packed, "ends": np.asarray(self.counts.ends, np.int64)}

    def settings(self) -> dict[str, Any]:
        """Return the number of cells per side, the bytes of a count, and the unit in records."""
        return {"m": self.grid.m, "bytes": self.counts.size, "unit": self.unit}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PackedGridModel":
        """Return the model of a file, whose counts are checked band by band in bounded memory."""
        told = {name: (a.dtype.name, a.ndim) for name, a in arrays.items()}
        if told != {"counts": ("uint8", 1), "ends": ("int64", 1)}:
            raise InputError(
                "a denoised grid must have two arrays, 'counts' of bytes and 'ends' of 64-bit "
                "whole numbers. If an earlier snhkit wrote the file, release the records again."
            )
        grid, size, unit = Grid(region, settings["m"]), settings["bytes"], float(settings["unit"])
        if not isinstance(size, int) or size not in (1, 2, 4, 8) or not 0 < unit <= _WIDEST:
            raise InputError(
                f"counts must have 1, 2, 4 or 8 bytes, not {size!r}, "
                f"and a unit in (0, 2**128], not {unit}."
            )
        return cls(PackedCounts(grid, size, arrays["counts"], arrays["ends"]), unit)


def _rounded(values: NDArray[np.float64], many: int) -> Iterator[NDArray[np.unsignedinteger]]:
    """Yield bands of whole numbers in proportion to the values; all bands add up to ``many``."""
    *_, last = _running_sums(values)
    whole, upto = float(last[-1]), 0.0
    for running in _running_sums(values):
        # Values are divided before they are multiplied, because their products might overflow.
        ends = np.rint(running / whole * many)
        counts = np.diff(ends, prepend=upto)
        upto = float(ends[-1])
        yield counts.astype(np.min_scalar_type(int(counts.max()))).reshape(-1, len(values))


def _running_sums(values: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield for each band of rows the running sums up to each cell, row after row."""
    before = 0.0
    for first in range(0, len(values), BAND):
        running = before + np.cumsum(values[first : first + BAND], dtype=float)
        before = float(running[-1])
        yield running
