"""Counts of records in a grid's cells, added up while the records are read in chunks."""

import numpy as np
from numpy.typing import NDArray

from snhkit.data.counting.projection import approximation
from snhkit.data.reading.defects import possible
from snhkit.geometry import Grid

__all__ = ["GridCounter"]

_STEP = 2**15  # places per step, so that their arrays stay in the cache
# Largest error of the polynomial, in cell widths; above it, all places are projected exactly.
_MOST_UNSURE = 0.05
_FLUSH = 2**30  # records after which 32-bit counts could overflow


class GridCounter:
    """Counter of the records in each cell of a grid; the counts equal those of ``Grid.count``.

    For speed, a polynomial approximates the projection of degrees to metres. The few places that
    are closer to the edge of a cell than the error of the polynomial are projected exactly.

    Parameters
    ----------
    grid : Grid
        The cells.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._small = np.zeros(grid.m**2, np.int32)
        self._large: NDArray[np.int64] | None = None
        self._since = 0
        near = approximation(grid.region)
        if near is not None and near.error_m > _MOST_UNSURE * grid.cell_m:
            near = None
        self._near = near

    def add(
        self,
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
        person: NDArray[np.int64] | None = None,
        time: NDArray[np.int64] | None = None,
    ) -> tuple[int, NDArray[np.int64]]:
        """Count n places in degrees; return how many lie in the region, and which are invalid.

        Parameters
        ----------
        lat, lon : ndarray, shape (n,)
            Degrees; nan where there is no number.
        person, time : ndarray, shape (n,), optional
            Not used; other counters need them.

        Returns
        -------
        inside : int
            The number of places in the region.
        unusable : ndarray of int
            The indices of the places whose latitude or longitude is not valid.
        """
        inside, unusable = 0, []
        for start in range(0, len(lat), _STEP):
            part = slice(start, start + _STEP)
            found, bad = self._step(lat[part], lon[part])
            inside += found
            if bad.size:
                unusable.append(bad + start)
        return inside, np.concatenate(unusable) if unusable else np.zeros(0, np.int64)

    def _step(
        self, lat: NDArray[np.float64], lon: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.int64]]:
        near = self._near
        if near is None:
            usable = possible(lat, lon)
            return self._exactly(lat[usable], lon[usable]), np.flatnonzero(~usable)
        boxed = (lat >= near.low[0]) & (lat <= near.high[0])
        boxed &= lon >= near.low[1]
        boxed &= lon <= near.high[1]
        inside, bad = 0, np.zeros(0, np.int64)
        if not boxed.all():
            rest = np.flatnonzero(~boxed)
            usable = possible(lat[rest], lon[rest])
            # The same longitude may be written with 360 degrees added or subtracted.
            turned = rest[usable & (np.abs(lon[rest] - self.grid.region.lon) > 180)]
            inside, bad = self._exactly(lat[turned], lon[turned]), rest[~usable]
            lat, lon = lat[boxed], lon[boxed]
        return inside + self._nearly(lat, lon), bad

    def _nearly(self, lat: NDArray[np.float64], lon: NDArray[np.float64]) -> int:
        near, m = self._near, self.grid.m
        assert near is not None  # noqa: S101
        x, y = near.axes(lat, lon)
        unsure = near.error_m / self.grid.cell_m
        sure: NDArray[np.bool_] | None = None
        cell: list[NDArray[np.int32]] = []
        for axis in (x, y):
            axis *= 1 / self.grid.cell_m
            axis += m  # a cast rounds towards 0, so numbers must be positive
            whole = axis.astype(np.int32)
            axis -= whole
            clear = axis > unsure
            clear &= axis < 1 - unsure
            sure = clear if sure is None else np.logical_and(sure, clear, out=sure)
            whole -= m
            cell.append(whole)
        assert sure is not None  # noqa: S101
        i, j = cell
        inside = 0
        if not sure.all():
            doubt = ~sure
            inside = self._exactly(lat[doubt], lon[doubt])
        if i.size:
            within = sure
            within &= i.view(np.uint32) < m
            within &= j.view(np.uint32) < m
            i *= np.int32(m)
            i += j
            if not within.all():
                i = i[within]
        return inside + self._count(i)

    def _exactly(self, lat: NDArray[np.float64], lon: NDArray[np.float64]) -> int:
        if not lat.size:
            return 0
        xy = self.grid.region.to_xy(lat, lon)
        xy = xy[self.grid.region.contains(xy)]
        self.add_places(xy)
        return len(xy)

    def add_places(self, xy: NDArray[np.float64]) -> None:
        """Count n places in the region, shape (n, 2), in metres from its lower-left corner."""
        self._count(self.grid.cell_numbers(xy))

    def _count(self, flat: NDArray) -> int:
        self._since += flat.size
        if self._since > _FLUSH:
            self._flush()
            self._since = flat.size
        np.add.at(self._small, flat, np.int32(1))
        return flat.size

    def _flush(self) -> None:
        if self._large is None:
            self._large = self._small.astype(np.int64)
        else:
            self._large += self._small
        self._small[:] = 0

    def merge(self, other: "GridCounter") -> None:
        """Add the counts of another counter of the same grid."""
        if self._since + other._since > _FLUSH:
            self._flush()
            self._since = 0
        self._since += other._since
        self._small += other._small
        if other._large is not None:
            self._large = other._large + (0 if self._large is None else self._large)

    @property
    def total(self) -> NDArray[np.int64] | NDArray[np.int32]:
        """The number of records in each of the m by m cells, shape (m * m,), column by column.

        The type is int32 until a count could be too large for it, then int64.
        """
        return self._small if self._large is None else self._large + self._small
