"""The privacy cost of releases of strata: parallel composition over a division of the records."""

from collections.abc import Iterable, Sequence

from snhkit.errors import InputError
from snhkit.geometry.strata import By
from snhkit.privacy.spend import Spend, total

__all__ = ["in_strata", "of_all"]


def of_all(by: By, spends: Iterable[Spend]) -> Spend:
    """Return the cost of a map of all strata, which the releases of all strata have used."""
    return Spend(total(spends).epsilon, _all(by))


def _all(by: By) -> str:
    return f"a map of all {len(by)} strata by {by.name}"


def in_strata(by: By, spends: Iterable[Sequence[Spend]]) -> tuple[Spend, ...]:
    """Return the cost of one build in each stratum: that of the most expensive build, once.

    A map of all strata that each of them has used comes first, and adds its cost once.

    Each build is (epsilon / m)-differentially private for one record, where m is the sensitivity of
    the unit of privacy, and its records are those of its stratum only. A unit with m_s records in
    stratum s loses at most m_s epsilon / m there, by group privacy. All its records together are at
    most m, since they were bounded before the records were divided, so the sum is at most epsilon.
    With Gaussian noise, the loss in stratum s is (m_s / m)^2 rho, and the sum is at most rho.
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
