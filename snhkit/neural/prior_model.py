"""Answers from a cleaned grid: whole numbers of a small unit, so that they add up exactly."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.neural.whole_sums import MOST, WholeSums

__all__ = ["PriorModel"]

_UNITS = 64  # to the scale of the noise: far finer than anything known
_WIDEST = 2.0**128  # as of any number in a file: answers stay finite


@dataclass(frozen=True, eq=False)
class PriorModel:
    """Cleaned counts of cells, as multiples of a unit; their sums over boxes are the answers.

    No count is negative, so a box never holds less than a box inside it.

    Parameters
    ----------
    grid : Grid
        The cells.
    counts : ndarray of unsigned int, shape (m, m)
        In units.
    unit : float
        In records.
    """

    grid: Grid
    counts: NDArray
    unit: float
    kind: ClassVar[str] = "prior"

    @classmethod
    def of(cls, grid: Grid, clean: NDArray[np.float64], noise: float) -> "PriorModel":
        """Round cleaned counts, shape (m, m), where the noise of one cell has the given scale.

        What is rounded is the running sum of each column, so that errors do not add up.
        """
        unit = max(noise / _UNITS, 2 * clean.sum() / MOST)
        upto = np.rint(np.cumsum(clean / unit, axis=1))
        counts = np.diff(upto, axis=1, prepend=0)
        return cls(grid, counts.astype(np.min_scalar_type(int(counts.max()))), float(unit))

    @property
    def region(self) -> Region:
        """Where it can be asked."""
        return self.grid.region

    def cells(self) -> Grid:
        """Its own cells."""
        return self.grid

    def parts(self) -> Grid:
        """Its own cells."""
        return self.grid

    @cached_property
    def _table(self) -> WholeSums:
        return WholeSums(self.grid, self.counts)

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Sums over the boxes, shape (q,); part of a cell counts as its share of the area."""
        return self._table.sums(queries) * self.unit

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Not known: nan, shape (q,)."""
        return np.full(len(queries), np.nan)

    def arrays(self) -> dict[str, NDArray]:
        """The counts' bytes, compressed: first the lowest byte of each count, then the next."""
        order = self.counts.dtype.newbyteorder("<")
        parts = self.counts.astype(order).reshape(-1, 1).view(np.uint8).T
        packed = zlib.compress(np.ascontiguousarray(parts).tobytes(), 9)
        return {"counts": np.frombuffer(packed, np.uint8)}

    def settings(self) -> dict[str, Any]:
        """Cells a side, bytes of a count, and the unit."""
        return {"m": self.grid.m, "bytes": self.counts.dtype.itemsize, "unit": self.unit}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PriorModel":
        """Rebuild from a file; no more is unpacked than its cells need."""
        if {name: (a.dtype.name, a.ndim) for name, a in arrays.items()} != {"counts": ("uint8", 1)}:
            raise InputError("a cleaned grid has one array, 'counts', a row of bytes.")
        grid, size, unit = Grid(region, settings["m"]), settings["bytes"], float(settings["unit"])
        if not isinstance(size, int) or size not in (1, 2, 4, 8) or not 0 < unit <= _WIDEST:
            raise InputError(f"counts of {size!r} bytes, in units of {unit}, are not possible.")
        unzip = zlib.decompressobj()
        length = grid.m**2 * int(size)
        try:
            data = unzip.decompress(arrays["counts"].tobytes(), length + 1)
        except zlib.error as error:
            raise InputError(f"the counts cannot be unpacked ({error}).") from None
        if len(data) != length or not unzip.eof or unzip.unused_data:
            raise InputError(f"the counts are not those of {grid.m:,} by {grid.m:,} cells.")
        parts = np.frombuffer(data, np.uint8).reshape(size, -1).T
        counts = np.ascontiguousarray(parts).view(f"<u{size:d}").reshape(grid.m, grid.m)
        if counts.sum(dtype=float) > MOST:
            raise InputError("the counts add up to more than 2**53 units.")
        return cls(grid, counts.astype(f"u{size:d}", copy=False), unit)
