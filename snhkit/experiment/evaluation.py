"""Squares of several sizes, around records and anywhere, on which errors are measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snhkit.errors import InputError
from snhkit.geometry import Asked, Grid, Points, RangeQueries, Region
from snhkit.metrics import SIZE_BANDS_M
from snhkit.release import Release

__all__ = [
    "TILE_M",
    "SizeBand",
    "adds_up",
    "anywhere",
    "bands_in",
]

TILE_M = 100.0
"""The approximate side, in metres, of the squares for which ``adds_up`` sums the answers."""

_CHUNK = 65_536  # tiles that are answered at a time


@dataclass(frozen=True, eq=False, repr=False)
class SizeBand:
    """Squares whose sides lie in one range: some around records, and as many anywhere.

    Parameters
    ----------
    sizes_m : (float, float)
        Smallest and largest side in metres.
    around : Asked
        Squares centred on records that are drawn uniformly.
    anywhere : Asked
        Squares of the same sizes that are placed uniformly in the region.
    """

    sizes_m: tuple[float, float]
    around: Asked
    anywhere: Asked

    @classmethod
    def of(
        cls, truth: Points, sizes_m: tuple[float, float], count: int, seed: int = 0
    ) -> "SizeBand":
        """Return random squares of given sizes with their true counts.

        Parameters
        ----------
        truth : Points
            The true records.
        sizes_m : (float, float)
            Smallest and largest side in metres.
        count : int
            The number of squares around records. As many are placed anywhere in the region.
        seed : int
            A public seed; the same seed draws the same squares.

        Raises
        ------
        InputError
            If ``truth`` holds no records, or the region is smaller than the largest square.
        """
        if not len(truth):
            raise InputError(
                "truth holds no records in the region, so no squares can be centred on records; "
                "give records of this region."
            )
        around = RangeQueries.sample(truth, count, sizes_m, seed)
        return cls(sizes_m, Asked.of(truth, around), Asked.of(truth, anywhere(around, seed)))


def anywhere(queries: RangeQueries, seed: int = 0) -> RangeQueries:
    """Return boxes of the same sizes as the given boxes, placed uniformly inside the region.

    Parameters
    ----------
    queries : RangeQueries
        q boxes, of which only the sizes are used. A side longer than the region's side is shortened
        to the region's side.
    seed : int
        A public seed; the same seed draws the same positions.

    Returns
    -------
    RangeQueries
        q boxes, all of them inside the region.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> moved = anywhere(RangeQueries(city, [90, 0], [90, 0], [30, 200], [10, 10]))
    >>> moved.width, bool((moved.x1 <= 100).all())
    (array([ 30., 100.]), True)
    """
    side = queries.region.side_m
    width, height = np.minimum(queries.width, side), np.minimum(queries.height, side)
    share = np.random.default_rng(seed).uniform(size=(2, len(queries)))
    x, y = share[0] * (side - width), share[1] * (side - height)
    return RangeQueries(queries.region, x, y, width, height)


def adds_up(release: Release, n: int) -> float:
    """Return the sum of the answers for squares that cover the region, divided by ``n``.

    The squares are equal, do not overlap and are about 100 m wide, so that a whole number of them
    covers each side of the region. If answers add up, the result is 1, apart from noise.

    Parameters
    ----------
    release : Release
        The release.
    n : int
        The true number of records.

    Returns
    -------
    float
        The sum divided by ``n``; nan if ``n`` is 0.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", n=1_000)
    >>> data = snh.PrivateDataset(records, budget=10**6, unit="record", n_public=True)
    >>> round(adds_up(data.release(snh.UniformGrid(), epsilon=10**5), n=1_000), 3)
    1.0
    """
    tiles = Grid(release.region, max(1, round(release.region.side_m / TILE_M))).boxes()
    total = sum(float(release.answer(part).sum()) for part in tiles.chunks(_CHUNK))
    return total / n if n else float("nan")


def bands_in(
    region: Region, bands_m: Sequence[tuple[float, float]] = SIZE_BANDS_M
) -> list[tuple[float, float]]:
    """Return those of the size bands ``bands_m`` whose largest squares fit into a region.

    Examples
    --------
    >>> bands_in(Region.around(lat=0, lon=0, side_m=500))
    [(25.0, 100.0), (100.0, 300.0)]
    """
    return [band for band in bands_m if band[1] <= region.side_m]
