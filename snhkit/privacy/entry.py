"""The entries of a ledger, each of which is one charge of epsilon."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from snhkit.privacy.spend import Spend

__all__ = ["Entry", "State"]

State = Literal["open", "settled", "failed"]
"""The state of an entry: its build has not ended, has succeeded, or has failed."""


@dataclass(frozen=True)
class Entry:
    """One charge to a ledger, which stays spent even if the measurements fail.

    Entries are made by ``Ledger.charge`` and closed by ``Ledger.settle`` or ``Ledger.fail``.

    Parameters
    ----------
    number : int
        The entry's position in the ledger, from 1.
    when : datetime
        The time of the charge, in UTC.
    who : str
        The name of the method that the charge pays for, such as "UG".
    epsilon : Fraction
        The epsilon that was charged.
    delta : Fraction
        The delta that was charged; 0 for pure differential privacy.
    rho : Fraction
        If the ledger's budget has a delta, the charge as the rho of zero-concentrated differential
        privacy (zCDP); otherwise 0.
    replayable : bool
        Whether the noise comes from a seed, so that anyone who knows the seed can remove the noise.
    state : "open", "settled" or "failed"
        "open" at first; "settled" after the measurements succeeded, "failed" otherwise.
    spends : tuple of Spend
        For a settled entry, the cost of each of its measurements.
    reason : str
        For a failed entry, the type name of the exception. The exception's text is not kept,
        because it may quote records.
    checksum : str
        For a settled entry, the checksum of the release's file, by which ``snhkit verify`` finds
        the entry of a file.

    Examples
    --------
    >>> from snhkit.privacy import Ledger
    >>> entry = Ledger(1).charge("0.2", "UG")
    >>> entry.number, entry.who, entry.epsilon, entry.state
    (1, 'UG', Fraction(1, 5), 'open')
    """

    number: int
    when: datetime
    who: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    replayable: bool = False
    state: State = "open"
    spends: tuple[Spend, ...] = ()
    reason: str = ""
    checksum: str = ""
