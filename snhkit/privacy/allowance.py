"""The epsilon or rho that a build may still spend, and the costs of its measurements."""

import threading
from fractions import Fraction

from snhkit.errors import BudgetExceeded, InputError
from snhkit.privacy.budget import Epsilon, epsilon_share, written
from snhkit.privacy.spend import Spend, total

__all__ = ["Allowance"]


class Allowance:
    """The epsilon or rho that the measurements of one build may still spend, and what they spent.

    Parameters
    ----------
    epsilon : Fraction
        The largest epsilon, or with Gaussian noise the largest rho, of all measurements together.

    Examples
    --------
    >>> allowance = Allowance(Fraction(1))
    >>> allowance.take("histogram", 0.75), allowance.left
    (Fraction(3, 4), Fraction(1, 4))
    >>> allowance.take("histogram", 0.5)
    Traceback (most recent call last):
    ...
    snhkit.errors.BudgetExceeded: histogram: asked 0.5, left 0.25, short by 0.25. Nothing was ...
    """

    def __init__(self, epsilon: Fraction) -> None:
        self._left, self._open = epsilon, True
        self._spends: list[Spend] = []
        self._lock = threading.Lock()

    @property
    def left(self) -> Fraction:
        """The epsilon or rho that can still be taken."""
        return self._left

    @property
    def spends(self) -> tuple[Spend, ...]:
        """The costs of the measurements, in the order of the measurements."""
        return tuple(self._spends)

    @property
    def spent(self) -> Fraction:
        """The epsilon of all measurements together, without those that cost a rho."""
        return total(self._spends).epsilon

    def take(self, what: str, epsilon: Epsilon) -> Fraction:
        """Reserve the cost of a measurement before records are counted, and return the exact cost.

        Parameters
        ----------
        what : str
            The name of the measurement, which error messages show.
        epsilon : int, float, str, Decimal or Fraction
            The cost, which is a rho for Gaussian noise.

        Raises
        ------
        BudgetExceeded
            If less than ``epsilon`` is left. The allowance is then unchanged.
        InputError
            If epsilon is not a positive, finite number, or the build has ended.
        """
        asked = epsilon_share(epsilon)
        with self._lock:
            if not self._open:
                raise InputError(f"{what}: the build has ended; nothing more can be measured.")
            if asked > self._left:
                raise BudgetExceeded(
                    f"{what}: asked {written(asked)}, left {written(self._left)}, "
                    f"short by {written(asked - self._left)}. Nothing was looked at."
                )
            self._left -= asked
        return asked

    def record(self, spend: Spend) -> None:
        """Add the cost of a measurement to ``spends``; ``take`` must have reserved the cost."""
        self._spends.append(spend)

    def close(self) -> None:
        """End the build, so that nothing more can be taken."""
        with self._lock:
            self._open = False
