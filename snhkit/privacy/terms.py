"""The public facts and limits for the measurements that a builder makes for one release."""

from dataclasses import dataclass, replace
from fractions import Fraction

from snhkit.geometry import Points
from snhkit.privacy.scale import inverse_scale
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.zcdp import Rho

__all__ = ["N_SHARE", "Terms"]

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

    epsilon: Fraction
    unit: PrivacyUnit
    n: int | None = None
    public: Points | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    n_share: Fraction = N_SHARE

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
