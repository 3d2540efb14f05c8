"""The only access of a builder to private records: noisy measurements that cost epsilon."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import sparray

from snhkit.errors import BudgetExceeded, InputError
from snhkit.geometry import Grid, Histogram, Points, RangeQueries, Region
from snhkit.geometry.histogram import Cells, Merged
from snhkit.privacy.buckets import noisy_buckets
from snhkit.privacy.budget import Epsilon, epsilon_share, written
from snhkit.privacy.count_source import CountSource
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.gradients import NoisyGradients, gradient_noise
from snhkit.privacy.homogeneity import Level, noisy_halves
from snhkit.privacy.noise import noisy_count, noisy_histogram
from snhkit.privacy.products import column_norm, noisy_products
from snhkit.privacy.scale import Noisy, inverse_scale, noise_variance
from snhkit.privacy.spend import Spend, total
from snhkit.privacy.splits import noisy_splits
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.zcdp import Rho

N_SHARE = Fraction(1, 20)
"""The default share of the remaining epsilon or rho that a noisy number of records costs."""

# The share for a stratum that gets the pattern of all strata and needs its own number for the rest:
# its noise is then about 7 % of the number, if the share is within the bounds.
_OF_STRATUM, _LEAST, _MOST = 20, 0.1, 0.4


@dataclass(frozen=True)
class Terms:
    """The public facts and limits for the measurements that a builder makes for one release.

    ``PrivateDataset.release`` makes this object for each release. No value in it depends on private
    records, except a number of records that was declared public.

    Parameters
    ----------
    epsilon : Fraction
        The largest epsilon that the builder may spend.
    unit : PrivacyUnit
        The unit of privacy.
    n : int, optional
        The number of records, if it is public.
    public : Points, optional
        Public points near which queries are expected.
    delta : Fraction
        The largest delta that the builder may spend; 0 for pure differential privacy.
    rho : Fraction
        With Gaussian noise, the largest rho that the builder may spend, which implies epsilon and
        delta (``snhkit.privacy.zcdp``); 0 with Laplace noise.
    n_share : Fraction
        The share of epsilon or rho that a noisy number of records costs.

    Examples
    --------
    >>> Terms(Fraction(1), PrivacyUnit("user", max_per_user=5)).record_epsilon
    0.2
    """

    epsilon: Fraction  # the most that the builder may spend
    unit: PrivacyUnit
    n: int | None = None  # the number of records, if it is public
    public: Points | None = None  # points near which queries are expected
    delta: Fraction = Fraction(0)  # the most that the builder may spend
    rho: Fraction = Fraction(0)  # with Gaussian noise, the most to spend
    n_share: Fraction = N_SHARE  # the share that a noisy number of records costs

    @property
    def record_epsilon(self) -> float:
        """The inverse noise scale of a count that costs all (see ``scale.inverse_scale``)."""
        return inverse_scale(self.price(self.rho or self.epsilon), self.unit.sensitivity)

    @property
    def exponent(self) -> int:
        """The e with which a count's noise variance is as cost^-e: 2, or 1 for Gaussian noise."""
        return 1 if self.rho else 2

    def of_stratum(self, spent: Fraction, n: float) -> "Terms":
        """Return the terms of a stratum of about n records, after ``spent`` for all strata."""
        left = replace(self, epsilon=self.epsilon - spent)
        share = _OF_STRATUM / max(n * left.record_epsilon, 1.0)
        return replace(left, n_share=Fraction(round(100 * min(max(share, _LEAST), _MOST)), 100))

    def price(self, amount: Fraction) -> Fraction | Rho:
        """Return an amount as a price: a Rho for Gaussian noise, an epsilon for Laplace noise."""
        return Rho(amount) if self.rho else amount


class Measurements:
    """Noisy measurements of private records, each of which spends part of a given epsilon.

    ``PrivateDataset.release`` makes this object after it has charged epsilon to the ledger, and
    gives it to ``Builder.build``. In one step, a measurement counts records, adds noise scaled to
    the unit of privacy, and enters its cost in ``spends``. The builder chooses the cost, and this
    object computes the noise from the cost and the sensitivity. Apart from noisy measurements, the
    object shows public values only. A build that draws Gaussian noise spends rho, the parameter of
    zero-concentrated differential privacy, instead of epsilon.

    Parameters
    ----------
    source : CountSource
        The private records.
    terms : Terms
        The public terms, with the largest epsilon that may be spent.
    entropy : Entropy
        The source of the noise.

    Raises
    ------
    BudgetExceeded
        By every measurement that costs more epsilon than is left; then no record is counted.

    Examples
    --------
    >>> from snhkit.geometry import Points
    >>> from snhkit.privacy import PointSource, PrivacyUnit, SystemEntropy
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> records = PointSource(Points(city, [[1, 1], [2, 2], [99, 99]]))
    >>> terms = Terms(Fraction(1), PrivacyUnit("record"))
    >>> private = Measurements(records, terms, SystemEntropy())
    >>> counts, variance = private.histogram(Grid(city, 2), Fraction(3, 4))
    >>> counts.shape, private.epsilon, [str(spend) for spend in private.spends]
    ((2, 2), Fraction(1, 4), ['0.75 for counts of 4 cells, in parallel'])
    """

    def __init__(self, source: CountSource, terms: Terms, entropy: Entropy) -> None:
        self._terms, self._entropy = terms, entropy
        self._left, self._open = terms.rho or terms.epsilon, True
        self._spends: list[Spend] = []
        self._lock = threading.Lock()
        self._source, self._n = source, terms.n
        self._counted: Histogram | None = None

    @property
    def region(self) -> Region:
        """The declared region of the records."""
        return self._source.region

    @property
    def n(self) -> int | None:
        """The number of records if it is public or ``number`` has measured it, else None."""
        return self._n

    @property
    def unit(self) -> PrivacyUnit:
        """The unit of privacy."""
        return self._terms.unit

    @property
    def public(self) -> Points | None:
        """Public points near which queries are expected, if any."""
        return self._terms.public

    @property
    def left(self) -> Fraction:
        """The epsilon, or with Gaussian noise the rho, that can still be spent."""
        return self._left

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that can still be spent; with Gaussian noise, an InputError is raised."""
        self._refuse_gaussian("this method")
        return self.left

    @property
    def record_epsilon(self) -> float:
        """The inverse of the noise scale of a count that costs all that is left (see ``Terms``)."""
        return self.inverse_scale(self.left)

    @property
    def exponent(self) -> int:
        """The exponent e such that a count's noise variance is proportional to its cost^-e."""
        return self._terms.exponent

    @property
    def replayable(self) -> bool:
        """Whether the noise comes from a seed, so that the same noise can be drawn again."""
        return self._entropy.replayable

    @property
    def spends(self) -> tuple[Spend, ...]:
        """The costs of the measurements, in the order of the measurements."""
        return tuple(self._spends)

    @property
    def spent(self) -> Fraction:
        """The epsilon of all measurements; with Gaussian noise, always the terms' epsilon."""
        return self._terms.epsilon if self._terms.rho else total(self._spends).epsilon

    @property
    def delta(self) -> Fraction:
        """The delta of all measurements; with Gaussian noise, always the terms' delta."""
        return self._terms.delta if self._terms.rho else total(self.spends).delta

    def inverse_scale(self, price: Fraction) -> float:
        """Return the inverse noise scale of a count that costs ``price`` (see ``Terms``)."""
        return inverse_scale(self._terms.price(price), self.unit.sensitivity)

    def number(self, share: Fraction | None = None) -> int:
        """Return the number of records, 0 or more: the exact one if public, else a noisy one.

        Parameters
        ----------
        share : Fraction, optional
            The share of ``left``, above 0 and at most 1, that the first call for a noisy number
            costs; by default that of the terms. Later calls return the same number, which is also
            ``n``, at no cost.
        """
        if self._n is None:
            price = self._take("number", self.left * (share or self._terms.n_share))
            self._n = max(self._count(self._source.n(), price, "number of records"), 0)
        return self._n

    def histogram(self, cells: Cells | Merged, price: Epsilon) -> Noisy:
        """Return noisy counts of the records in the cells of a partition.

        All counts together cost ``price`` once, since each record is in one cell only.

        Parameters
        ----------
        cells : Grid, Partition, PolygonPartition or Merged
            Cells in the records' region. They may depend on the records through noisy results only.
        price : int, float, str, Decimal or Fraction
            The cost, at most ``left``.

        Returns
        -------
        Noisy
            The counts, in the shape of ``Histogram.counts``, and their variance.

        Raises
        ------
        InputError
            If the type of the cells does not ensure that they are disjoint.
        """
        paid, sensitivity = self._take("histogram", price), self.unit.sensitivity
        noisy, spend = noisy_histogram(self._histogram(cells), paid, sensitivity, self._entropy)
        self._spends.append(spend)
        return Noisy(noisy, noise_variance(paid, sensitivity))

    def capped_sum(self, grid: Grid, most: int, price: Epsilon) -> int:
        """Return the noisy number of records that remain if each cell keeps at most ``most``.

        Adding one record changes this number, which may be negative, by at most 1.

        Parameters
        ----------
        grid : Grid
            Public cells in the records' region.
        most : int
            The largest number of records that a cell keeps, a public number.
        price : int, float, str, Decimal or Fraction
            The cost, at most ``left``.
        """
        paid = self._take("capped_sum", price)
        kept = int(self._histogram(grid).counts.clip(max=most).sum())
        what = f"records, at most {most:,} a cell, in cells of {grid.cell_m:.3g} m"
        return self._count(kept, paid, what)

    def products(self, grid: Grid, weights: NDArray[np.int64] | sparray, epsilon: Epsilon) -> Noisy:
        """Return noisy weighted sums A X A^T of a grid's counts X, shape (r, r), and variance.

        The public integers A, shape (r, m), are at most 2**15 (see ``products.noisy_products``).
        """
        price = self._take_epsilon("products", epsilon)
        counts, sensitivity = self._histogram(grid), self.unit.sensitivity
        noisy, spend = noisy_products(counts, weights, price, sensitivity, self._entropy)
        self._spends.append(spend)
        return Noisy(noisy, noise_variance(price, sensitivity * column_norm(weights) ** 2))

    def splits(
        self, max_depth: int, max_squares: int, epsilon: Epsilon
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the depths and numbers of the leaves of a private quadtree, both of shape (c,).

        The numbers are those of ``geometry.dyadic.square_of``; the source limits the depth too (see
        ``splits.noisy_splits``).
        """
        price = self._take_epsilon("splits", epsilon)
        max_depth, sensitivity = min(max_depth, self._source.max_depth), self.unit.sensitivity
        depth, number, spend = noisy_splits(
            self._source, max_depth, max_squares, price, sensitivity, self._entropy
        )
        self._spends.append(spend)
        return depth, number

    def buckets(
        self, grid: Grid, along: NDArray[np.int64], longest: int, epsilon: Epsilon
    ) -> NDArray[np.int64]:
        """Return the lengths of a private partition of a line of grid cells, shape (buckets,).

        ``along`` has the cells in the order of the line; ``longest`` is the length of the longest
        buckets, a power of four that divides their number (see ``buckets.noisy_buckets``).
        """
        paid = self._take_epsilon("buckets", epsilon)
        counts = self._histogram(grid)
        length, spend = noisy_buckets(
            counts, along, longest, paid, self.unit.sensitivity, self._entropy
        )
        self._spends.append(spend)
        return length

    def halves(
        self,
        grid: Grid,
        shares: Sequence[Fraction],
        cuts: Fraction,
        turns: int,
        least: int,
        epsilon: Epsilon,
    ) -> list[Level]:
        """Return the levels of a private binary tree of rectangles of a grid's cells.

        The share ``cuts`` of epsilon chooses where they are cut; the rest is divided by ``shares``
        among the counts of the levels, of which there are as many (see
        ``homogeneity.noisy_halves``).
        """
        paid, height = self._take_epsilon("halves", epsilon), len(shares) - 1
        cut_price = paid * cuts / max(height, 1)
        prices = [(paid - height * cut_price) * share for share in shares]
        sensitivity, counts = self.unit.sensitivity, self._histogram(grid)
        levels, spend = noisy_halves(
            counts, prices, cut_price, turns, least, sensitivity, self._entropy
        )
        self._spends.append(spend)
        return levels

    def gradients(
        self,
        queries: RangeQueries,
        scale: float,
        *,
        steps: int,
        size: int,
        batch: int,
        clip: float,
        epsilon: Epsilon,
    ) -> NoisyGradients:
        """Return noisy sums of gradients of a model's squared errors, for demonstrations only.

        A label is a box's true count divided by ``scale``. Each of ``steps`` sums has ``size``
        components, from at most ``batch`` boxes, whose gradients are cut to the L2 norm ``clip``.
        All sums together cost ``epsilon`` and the whole delta.
        """
        price = self._take_epsilon("gradients", epsilon)
        delta, sensitivity = self._terms.delta, 2 * batch * clip
        noise, spend = gradient_noise(steps, size, sensitivity, price, delta, self._entropy)
        self._spends.append(spend)
        labels = self._source.boxes(queries) / scale
        return NoisyGradients(labels, noise, batch=batch, clip=clip)

    def close(self) -> None:
        """Refuse all further measurements, since the release is complete."""
        with self._lock:
            self._open = False
        self._counted = None

    def _take(self, what: str, price: Epsilon) -> Fraction | Rho:
        """Reserve a price before records are counted; BudgetExceeded if less is left."""
        asked = epsilon_share(price)
        with self._lock:
            if not self._open:
                raise InputError(f"{what}: the build has ended; nothing more can be measured.")
            if asked > self._left:
                raise BudgetExceeded(
                    f"{what}: asked {written(asked)}, left {written(self._left)}, "
                    f"short by {written(asked - self._left)}. Nothing was looked at."
                )
            self._left -= asked
        return self._terms.price(asked)

    def _take_epsilon(self, what: str, epsilon: Epsilon) -> Fraction:
        """Reserve and return the epsilon of a measurement that can have Laplace noise only."""
        self._refuse_gaussian(what)
        self._take(what, epsilon)
        return epsilon_share(epsilon)

    def _refuse_gaussian(self, what: str) -> None:
        if self._terms.rho:
            raise InputError(f"{what}: works with Laplace noise only; release without a delta.")

    def _histogram(self, cells: Cells | Merged) -> Histogram:
        """Return the exact counts of cells; the last ones are kept, also for groups of them."""
        if isinstance(cells, Merged):
            return self._histogram(cells.cells).merged(cells.group)
        if self._counted is None or self._counted.partition != cells:
            self._counted = self._source.count(cells)
        return self._counted

    def _count(self, count: int, price: Fraction | Rho, what: str) -> int:
        noisy, spend = noisy_count(count, price, self.unit.sensitivity, self._entropy, what)
        self._spends.append(spend)
        return noisy
