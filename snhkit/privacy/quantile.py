"""The choice of ``max_per_user``: from public points, or by a noisy quantile of the records."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snhkit.checks import positive, whole
from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.budget import Epsilon, epsilon_share, exact
from snhkit.privacy.entropy import Entropy, SystemEntropy
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.noise import discrete_laplace
from snhkit.privacy.scale import noise_scale, noise_variance
from snhkit.privacy.spend import Spend
from snhkit.privacy.unit import PrivacyUnit

KEPT = 0.95
"""The share of people whose records are all kept, where a program is not told another."""
_MAX_BOUND = 2**20


@dataclass(frozen=True)
class NoisyQuantile:
    """A choice of ``max_per_user`` by a noisy quantile of the number of records per person.

    Give this object to ``PrivateDataset`` as ``max_per_user``. The dataset then charges ``epsilon``
    to its ledger, and the dataset's ``bought`` holds the ``NoisyContributions``. If there are
    public points of the same kind, ``contributions`` helps to choose ``max_per_user`` at no cost.

    Parameters
    ----------
    quantile : float
        The wanted share of people whose records are all kept, above 0 and at most 1.
    epsilon : int, float, str, Decimal or Fraction
        The cost of the choice.
    most : int
        The largest ``max_per_user`` that can be chosen, a public number. The candidates are the
        powers of two below ``most``, and ``most`` itself.

    Raises
    ------
    InputError
        If an argument is out of its range.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> people = np.repeat(np.arange(3_000), 3)  # three records each
    >>> records = snh.Points(city, np.ones((9_000, 2)), people)
    >>> bound = snh.NoisyQuantile(0.9, epsilon="0.1", most=16)
    >>> data = snh.PrivateDataset(records, 1, unit="user", max_per_user=bound)
    >>> data.unit.max_per_user, [(entry.who, str(entry.spends[0])) for entry in data.ledger.entries]
    (4, [('NoisyQuantile', '0.1 for people by their number of records, 6 ranges')])

    Notes
    -----
    A person is in one bin of the histogram of people by their number of records, so discrete
    Laplace noise of scale ``1 / epsilon`` in each count is enough. Chosen is the smallest of k
    candidates that at most ``1 - quantile`` of all people exceed, by the noisy counts; else
    ``most``. The noise has a standard deviation of at most ``sqrt(2 k) / epsilon`` people.
    """

    quantile: float
    epsilon: Epsilon
    most: int = 256

    def __post_init__(self) -> None:
        if positive("quantile", self.quantile) > 1:
            raise InputError(f"quantile must be at most 1, such as 0.95, not {self.quantile!r}.")
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "most", whole("most", self.most, least=1, most=_MAX_BOUND))

    @property
    def candidates(self) -> NDArray[np.int64]:
        """The values of ``max_per_user`` that can be chosen, ascending, shape (k,)."""
        return np.append(2 ** np.arange((self.most - 1).bit_length()), self.most)

    def ranges(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact numbers of people between candidates, and above all, shape (k + 1,)."""
        at = np.searchsorted(self.candidates, records)
        return np.bincount(at, minlength=self.candidates.size + 1)

    def measure(
        self, ranges: NDArray[np.int64], entropy: Entropy
    ) -> tuple["NoisyContributions", Spend]:
        """Return ``ranges`` with noise, and their cost."""
        price = epsilon_share(self.epsilon)
        noise = discrete_laplace(ranges.shape, noise_scale(price, 1), entropy)
        what = f"people by their number of records, {ranges.size} ranges"
        found = NoisyContributions(self.candidates, ranges + noise, price)
        return found, Spend.of(price, what)


@dataclass(frozen=True, eq=False)
class NoisyContributions:
    """The noisy number of people in each range of records per person, which may be published.

    Parameters
    ----------
    candidates : ndarray of int, shape (k,)
        Candidates for ``max_per_user``, ascending.
    people : ndarray of int, shape (k + 1,)
        The noisy number of people in each range. A range reaches from above one candidate up to
        the next; the last range is above all candidates.
    epsilon : Fraction
        The cost of these numbers.

    Examples
    --------
    >>> found = NoisyContributions(np.array([1, 2, 4]), np.array([50, 30, 18, 2]), Fraction(1, 2))
    >>> found.bound(0.8), found.bound(0.81)
    (2, 4)
    >>> found.table(epsilon=1, count=100).round(2)
       max_per_user  cut  dropped  dropped_std  noise  error
    0             1   50     0.46         0.04   1.36  45.97
    1             2   20     0.19         0.05   2.80  19.12
    2             4    2     0.02         0.03   5.64   6.04
    """

    candidates: NDArray[np.int64]  # ascending, shape (k,)
    people: NDArray[np.int64]  # shape (k + 1,)
    epsilon: Fraction  # the cost of these numbers

    def bound(self, quantile: float) -> int:
        """Return the smallest candidate that suffices for a share of people, or the last."""
        enough = self._cut <= self.people.sum() * (1 - Fraction(str(float(quantile))))
        return int(self.candidates[np.argmax(enough) if enough.any() else -1])

    def dropped(self, most: int) -> tuple[float, float]:
        """Return the estimated share of records that are left out, and its standard deviation.

        Only the noisy numbers are used. People in a range count with its middle, those above all
        candidates with one and a half times the largest.
        """
        lower, upper = np.append(0, self.candidates[:-1]), self.candidates
        typical = np.append((lower + 1 + upper) / 2, 1.5 * self.candidates[-1])
        total = max(float(typical @ self.people), 1.0)
        beyond = np.maximum(typical - most, 0)
        share = float(np.clip(beyond @ self.people / total, 0, 1))
        std = np.sqrt(noise_variance(self.epsilon, 1))
        return share, min(float(std * np.linalg.norm(beyond - share * typical) / total), 1.0)

    def table(self, epsilon: Epsilon, count: float) -> pd.DataFrame:
        """Return the estimated bias and the noise for each choice of ``max_per_user``.

        Parameters
        ----------
        epsilon : int, float, str, Decimal or Fraction
            The epsilon of a release that makes one noisy count of each cell.
        count : float
            The number of records in a typical box, for which the column ``error`` is computed.

        Returns
        -------
        pandas.DataFrame
            One row for each candidate: the columns of ``contributions``; ``cut``, the noisy number
            of people with more records; and ``dropped_std``, the noise in ``dropped``.
        """
        price, count = exact(epsilon), positive("count", count)
        rows = []
        for most, cut in zip(self.candidates, self._cut, strict=True):
            dropped, spread = self.dropped(int(most))
            noise = np.sqrt(noise_variance(price, int(most)))
            rows.append(
                (int(most), int(cut), dropped, spread, noise, np.hypot(dropped * count, noise))
            )
        names = ["max_per_user", "cut", "dropped", "dropped_std", "noise", "error"]
        return pd.DataFrame(rows, columns=names)

    @property
    def _cut(self) -> NDArray[np.int64]:
        """The noisy number of people with more records than each candidate, shape (k,)."""
        return np.cumsum(self.people[:0:-1])[::-1]


def first_unit(
    kind: str, most: int | NoisyQuantile | None, whose: str, n_public: bool, n: object = None
) -> PrivacyUnit:
    """Return the unit of a dataset's arguments; a quantile counts as its largest value."""
    if n is not None:
        raise InputError(
            "n is now n_public: write n_public=True for n='public', and leave it out for "
            "n='private'."
        )
    if not isinstance(most, NoisyQuantile):
        return PrivacyUnit(kind, most, whose, n_public)
    if n_public:
        raise InputError(
            "max_per_user cannot be a NoisyQuantile if n is public, since n is the number of "
            "records that are kept; give max_per_user as a number, or leave out n_public=True."
        )
    return PrivacyUnit(kind, most.most, whose)


def buy(bound: NoisyQuantile, records: NDArray[np.int64], ledger: Ledger) -> NoisyContributions:
    """Charge a ledger for a ``NoisyQuantile``, then measure it on the records of each person."""
    entry = ledger.charge(bound.epsilon, type(bound).__name__)
    try:
        found, spend = bound.measure(bound.ranges(records), SystemEntropy())
        ledger.settle(entry, [spend])
    except BaseException as error:
        ledger.fail(entry, error)
        raise
    return found


def contributions(
    public: Points, kind: str = "user", *, epsilon: Epsilon, count: float
) -> pd.DataFrame:
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
