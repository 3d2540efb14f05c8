"""The public terms under which a method may measure private records."""

from dataclasses import dataclass
from fractions import Fraction

from snhkit.geometry import Points
from snhkit.privacy.unit import PrivacyUnit

__all__ = ["Terms"]


@dataclass(frozen=True)
class Terms:
    """The public terms under which a method may measure private records.

    ``PrivateDataset.release`` makes them. Nothing in them depends on private records, except a
    number of records that was declared public.

    Parameters
    ----------
    epsilon : Fraction
        The largest epsilon that the method may spend.
    unit : PrivacyUnit
        The unit of privacy.
    n : int, optional
        The number of records, if it is public.
    public : Points, optional
        Public points near which queries are expected.
    delta : Fraction
        The largest delta that the method may spend; 0 for pure differential privacy.

    Examples
    --------
    >>> Terms(Fraction(1), PrivacyUnit.of("user", max_per_user=5)).record_epsilon
    0.2
    """

    epsilon: Fraction
    unit: PrivacyUnit
    n: int | None = None
    public: Points | None = None
    delta: Fraction = Fraction(0)

    @property
    def record_epsilon(self) -> float:
        """Epsilon divided by the sensitivity, the inverse of the noise scale of a count."""
        return float(self.epsilon / self.unit.sensitivity)
