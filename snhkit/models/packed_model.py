"""A model that estimates counts of boxes from compressed counts of a grid's cells."""

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
    """A model of non-negative estimated counts of grid cells, rounded to multiples of a unit.

    The answer to a box is the sum of the counts inside the box. Answers to disjoint boxes therefore
    add up, and the answer to a box is never below the answer to a part of the box.

    Parameters
    ----------
    counts : PackedCounts
        The counts of the cells, as multiples of ``unit``.
    unit : float
        The rounding step of the counts, in records.
    """

    counts: PackedCounts
    unit: float
    kind: ClassVar[str] = "denoised"
    packed_dtype: ClassVar[str] = "uint8"

    @classmethod
    def of(
        cls, region: Region, values: NDArray[np.float64], noise_scale: float, total: int
    ) -> "PackedGridModel":
        """Return a model of given counts, scaled and rounded so that they add up to ``total``.

        Counts are rounded to whole multiples of a unit, a small share of ``noise_scale``. Instead
        of single counts, the running sum of counts over all cells, row after row, is rounded. The
        rounding error of the sum over any number of consecutive cells of one row is therefore at
        most one unit.

        Parameters
        ----------
        region : Region
            The region that the cells divide.
        values : ndarray, shape (m, m)
            Estimated counts, not negative. If all are 0, ``total`` is spread evenly over the cells.
        noise_scale : float
            The noise scale of a cell's count, in records. The unit is about a sixteenth of this
            scale, or larger if ``total`` would otherwise be more than 2**52 units.
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
        """The region that the model covers."""
        return self.counts.grid.region

    @property
    def grid(self) -> Grid:
        """The grid of the model."""
        return self.counts.grid

    def cells(self) -> Grid:
        """Return the grid of the model."""
        return self.counts.grid

    def additive(self) -> "PackedGridModel":
        """Return this model, since its answers to disjoint boxes add up."""
        return self

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the estimated number of records in each of q boxes, shape (q,).

        A box that covers a fraction of a cell's area contains that fraction of the cell's count.
        """
        return self.counts.sums(queries) * self.unit

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays for a file: the compressed counts, and the end of each band of rows."""
        return {"counts": self.counts.packed, "ends": np.asarray(self.counts.ends, np.int64)}

    def settings(self) -> dict[str, Any]:
        """Return the settings for a file.

        They are the number of cells per side, the number of bytes per unpacked count, and the
        rounding step of the counts in records.
        """
        return {"m": self.grid.m, "bytes": self.counts.size, "unit": self.unit}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PackedGridModel":
        """Return the model whose ``arrays`` and ``settings`` were read from a file.

        The counts are unpacked and checked a few rows at a time, in bounded memory.
        """
        told = {name: (a.dtype.name, a.ndim) for name, a in arrays.items()}
        if told != {"counts": ("uint8", 1), "ends": ("int64", 1)}:
            raise InputError(
                "a denoised grid must have two arrays, 'counts' of bytes and 'ends' of 64-bit "
                "whole numbers. If an earlier snhkit wrote the file, release the records again."
            )
        grid, size, unit = Grid(region, settings["m"]), settings["bytes"], float(settings["unit"])
        if not isinstance(size, int) or size not in (1, 2, 4, 8) or not 0 < unit <= _WIDEST:
            raise InputError(
                f"the setting 'bytes' must be 1, 2, 4 or 8, not {size!r}, "
                f"and 'unit' must lie in (0, 2**128], not {unit}."
            )
        return cls(PackedCounts(grid, size, arrays["counts"], arrays["ends"]), unit)


def _rounded(values: NDArray[np.float64], total: int) -> Iterator[NDArray[np.unsignedinteger]]:
    """Yield whole numbers that are about proportional to ``values`` and add up to ``total``.

    The rows of the result are yielded in consecutive groups, to save memory.
    """
    *_, last = _running_sums(values)
    whole, upto = float(last[-1]), 0.0
    for running in _running_sums(values):
        # Values are divided before they are multiplied, because their products might overflow.
        ends = np.rint(running / whole * total)
        counts = np.diff(ends, prepend=upto)
        upto = float(ends[-1])
        yield counts.astype(np.min_scalar_type(int(counts.max()))).reshape(-1, len(values))


def _running_sums(values: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield, for each band of rows, the sum of all values up to each cell, row after row."""
    before = 0.0
    for first in range(0, len(values), BAND):
        running = before + np.cumsum(values[first : first + BAND], dtype=float)
        before = float(running[-1])
        yield running
