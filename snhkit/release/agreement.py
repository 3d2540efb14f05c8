"""The comparison of a release with the measurements that it was made from."""

from snhkit.privacy import Measurements
from snhkit.release.release import Release

__all__ = ["disagreement"]


def disagreement(release: Release, private: Measurements) -> str:
    """Return how a release differs from its measurements, or an empty text if it does not.

    The epsilon, delta, spends, unit, n, replayable and region of both are compared. The text
    completes an error message that begins with "build returned".
    """
    if not isinstance(release, Release):
        return f"a {type(release).__name__}, not a Release."
    measured = {
        "epsilon": private.spent,
        "delta": private.delta,
        "spends": private.spends,
        "unit": private.unit,
        "n": private.n,
        "replayable": private.replayable,
        "region": private.region,
    }
    if not private.spends:
        return "a release, but measured nothing; build must make at least one noisy measurement."
    for name, value in measured.items():
        if getattr(release, name) != value:
            return (
                f"a release whose '{name}' differs from the measurements; make the release with "
                "snhkit.builders.base.publish."
            )
    return ""
