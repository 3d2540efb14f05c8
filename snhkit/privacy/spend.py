"""The privacy cost of noisy results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

from snhkit.errors import InputError
from snhkit.geometry.strata import By
from snhkit.privacy.budget import Epsilon, epsilon_share, fraction, written
from snhkit.privacy.zcdp import Rho

_MAX_BITS = 2**13  # of the denominator of a sum of costs


@dataclass(frozen=True)
class Spend:
    """The privacy cost of one noisy measurement, such as the noisy counts of a grid's cells.

    A cost is "parallel" if each record is counted in one of the noisy numbers only, so that all of
    them together cost epsilon once; only ``noisy_histogram`` and ``in_strata`` set it. With
    discrete Gaussian noise, the cost is a ``rho`` (``snhkit.privacy.zcdp``) and epsilon is 0.

    >>> print(Spend(Fraction(1, 5), "number of records"))
    0.2 for number of records
    """

    epsilon: Fraction
    what: str  # of what was measured, not of the records
    composition: Literal["sequential", "parallel"] = "sequential"
    delta: Fraction = Fraction(0)  # of the Gaussian noise of demonstrations
    rho: Fraction = Fraction(0)

    @classmethod
    def of(
        cls,
        price: Epsilon | Rho,
        what: str,
        composition: Literal["sequential", "parallel"] = "sequential",
    ) -> "Spend":
        """Return the Spend for a price: an epsilon for Laplace noise, a Rho for Gaussian noise."""
        if isinstance(price, Rho):
            return cls(Fraction(0), what, composition, rho=price.value)
        return cls(epsilon_share(price), what, composition)

    @classmethod
    def of_list(cls, parts: Any) -> "Spend":
        """Return the Spend that a list of texts in a file describes, after a check of each text."""
        if not (
            isinstance(parts, list)
            and 3 <= len(parts) <= 5
            and all(isinstance(part, str) for part in parts)
        ):
            raise InputError("a cost must be a list of three to five texts.")
        epsilon, what, composition, delta, rho = [*parts, "0", "0"][:5]
        return cls(
            fraction("an epsilon", epsilon), what, composition,
            fraction("a delta", delta), fraction("a rho", rho),
        )  # fmt: skip

    def to_list(self) -> list[str]:
        """Return the Spend as texts: epsilon, description, composition; delta and rho if any.

        Earlier versions refuse the longer lists, whose costs they cannot read.
        """
        parts = [str(self.epsilon), self.what, self.composition]
        if self.rho:
            return [*parts, str(self.delta), str(self.rho)]
        return [*parts, str(self.delta)] if self.delta else parts

    def __post_init__(self) -> None:
        if not isinstance(self.rho, Fraction) or self.rho < 0:
            raise InputError(f"Spend: rho must be a Fraction, at least 0, not {self.rho!r}.")
        if not isinstance(self.epsilon, Fraction) or (self.epsilon <= 0 and not self.rho):
            raise InputError(f"Spend: epsilon must be a positive Fraction, not {self.epsilon!r}.")
        if self.rho and (self.epsilon or self.delta):
            raise InputError("Spend: with rho as the cost, epsilon and delta must be 0.")
        if self.composition not in ("sequential", "parallel"):
            raise InputError(
                f"Spend: composition must be 'sequential' or 'parallel', not {self.composition!r}."
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise InputError(
                f"Spend: delta must be a Fraction, at least 0 and below 1, not {self.delta!r}."
            )

    def __str__(self) -> str:
        once = ", in parallel" if self.composition == "parallel" else ""
        delta = f" (delta = {written(self.delta)})" if self.delta else ""
        cost = f"rho {float(self.rho):.4g}" if self.rho else written(self.epsilon)
        return f"{cost}{delta} for {self.what}{once}"


class Cost(NamedTuple):
    """The epsilon, delta and rho of measurements or charges."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction


class _Costly(Protocol):
    """A ``Spend`` or an ``Entry``."""

    @property
    def epsilon(self) -> Fraction: ...
    @property
    def delta(self) -> Fraction: ...
    @property
    def rho(self) -> Fraction: ...


def total(parts: Iterable[_Costly]) -> Cost:
    """Return the sums of epsilon, delta and rho over costs for the same records: composition.

    InputError is raised if a sum has so many digits that exact arithmetic would take too long.
    """
    sums = [Fraction(0)] * 3
    for part in parts:
        for k, cost in enumerate((part.epsilon, part.delta, part.rho)):
            sums[k] += cost
            if sums[k].denominator.bit_length() > _MAX_BITS:
                raise InputError(
                    "the costs cannot be added up exactly, because their denominators have too "
                    "many digits together; use costs such as 0.1."
                )
    return Cost(*sums)


def of_all(by: By, spends: Iterable[Spend]) -> Spend:
    """Return the cost of a map of all strata, which the releases of all strata have used."""
    return Spend(total(spends).epsilon, _all(by))


def _all(by: By) -> str:
    return f"a map of all {len(by)} strata by {by.name}"


def in_strata(by: By, spends: Iterable[Sequence[Spend]]) -> tuple[Spend, ...]:
    """Return the cost of a build in each stratum: that of the most expensive one, once.

    A map of all strata that each has used comes first; docs/privacy.md has the proof.
    """
    builds = list(map(tuple, spends))
    if len(builds) != len(by) or not all(builds):
        raise InputError(f"there must be one build for each of {len(by)} strata.")
    shared = builds[0][:1] if builds[0][0].what == _all(by) else ()
    if any(one[: len(shared)] != shared for one in builds):
        raise InputError("all strata must have used the same map of all strata.")
    costs = [total(one[len(shared) :]) for one in builds]
    if any(cost.delta for cost in costs):
        raise InputError("strata cannot be built with a delta that is not that of Gaussian noise.")
    what = f"{len(by)} strata by {by.name}"
    rho = max(cost.rho for cost in costs)
    if rho:
        return (*shared, Spend(costs[0].epsilon * 0, what, "parallel", rho=rho))
    return (*shared, Spend(max(cost.epsilon for cost in costs), what, "parallel"))
