"""The function ``claim``, which prints a statement only if the current run confirms it."""

__all__ = ["claim"]


def claim(holds: bool, says: str, otherwise: str) -> None:
    """Print a claim of a lecture if it is true in this run; otherwise, print what happened instead.

    The numbers of a lecture change with the noise, the city and epsilon. An assertion would stop
    the notebook when a student changes one of them; this function does not.

    Parameters
    ----------
    holds : bool
        Whether the claim holds in this run.
    says : str
        The text of the claim.
    otherwise : str
        The text to print if the claim does not hold: what this run shows instead, and why.

    Examples
    --------
    >>> claim(2 > 1, "Two is more than one.", "It is not: one of them was changed.")
    ✓ Two is more than one.
    >>> claim(1 > 2, "One is more than two.", "One is less, whatever the noise.")
    ≠ In this run it is different. One is less, whatever the noise.
    """
    print(f"✓ {says}" if holds else f"≠ In this run it is different. {otherwise}")
