"""A model that estimates counts of boxes from compressed counts of a grid's cells."""

import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.model import OwnSums
from snhkit.models.variance import UnknownNoise

_UNITS = 16  # units in one noise scale, so that rounding errors are far below the noise
_WIDEST = 2.0**128  # the limit of the unit in a file, so that answers stay finite
_EFFORT = 7  # of zlib; 9 takes six times as long for files that are 8 % smaller

MOST = 2**53
"""The largest sum of all counts; 64-bit floats are exact for whole numbers up to 2**53."""

BAND = 64
"""The number of rows of cells that are compressed together: a band of rows."""

_HELD = 2**23  # the most unpacked numbers to keep for the next answer
_BITS = 20  # edges of boxes are rounded to 2^-20 of a cell's width
_AREA = 2 ** (2 * _BITS)  # units of area in a cell


class PackedCounts:
    """Compressed whole-number counts of a grid's cells, and their exact sums over boxes.

    Edges of boxes are rounded to 2^-20 of a cell, so the sum over a part of a box is never larger.
    Bands of 64 rows are compressed alone, and unpacked if a box's edge is in them: about 64 MB.
    """

    def __init__(
        self, grid: Grid, size: int, packed: NDArray[np.uint8], ends: NDArray[np.integer]
    ) -> None:
        bands = -(-grid.m // BAND)
        edges = [0, *(int(end) for end in ends)]
        if len(edges) != bands + 1 or edges != sorted(edges) or edges[-1] != len(packed):
            raise InputError(
                f"the array 'ends' does not fit a grid of {grid.m:,} rows of cells; the file is "
                "damaged or was changed."
            )
        self.grid, self.size, self.packed, self.ends = grid, size, packed, ends
        self._edges = edges
        self._tables: OrderedDict[int, NDArray[np.int64]] = OrderedDict()
        # For each band, the sums of all earlier bands up to each column: the band's first row in
        # ``_table``.
        self._below = np.zeros((bands + 1, grid.m + 1), np.int64)
        total = 0.0
        for band in range(bands):
            rows = self._rows(band)
            total += rows.sum(dtype=float)
            if total > MOST:
                raise InputError(
                    "the counts add up to more than 2**53, the limit for a release; the file is "
                    "damaged or was changed."
                )
            np.cumsum(rows.sum(axis=0, dtype=np.int64), out=self._below[band + 1, 1:])
            self._below[band + 1] += self._below[band]

    @classmethod
    def of(cls, grid: Grid, counts: NDArray) -> "PackedCounts":
        """Return the compressed form of ``counts``: whole numbers of at least 0, shape (m, m)."""
        parts = (counts[first : first + BAND] for first in range(0, grid.m, BAND))
        return cls.of_bands(grid, int(counts.max()), parts)

    @classmethod
    def of_bands(cls, grid: Grid, largest: int, bands: Iterable[NDArray]) -> "PackedCounts":
        """Return the compressed form of counts in bands of 64 rows; ``largest`` is the maximum."""
        kind = np.min_scalar_type(largest).newbyteorder("<")
        packed = [_packed(rows.astype(kind)) for rows in bands]
        ends = np.cumsum([len(part) for part in packed])
        return cls(grid, kind.itemsize, np.frombuffer(b"".join(packed), np.uint8), ends)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self._below[-1, -1])

    def counts(self) -> NDArray:
        """Return all counts, unpacked, shape (m, m)."""
        return np.concatenate([self._rows(band) for band in range(len(self._edges) - 1)])

    def sums(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the sum of counts over each of q boxes; outside the region there are none."""
        return queries.summed(self.grid.region, self._sums)

    def _sums(self, q: RangeQueries) -> NDArray[np.float64]:
        i, u = self._steps(q.x, q.width)
        j, v = self._steps(q.y, q.height)
        i, u = i[:, None], u[:, None]
        around = self._around(*np.broadcast_arrays(i, j))
        if self.total * _AREA < 2**62:
            return _difference(around, u.astype(np.int64), v.astype(np.int64)) / _AREA
        # This sum is exact except for a missing multiple of 2**64, which is computed from the
        # rounded floating-point sum.
        parts = _difference(around.astype(np.uint64), u, v)
        about = _difference(around.astype(float), u.astype(float), v.astype(float))
        rounds = np.rint((about - parts.astype(float)) / 2.0**64)
        whole = (parts // _AREA).astype(float) + rounds * (2**64 // _AREA)
        return whole + (parts % _AREA).astype(float) / _AREA

    def _steps(
        self, low: NDArray[np.float64], width: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the cell at each end of q intervals, and its place there in 2^-20 of a width."""
        cells = np.stack([low, low + width]) / self.grid.cell_m
        cells = np.minimum(np.maximum(cells, 0), self.grid.m)
        steps = np.rint(cells * 2**_BITS).astype(np.int64)
        cell = np.minimum(steps >> _BITS, self.grid.m - 1)
        return cell, (steps - (cell << _BITS)).astype(np.uint64)

    def _around(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return sums below and left of cells' corners, (4, 2, 2, q): of a cell, then of a box."""
        found = np.empty((4, *i.shape), np.int64)
        band = i // BAND
        for k in np.unique(band):
            here = band == k
            table, row, column = self._table(int(k)), i[here] - k * BAND, j[here]
            corners = ((0, 0), (0, 1), (1, 0), (1, 1))
            found[:, here] = [table[row + up, column + right] for up, right in corners]
        return found

    def _table(self, band: int) -> NDArray[np.int64]:
        """Return the sums below and left of each corner of a band's cells, (rows + 1, m + 1)."""
        if band not in self._tables:
            rows = self._rows(band)
            table = np.empty((len(rows) + 1, self.grid.m + 1), np.int64)
            table[0], table[1:, 0] = self._below[band], 0
            np.cumsum(rows, axis=0, dtype=np.int64, out=table[1:, 1:])
            np.cumsum(table[1:, 1:], axis=1, out=table[1:, 1:])
            table[1:] += table[0]
            while self._tables and (len(self._tables) + 1) * table.size > _HELD:
                self._tables.popitem(last=False)
            self._tables[band] = table
        self._tables.move_to_end(band)
        return self._tables[band]

    def _rows(self, band: int) -> NDArray:
        """Return the counts of the cells of a band, shape (rows, m)."""
        data = self.packed[self._edges[band] : self._edges[band + 1]]
        rows = min(BAND, self.grid.m - band * BAND)
        return _unpacked(data, (rows, self.grid.m), self.size)


def _packed(rows: NDArray) -> bytes:
    """Return numbers as compressed bytes: the lowest bytes of all numbers, then the next bytes."""
    parts = np.ascontiguousarray(rows).reshape(-1, 1).view(np.uint8).T
    return zlib.compress(np.ascontiguousarray(parts).tobytes(), _EFFORT)


def _unpacked(packed: NDArray[np.uint8], shape: tuple[int, int], size: int) -> NDArray:
    """Return numbers of ``size`` bytes that zlib decompresses; never more than fill ``shape``."""
    unzip = zlib.decompressobj()
    length = shape[0] * shape[1] * size
    try:
        data = unzip.decompress(packed.tobytes(), length + 1)
    except zlib.error as error:
        raise InputError(f"the compressed bytes of counts cannot be unpacked ({error}).") from None
    if len(data) != length or not unzip.eof or unzip.unused_data:
        raise InputError(
            f"the compressed bytes do not hold the counts of {shape[0]:,} by {shape[1]:,} cells."
        )
    parts = np.frombuffer(data, np.uint8).reshape(size, -1).T
    return np.ascontiguousarray(parts).view(f"<u{size:d}").reshape(shape)


def _difference(around: NDArray, u: NDArray, v: NDArray) -> NDArray:
    """Return sums over q boxes, times ``_AREA``, from ``_around`` and places from ``_steps``."""
    one = u.dtype.type(2**_BITS)
    low = around[0] * (one - v) + around[1] * v
    high = around[2] * (one - v) + around[3] * v
    upto = low * (one - u) + high * u
    return (upto[1, 1] - upto[0, 1]) - (upto[1, 0] - upto[0, 0])


@dataclass(frozen=True, eq=False)
class PackedGridModel(UnknownNoise, OwnSums):
    """A model of non-negative counts of grid cells, rounded to multiples of ``unit`` records.

    The answer to a box is the sum of the counts inside the box. Answers to disjoint boxes therefore
    add up, and the answer to a box is never below the answer to a part of the box.
    """

    counts: PackedCounts
    unit: float
    kind: ClassVar[str] = "denoised"
    packed_dtype: ClassVar[str] = "uint8"

    @classmethod
    def of(
        cls, region: Region, values: NDArray[np.float64], noise_scale: float, total: float
    ) -> "PackedGridModel":
        """Return a model of counts, shape (m, m), scaled and rounded to add up to ``total``.

        The unit is a sixteenth of ``noise_scale`` in records, or larger if ``total`` would be above
        2**52 units. The running sum over all cells, row after row, is rounded, so a sum over
        consecutive cells of one row errs by at most one unit. If all counts are 0, ``total`` is
        spread evenly.
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

    @property
    def total(self) -> float:
        """The estimated number of records in the region."""
        return self.counts.total * self.unit

    def values(self, m: int) -> NDArray[np.float64]:
        """Return the counts of m by m cells, of which each gets its share of the model's cells."""
        counts = self.counts.counts() * self.unit
        if m == self.grid.m:
            return counts
        ours, theirs = np.linspace(0, 1, self.grid.m + 1), np.linspace(0, 1, m + 1)
        low = np.maximum(theirs[:-1, None], ours[:-1])
        share = np.maximum(np.minimum(theirs[1:, None], ours[1:]) - low, 0) * self.grid.m
        return share @ counts @ share.T

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the estimated number of records in each of q boxes, shape (q,).

        A box that covers a fraction of a cell's area contains that fraction of the cell's count.
        """
        return self.counts.sums(queries) * self.unit

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays for a file: the compressed counts, and the end of each band of rows."""
        return {"counts": self.counts.packed, "ends": np.asarray(self.counts.ends, np.int64)}

    def settings(self) -> dict[str, Any]:
        """Return the settings for a file: cells per side, bytes per unpacked count, the unit."""
        return {"m": self.grid.m, "bytes": self.counts.size, "unit": self.unit}

    @classmethod
    def restore(
        cls, region: Region, arrays: Mapping[str, NDArray], settings: Mapping[str, Any]
    ) -> "PackedGridModel":
        """Return the model that a file describes; InputError says what is wrong.

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
    """Yield bands of rows of whole numbers, about proportional to ``values``, of sum ``total``."""
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
