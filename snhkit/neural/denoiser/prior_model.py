"""Answers from a cleaned grid, held near the sums over many cells that noise leaves alone."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.grid_model import GridModel
from snhkit.neural.denoiser.reconcile import block_starts, block_sums, reconciled, settled
from snhkit.neural.denoiser.whole_sums import MOST, WholeSums

__all__ = ["CleanedGrid", "PriorModel"]

_BLOCK = 16  # cells a side of the smallest blocks, at least
_GAP = 64  # in scales of the noise, at most
_UNITS = 16  # to the scale of the noise: far finer than anything known
_GRAINS = 255  # to the most presence of a cell
_SQUARES = 10  # of 1 - p / 2**10, which is nearly exp(-p)
_WIDEST = 2.0**128  # as of any number in a file: answers stay finite


class CleanedGrid(NamedTuple):
    """What the prior makes of a grid: a box holds counts + level (1 - exp(-presence)).

    A box is drawn where somebody is. However small it is, there may be a venue in it that noise
    hides; counts, of which a tenth of the box has a tenth, cannot say so.

    Parameters
    ----------
    counts : ndarray, shape (m, m)
        Records in the cells, not negative.
    presence : ndarray, shape (m, m)
        How surely somebody is in a cell who is not in its count; not negative.
    level : float
        How many records that would be.
    """

    counts: NDArray[np.float64]
    presence: NDArray[np.float64]
    level: float

    def adding_up(self, share: float) -> NDArray[np.float64]:
        """Counts alone, shape (m, m), that say the same of a box of which a cell is this share."""
        return self.counts - self.level * share * np.expm1(-self.presence / share)


@dataclass(frozen=True, eq=False)
class PriorModel:
    """Two sums over a box: of a cleaned grid, and of counts that keep the sums over many cells.

    The prior was taught to answer small boxes on records, and where people stand there are more of
    them than where nobody asks; so its counts are too many for the whole. In a second grid they
    settle, block by block, on sums that the noisy counts know well. The answer is what the cleaned
    grid says (see ``CleanedGrid``), moved to within a gap of the second sum. Nothing in either is
    negative, so a box never holds less than a box inside it.

    Parameters
    ----------
    grid : Grid
        The cells.
    counts : ndarray of unsigned int, shape (m, m)
        Cleaned counts in units.
    presence : ndarray of uint8, shape (m, m)
        In grains.
    blocks : ndarray, shape (b, b)
        Sums over blocks of cells, in units.
    unit, level, gap : float
        In records.
    grain : float
        Of presence.
    """

    grid: Grid
    counts: NDArray
    presence: NDArray[np.uint8]
    blocks: NDArray
    unit: float
    level: float
    gap: float
    grain: float
    kind: ClassVar[str] = "denoised"
    packed_dtype: ClassVar[str] = "uint8"

    @classmethod
    def of(
        cls, clean: CleanedGrid, noisy: NDArray, region: Region, noise: float, lead: float
    ) -> "PriorModel":
        """Round a cleaned grid, and take the sums over blocks from the noisy counts.

        Parameters
        ----------
        clean : CleanedGrid
            Of s * m by s * m parts of cells.
        noisy : ndarray, shape (m, m)
            Noisy counts of cells; their sum is taken as it is.
        region : Region
            What they are cells of.
        noise : float
            Scale of the noise of one cell, in records.
        lead : float
            In records: the gap, unless noise is much less.
        """
        m = len(noisy)
        levels = [2**i for i in range(m.bit_length()) if 2**i == 1 or 2**i * _BLOCK <= m]
        there = levels[1:]
        sure = _with_its_sum(clean.counts, noisy)
        # And back: where a block would hold less than none, the others have paid too little for it.
        sure = reconciled(sure, noisy, 2 * noise**2, [*there, *there[-2::-1]])
        sure = _with_its_sum(sure, noisy)
        blocks = block_sums(sure, block_starts(len(clean.counts), levels[-1]))
        unit = max(noise / _UNITS, 2 * max(clean.counts.sum(), blocks.sum()) / MOST)
        counts = _rounded(clean.counts / unit)
        counts = counts.astype(np.min_scalar_type(int(counts.max())))
        grain = float(clean.presence.max()) / _GRAINS
        presence = np.rint(clean.presence / (grain or 1.0)).astype(np.uint8)
        gap = min(lead, _GAP * noise)
        grid, blocks = Grid(region, len(counts)), np.floor(blocks / unit)
        return cls(grid, counts, presence, blocks, float(unit), clean.level, gap, grain)

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
        return WholeSums(self.grid, np.stack([self.counts, self._kept, self.presence]))

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Estimated counts of the boxes, shape (q,); part of a cell counts as its share."""
        small, large, presence = self._table.sums(queries)
        # Each of these steps is monotonic to the last bit, which np.exp need not be.
        nobody = np.maximum(1 - presence * (self.grain / 2**_SQUARES), 0)
        for _ in range(_SQUARES):
            nobody = nobody * nobody
        small = small * self.unit + self.level * (1 - nobody)
        large = large * self.unit
        return np.minimum(np.maximum(small, large - self.gap), large + self.gap)

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Not known: nan, shape (q,)."""
        return np.full(len(queries), np.nan)

    @property
    def separate(self) -> bool:
        """No: noise is cleaned across cells."""
        return False

    def arrays(self) -> dict[str, NDArray]:
        """Packed counts and presence, and the sums over blocks."""
        packed = {"counts": _packed(self.counts), "presence": _packed(self.presence)}
        return packed | {"blocks": self.blocks}

    def settings(self) -> dict[str, Any]:
        """Cells a side, bytes of a count, the unit, level and gap in records, and the grain."""
        size = self.counts.dtype.itemsize
        told = {"unit": self.unit, "level": self.level, "gap": self.gap, "grain": self.grain}
        return {"m": self.grid.m, "bytes": size, **told}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PriorModel":
        """Rebuild from a file; no more is unpacked than its cells need."""
        told = {name: (a.dtype.name, a.ndim) for name, a in arrays.items()}
        row = ("uint8", 1)
        if told != {"counts": row, "presence": row, "blocks": ("float64", 2)}:
            raise InputError(
                "a cleaned grid has 'counts' and 'presence', rows of bytes, and 'blocks'."
            )
        grid, size, unit = Grid(region, settings["m"]), settings["bytes"], float(settings["unit"])
        if not isinstance(size, int) or size not in (1, 2, 4, 8) or not 0 < unit <= _WIDEST:
            raise InputError(f"counts of {size!r} bytes, in units of {unit}, are not possible.")
        numbers = {name: float(settings[name]) for name in ("level", "gap", "grain")}
        for name, value in numbers.items():
            if not 0 <= value <= _WIDEST:
                raise InputError(f"a {name} of {value} is not possible.")
        blocks = arrays["blocks"]
        if not 1 <= len(blocks) == blocks.shape[1] <= grid.m:
            raise InputError(f"blocks of shape {blocks.shape} are not possible.")
        if (blocks < 0).any() or blocks.sum() > MOST:
            raise InputError("the blocks are negative, or add up to more than 2**53 units.")
        counts = _unpacked(arrays["counts"], grid.m, size, "counts")
        if counts.sum(dtype=float) > MOST:
            raise InputError("the counts add up to more than 2**53 units.")
        presence = _unpacked(arrays["presence"], grid.m, 1, "presence")
        return cls(grid, counts, presence, blocks, unit, **numbers)


def _packed(cells: NDArray) -> NDArray[np.uint8]:
    """Bytes, compressed: first the lowest of each number, then the next."""
    order = cells.dtype.newbyteorder("<")
    parts = cells.astype(order).reshape(-1, 1).view(np.uint8).T
    packed = zlib.compress(np.ascontiguousarray(parts).tobytes(), 9)
    return np.frombuffer(packed, np.uint8)


def _unpacked(
    packed: NDArray[np.uint8], m: int, size: int, what: str
) -> NDArray[np.unsignedinteger]:
    """The m by m numbers of so many bytes each."""
    unzip = zlib.decompressobj()
    length = m**2 * int(size)
    try:
        data = unzip.decompress(packed.tobytes(), length + 1)
    except zlib.error as error:
        raise InputError(f"the bytes of {what} cannot be unpacked ({error}).") from None
    if len(data) != length or not unzip.eof or unzip.unused_data:
        raise InputError(f"the bytes of {what} are not those of {m:,} by {m:,} cells.")
    parts = np.frombuffer(data, np.uint8).reshape(size, -1).T
    cells = np.ascontiguousarray(parts).view(f"<u{size:d}").reshape(m, m)
    return cells.astype(f"u{size:d}", copy=False)


def _rounded(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers; what is rounded is the running sum of each column, so errors do not add up."""
    return np.diff(np.rint(np.cumsum(counts, axis=1)), axis=1, prepend=0)


def _with_its_sum(clean: NDArray[np.float64], noisy: NDArray) -> NDArray[np.float64]:
    """Settled on the sum of all noisy counts."""
    whole, total = block_starts(len(clean), 1), max(float(noisy.sum()), 0.0)
    return settled(clean, whole, block_sums(clean, whole), np.array([[total]]))
