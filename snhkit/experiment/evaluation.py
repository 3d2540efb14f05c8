"""Places and squares on which errors are measured."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snhkit.checks import whole
from snhkit.data.counting.exact import ExactCounts
from snhkit.errors import InputError
from snhkit.geometry import Asked, Grid, Points, RangeQueries, Region
from snhkit.metrics import SIZE_BANDS_M
from snhkit.release import Release


@dataclass(frozen=True, eq=False)
class Place:
    """Records that are treated as private, and public points of the same region.

    Parameters
    ----------
    records : Points
        The records that methods count and that errors are measured against.
    public : Points, optional
        Public points near which queries are expected. They stand for the paper's public data D* and
        expected queries Q_W.

    Raises
    ------
    InputError
        If records and public points lie in different regions.
    """

    records: Points
    public: Points | None = None

    def __post_init__(self) -> None:
        if self.public is not None:
            self.records.region.refuse_other(self.public.region, "Place: the public points")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """A hash of the region and of all positions, which identifies the place in a file."""
        told = hashlib.sha256(repr(self.records.region).encode())
        for points in (self.records, self.public):
            told.update(b"none" if points is None else points.xy.tobytes())
        return told.hexdigest()[:16]


def thinned(points: Points, n: int, seed: int = 0) -> Points:
    """Return n of the given points, chosen at random without repetition by a public seed.

    The points kept for a smaller n are among those kept for a larger n. InputError is raised if
    there are fewer than n.
    """
    n = whole("n", n, least=1)
    if n > len(points):
        raise InputError(f"thinned: n = {n:,} is more than the number of points; give a smaller n.")
    kept = np.random.default_rng([seed, 0x7417]).permutation(len(points))[:n]
    return Points(
        points.region, points.xy[kept], None if points.user is None else points.user[kept]
    )


TILE_M = 100.0
"""The approximate side, in metres, of the squares for which ``adds_up`` sums the answers."""

_CHUNK = 65_536  # tiles that are answered at a time


@dataclass(frozen=True, eq=False, repr=False)
class SizeBand:
    """Squares whose sides lie in one range: some around records, and as many anywhere."""

    sizes_m: tuple[float, float]
    around: Asked
    anywhere: Asked

    @classmethod
    def of(
        cls, truth: Points | ExactCounts, sizes_m: tuple[float, float], count: int, seed: int = 0
    ) -> "SizeBand":
        """Return random squares of given sizes with their true counts; ``seed`` is public."""
        centres = truth if isinstance(truth, Points) else truth.some
        if not len(centres):
            raise InputError(
                "truth holds no records in the region, so no squares can be centred on records; "
                "give records of this region."
            )
        around = RangeQueries.sample(centres, count, sizes_m, seed)
        return cls(sizes_m, asked(truth, around), asked(truth, anywhere(around, seed)))


def asked(truth: Points | ExactCounts, boxes: RangeQueries) -> Asked:
    """Return boxes with their true counts, of records in memory or in files."""
    if isinstance(truth, Points):
        return Asked.of(truth, boxes)
    return Asked(boxes, truth.boxes(boxes), truth.n())


def anywhere(queries: RangeQueries, seed: int = 0) -> RangeQueries:
    """Return boxes of the same sizes, at most the region's, placed uniformly by a public seed."""
    side = queries.region.side_m
    width, height = np.minimum(queries.width, side), np.minimum(queries.height, side)
    share = np.random.default_rng(seed).uniform(size=(2, len(queries)))
    x, y = share[0] * (side - width), share[1] * (side - height)
    return RangeQueries(queries.region, x, y, width, height)


def adds_up(release: Release, n: int) -> float:
    """Return the sum of answers for 100 m tiles of the region, divided by n: 1 if they add up."""
    tiles = Grid(release.region, max(1, round(release.region.side_m / TILE_M))).boxes()
    total = sum(float(release.answer(part).sum()) for part in tiles.chunks(_CHUNK))
    return total / n if n else float("nan")


def bands_in(region: Region) -> list[tuple[float, float]]:
    """Return those of ``SIZE_BANDS_M`` whose largest squares fit into a region."""
    return [band for band in SIZE_BANDS_M if band[1] <= region.side_m]
