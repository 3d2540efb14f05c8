"""The public account of a build: how much epsilon or rho may be spent, and what was spent."""

from fractions import Fraction

from snhkit.errors import InputError
from snhkit.geometry import Points
from snhkit.privacy.allowance import Allowance
from snhkit.privacy.budget import Epsilon
from snhkit.privacy.entropy import Entropy
from snhkit.privacy.scale import inverse_scale
from snhkit.privacy.spend import Spend, total
from snhkit.privacy.terms import Terms
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.zcdp import Rho

__all__ = ["Account"]


class Account:
    """The public part of ``Measurements``: a build's terms, what it spent, and what it may spend.

    A build that draws Gaussian noise spends rho, the parameter of zero-concentrated differential
    privacy, instead of epsilon.

    Parameters
    ----------
    terms : Terms
        The public terms of the build, with the largest epsilon or rho that may be spent.
    entropy : Entropy
        The source of randomness for the noise.
    """

    def __init__(self, terms: Terms, entropy: Entropy) -> None:
        self._terms, self._entropy = terms, entropy
        self._allowance = Allowance(terms.rho or terms.epsilon)

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
        return self._allowance.left

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
        return self._allowance.spends

    @property
    def spent(self) -> Fraction:
        """The epsilon of all measurements; with Gaussian noise, always the terms' epsilon."""
        return self._terms.epsilon if self._terms.rho else self._allowance.spent

    @property
    def delta(self) -> Fraction:
        """The delta of all measurements; with Gaussian noise, always the terms' delta."""
        return self._terms.delta if self._terms.rho else total(self.spends).delta

    def inverse_scale(self, price: Fraction) -> float:
        """Return the inverse noise scale of a count that costs ``price``, an epsilon or a rho.

        For Gaussian noise, this is the inverse scale of Laplace noise of the same variance.
        """
        return inverse_scale(self._terms.price(price), self.unit.sensitivity)

    def close(self) -> None:
        """End the build, so that nothing more can be measured."""
        self._allowance.close()

    def _take(self, what: str, price: Epsilon) -> Fraction | Rho:
        """Reserve a measurement's price, and return it: an epsilon, or a Rho for Gaussian noise."""
        return self._terms.price(self._allowance.take(what, price))

    def _take_epsilon(self, what: str, epsilon: Epsilon) -> Fraction:
        """Reserve and return the epsilon of a measurement that can have Laplace noise only."""
        self._refuse_gaussian(what)
        return self._allowance.take(what, epsilon)

    def _refuse_gaussian(self, what: str) -> None:
        if self._terms.rho:
            raise InputError(f"{what}: works with Laplace noise only; release without a delta.")
