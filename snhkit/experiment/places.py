"""Records of a city together with public points, and random samples of points."""

import hashlib
from dataclasses import dataclass

import numpy as np

from snhkit.checks import whole
from snhkit.errors import InputError
from snhkit.geometry import Points

__all__ = ["Place", "thinned"]


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
        if self.public is not None and self.public.region != self.records.region:
            raise InputError(
                "Place: the public points must lie in the region of the records; read both with "
                "the same region."
            )

    @property
    def digest(self) -> str:
        """A hash of the region and of all positions, which identifies the place in a file."""
        told = hashlib.sha256(repr(self.records.region).encode())
        for points in (self.records, self.public):
            told.update(b"none" if points is None else points.xy.tobytes())
        return told.hexdigest()[:16]


def thinned(points: Points, n: int, seed: int = 0) -> Points:
    """Return n of the given points, chosen at random without repetition.

    Parameters
    ----------
    points : Points
        The points to choose from, at least n.
    n : int
        The number of points to keep. With the same seed, the points kept for a smaller n are among
        those kept for a larger n.
    seed : int
        A public seed; the same seed keeps the same points.

    Raises
    ------
    InputError
        If there are fewer than n points.

    Examples
    --------
    >>> import snhkit as snh
    >>> len(thinned(snh.synthetic_points("fargo", 1_000), 250))
    250
    """
    n = whole("n", n, least=1)
    if n > len(points):
        raise InputError(f"thinned: n = {n:,} is more than the number of points; give a smaller n.")
    kept = np.random.default_rng([seed, 0x7417]).permutation(len(points))[:n]
    return Points(
        points.region, points.xy[kept], None if points.user is None else points.user[kept]
    )
