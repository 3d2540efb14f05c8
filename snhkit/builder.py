"""The interface of builders, and the terms under which a builder may use private records."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from snhkit.geometry import Points, Region
from snhkit.privacy import Entropy, PrivacyUnit
from snhkit.release import Release

__all__ = ["Builder", "Terms"]


@dataclass(frozen=True)
class Terms:
    """The terms under which a builder may use private records.

    ``PrivateDataset.release`` makes them, after it has charged epsilon to the ledger.

    Parameters
    ----------
    epsilon : Fraction
        The largest epsilon that the builder may spend.
    unit : PrivacyUnit
        The unit of privacy.
    entropy : Entropy
        The source of the noise.
    n : int, optional
        The number of records, if it is public or was bought with noise.
    public : Points, optional
        Public points near which queries are expected.

    Examples
    --------
    >>> from snhkit.privacy import SystemEntropy
    >>> terms = Terms(Fraction(1), PrivacyUnit.of("user", max_per_user=5), SystemEntropy())
    >>> terms.record_epsilon
    0.2
    """

    epsilon: Fraction
    unit: PrivacyUnit
    entropy: Entropy
    n: int | None = None
    public: Points | None = None

    @property
    def record_epsilon(self) -> float:
        """Epsilon per record: epsilon / sensitivity, the inverse of the noise scale of a count."""
        return float(self.epsilon / self.unit.sensitivity)


class Builder(Protocol):
    """The interface of a method: a frozen dataclass of hyperparameters with a ``build`` method.

    A builder stores hyperparameters only. Building neither changes the builder nor keeps a
    reference to the records.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> data = snh.PrivateDataset(
    ...     snh.Points(city, [[1, 1], [2, 2]]), budget=1, unit="record", n="public"
    ... )
    >>> data.release(snh.UniformGrid(), epsilon=0.5).method  # calls check, then build
    'UniformGrid'
    """

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if the builder cannot work in this region and on these terms.

        Called before anything is charged to the ledger.

        Parameters
        ----------
        region : Region
            The public region of the records.
        terms : Terms
            The terms that ``build`` will get.

        Raises
        ------
        InputError
            If the builder cannot work.
        """
        ...

    def build(self, records: Points, terms: Terms) -> Release:
        """Build a release of the records and spend at most ``terms.epsilon``.

        Parameters
        ----------
        records : Points
            The private records.
        terms : Terms
            What may be spent, and how the noise is drawn.

        Returns
        -------
        Release
            The release, which lists every spend.
        """
        ...
