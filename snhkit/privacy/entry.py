"""One line of the ledger."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from snhkit.privacy.spend import Spend

__all__ = ["Entry"]


@dataclass(frozen=True)
class Entry:
    """A charge, and what became of it; it counts in full in every state.

    Parameters
    ----------
    number : int
        Its place in the ledger, from 1.
    when : datetime
        UTC.
    who : str
        Whom it was charged to.
    epsilon : Fraction
        How much was charged.
    delta : Fraction
        Charged beside it: the chance that the promise fails; 0 where it is pure.
    replayable : bool
        Whether a seed repeats the noise, which voids the promise.
    state : "open", "settled" or "failed"
        Charged; built, with its breakdown; or charged and not built.
    spends : tuple of Spend
        The breakdown of a settled entry.
    reason : str
        The name of the exception a failed one ended in, never its text: that may quote records.
    """

    number: int
    when: datetime
    who: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    replayable: bool = False
    state: Literal["open", "settled", "failed"] = "open"
    spends: tuple[Spend, ...] = ()
    reason: str = ""
