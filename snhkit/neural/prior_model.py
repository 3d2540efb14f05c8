"""Answers from a cleaned grid, held near the sums over many cells that noise leaves alone."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.grid_model import GridModel
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.neural.reconcile import block_starts, block_sums, reconciled, settled
from snhkit.neural.whole_sums import MOST, WholeSums

__all__ = ["PriorModel"]

_BLOCK = 16  # cells a side of the smallest blocks, at least
_GAP = 64  # in scales of the noise, at most
_UNITS = 16  # to the scale of the noise: far finer than anything known
_WIDEST = 2.0**128  # as of any number in a file: answers stay finite


@dataclass(frozen=True, eq=False)
class PriorModel:
    """Two sums over a box: of cleaned counts, and of counts that keep the sums over many cells.

    The prior was taught to answer small boxes on records, and where people stand there are more of
    them than where nobody asks; so its counts are too many for the whole. In a second grid they
    settle, block by block, on sums that the noisy counts know well. The answer is the first sum,
    moved to within a gap of the second. No count of either is negative, so a box never holds less
    than a box inside it.

    Parameters
    ----------
    grid : Grid
        The cells.
    counts : ndarray of unsigned int, shape (m, m)
        Cleaned counts in units.
    blocks : ndarray, shape (b, b)
        Sums over blocks of cells, in units.
    unit, gap : float
        In records.
    """

    grid: Grid
    counts: NDArray
    blocks: NDArray
    unit: float
    gap: float
    kind: ClassVar[str] = "prior"

    @classmethod
    def of(
        cls, clean: NDArray[np.float64], noisy: NDArray, region: Region, noise: float, lead: float
    ) -> "PriorModel":
        """Round cleaned counts, and take the sums over blocks from the noisy ones.

        Parameters
        ----------
        clean : ndarray, shape (s * m, s * m)
            Counts of parts of cells, not negative.
        noisy : ndarray, shape (m, m)
            Noisy counts of cells; their sum is taken as it is.
        region : Region
            What they are cells of.
        noise : float
            Scale of the noise of one cell, in records.
        lead : float
            In records: the gap, unless noise is much less. psi, for boxes of the usual sizes.
        """
        m = len(noisy)
        levels = [2**i for i in range(m.bit_length()) if 2**i == 1 or 2**i * _BLOCK <= m]
        there = levels[1:]
        sure = _with_its_sum(clean, noisy)
        # And back: where a block would hold less than none, the others have paid too little for it.
        sure = reconciled(sure, noisy, 2 * noise**2, [*there, *there[-2::-1]])
        sure = _with_its_sum(sure, noisy)
        blocks = block_sums(sure, block_starts(len(clean), levels[-1]))
        unit = max(noise / _UNITS, 2 * max(clean.sum(), blocks.sum()) / MOST)
        counts = _rounded(clean / unit)
        counts = counts.astype(np.min_scalar_type(int(counts.max())))
        gap = min(lead, _GAP * noise)
        return cls(Grid(region, len(clean)), counts, np.floor(blocks / unit), float(unit), gap)

    @property
    def region(self) -> Region:
        """Where it can be asked."""
        return self.grid.region

    def cells(self) -> Grid:
        """Its own cells."""
        return self.grid

    def additive(self) -> GridModel:
        """The counts that keep the sums over many cells."""
        return GridModel(self.grid, self._kept * self.unit)

    @cached_property
    def _kept(self) -> NDArray[np.float64]:
        first = block_starts(self.grid.m, len(self.blocks))
        return _rounded(settled(self.counts, first, block_sums(self.counts, first), self.blocks))

    @cached_property
    def _table(self) -> WholeSums:
        return WholeSums(self.grid, np.stack([self.counts, self._kept]))

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Estimated counts of the boxes, shape (q,); part of a cell counts as its share."""
        small, large = self._table.sums(queries)
        gap = self.gap / self.unit
        return np.minimum(np.maximum(small, large - gap), large + gap) * self.unit

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Not known: nan, shape (q,)."""
        return np.full(len(queries), np.nan)

    @property
    def separate(self) -> bool:
        """No: noise is cleaned across cells."""
        return False

    def arrays(self) -> dict[str, NDArray]:
        """The counts' bytes, compressed: first the lowest byte of each count, then the next."""
        order = self.counts.dtype.newbyteorder("<")
        parts = self.counts.astype(order).reshape(-1, 1).view(np.uint8).T
        packed = zlib.compress(np.ascontiguousarray(parts).tobytes(), 9)
        return {"counts": np.frombuffer(packed, np.uint8), "blocks": self.blocks}

    def settings(self) -> dict[str, Any]:
        """Cells a side, bytes of a count, the unit and the gap."""
        size = self.counts.dtype.itemsize
        return {"m": self.grid.m, "bytes": size, "unit": self.unit, "gap": self.gap}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PriorModel":
        """Rebuild from a file; no more is unpacked than its cells need."""
        told = {name: (a.dtype.name, a.ndim) for name, a in arrays.items()}
        if told != {"counts": ("uint8", 1), "blocks": ("float64", 2)}:
            raise InputError("a cleaned grid has 'counts', a row of bytes, and 'blocks'.")
        grid, size, unit = Grid(region, settings["m"]), settings["bytes"], float(settings["unit"])
        if not isinstance(size, int) or size not in (1, 2, 4, 8) or not 0 < unit <= _WIDEST:
            raise InputError(f"counts of {size!r} bytes, in units of {unit}, are not possible.")
        blocks, gap = arrays["blocks"], float(settings["gap"])
        if not 1 <= len(blocks) == blocks.shape[1] <= grid.m or not 0 <= gap <= _WIDEST:
            raise InputError(f"blocks of shape {blocks.shape} and a gap of {gap} are not possible.")
        if (blocks < 0).any() or blocks.sum() > MOST:
            raise InputError("the blocks are negative, or add up to more than 2**53 units.")
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
        return cls(grid, counts.astype(f"u{size:d}", copy=False), blocks, unit, gap)


def _rounded(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers; what is rounded is the running sum of each column, so errors do not add up."""
    return np.diff(np.rint(np.cumsum(counts, axis=1)), axis=1, prepend=0)


def _with_its_sum(clean: NDArray[np.float64], noisy: NDArray) -> NDArray[np.float64]:
    """Settled on the sum of all noisy counts."""
    whole, total = block_starts(len(clean), 1), max(float(noisy.sum()), 0.0)
    return settled(clean, whole, block_sums(clean, whole), np.array([[total]]))
