"""A table for choosing ``max_per_user``, the number of records to keep of each person."""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from snhkit.checks import positive
from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.budget import Epsilon, exact
from snhkit.privacy.scale import noise_variance
from snhkit.privacy.unit import PrivacyUnit

if TYPE_CHECKING:
    import pandas as pd


def contributions(
    public: Points, kind: str = "user", *, epsilon: Epsilon, count: float
) -> "pd.DataFrame":
    """Return a table of dropped records and noise for each choice of ``max_per_user``.

    A dataset keeps at most ``max_per_user`` records of each person. A small number drops records,
    so counts are too small. A large number needs more noise. Use public or invented points only: a
    table of private records would reveal how many records people have.

    Parameters
    ----------
    public : Points
        Public points with user identifiers, and with days if ``kind`` is a window of days.
    kind : str
        The unit of privacy, as for ``PrivacyUnit``; not "record".
    epsilon : int, float, str, Decimal or Fraction
        The epsilon of a release. The release is assumed to make one noisy count of each cell, at
        the cost of the whole epsilon.
    count : float
        The number of records in a typical box, for which the column ``error`` is computed.

    Returns
    -------
    pandas.DataFrame
        One row for each power of two, up to the first at which nothing is dropped. The columns are
        ``max_per_user``; ``dropped``, the share of records that are not kept; ``noise``, the
        standard deviation of the noise of a count; and ``error``, the root mean squared error for a
        box with ``count`` records in one cell: ``sqrt((dropped * count)**2 + noise**2)``.

    Raises
    ------
    InputError
        If there are no points, if the points have no user identifiers or no days although ``kind``
        needs them, or if an argument is out of its range.

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> public = Points(city, [[1, 1]] * 10, user=[1, 1, 1, 1, 2, 2, 3, 4, 5, 6])
    >>> contributions(public, epsilon=1, count=10).round(2)
       max_per_user  dropped  noise  error
    0             1      0.4   1.36   4.22
    1             2      0.2   2.80   3.44
    2             4      0.0   5.64   5.64
    """
    import pandas as pd

    price = exact(epsilon)
    positive("count", count)
    if kind == "record":
        raise InputError("contributions: kind must be 'user', or a window such as 'user-day'.")
    if not len(public):
        raise InputError("contributions: there are no points; give at least one point.")
    per_owner = np.bincount(PrivacyUnit(kind, 1).owners(public))
    rows = []
    for most in 2 ** np.arange(int(per_owner.max() - 1).bit_length() + 1):
        dropped = 1 - np.minimum(per_owner, most).sum() / per_owner.sum()
        noise = np.sqrt(noise_variance(Fraction(price), int(most)))
        rows.append((int(most), dropped, noise, np.hypot(dropped * count, noise)))
    return pd.DataFrame(rows, columns=["max_per_user", "dropped", "noise", "error"])
