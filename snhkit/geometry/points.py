"""Records: where they are and, if known, whose they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snhkit.errors import InputError
from snhkit.geometry.region import Region

__all__ = ["Points"]


@dataclass(frozen=True, eq=False, repr=False)
class Points:
    """Records inside a region.

    Parameters
    ----------
    region : Region
        The declared square.
    xy : ndarray, shape (n, 2)
        Metres from the region's lower-left corner; every row inside the region.
    user : ndarray of int, shape (n,), optional
        Whose record each is.

    Raises
    ------
    InputError
        If shapes disagree or a row is not inside the region.

    Examples
    --------
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> len(Points(city, [[1.0, 2.0], [99.0, 0.0]]))
    2

    Notes
    -----
    The repr tells no number of records: that may be private.
    """

    region: Region
    xy: NDArray[np.float64]
    user: NDArray[np.int64] | None = None

    def __init__(self, region: Region, xy: ArrayLike, user: ArrayLike | None = None) -> None:
        xy = np.asarray(xy, dtype=np.float64).reshape(-1, 2) if np.size(xy) == 0 else np.asarray(xy)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise InputError(f"Points: xy must have shape (n, 2), not {xy.shape}.")
        xy = xy.astype(np.float64, copy=False)
        outside = np.flatnonzero(~region.contains(xy))
        if outside.size:
            raise InputError(
                f"Points: row {outside[0]} is not inside the region "
                f"(and {outside.size - 1} more); read_points drops such rows and counts them."
            )
        if user is not None:
            user = np.asarray(user)
            if user.shape != (len(xy),):
                raise InputError(
                    f"Points: user must have shape ({len(xy)},) like xy's rows, not {user.shape}."
                )
            if user.size and user.dtype.kind not in "iu":
                raise InputError(
                    "Points: user must be whole numbers, one a person and none missing; number "
                    "names with numpy.unique(names, return_inverse=True)[1]."
                )
            user = user.astype(np.int64)
        object.__setattr__(self, "region", region)
        object.__setattr__(self, "xy", xy)
        object.__setattr__(self, "user", user)

    def __len__(self) -> int:
        return len(self.xy)

    def __repr__(self) -> str:
        users = "unknown" if self.user is None else "known"
        return f"Points(region={self.region!r}, users={users})"
