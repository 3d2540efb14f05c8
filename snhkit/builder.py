"""What every builder is given, and what it gives back."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from snhkit.geometry import Points, Region
from snhkit.privacy import Entropy, PrivacyUnit
from snhkit.release import Release

__all__ = ["Builder", "Terms"]


@dataclass(frozen=True)
class Terms:
    """On what terms a builder may look at records.

    Parameters
    ----------
    epsilon : Fraction
        All that it may spend.
    unit : PrivacyUnit
        Whose presence is hidden.
    entropy : Entropy
        Where the noise comes from.
    n : int, optional
        The number of records, if it is public or was bought.
    public : Points, optional
        Public points that say where queries are expected.
    """

    epsilon: Fraction
    unit: PrivacyUnit
    entropy: Entropy
    n: int | None = None
    public: Points | None = None

    @property
    def record_epsilon(self) -> float:
        """Epsilon per record: what the noise of one cell amounts to."""
        return float(self.epsilon / self.unit.sensitivity)


class Builder(Protocol):
    """A frozen dataclass of hyperparameters with one pure method: records in, Release out."""

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if it cannot work on these terms; called before anything is spent."""
        ...

    def build(self, records: Points, terms: Terms) -> Release:
        """Look at the records, spending at most ``terms.epsilon``, and release."""
        ...
