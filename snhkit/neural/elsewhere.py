"""Computations of networks, run in this process or in processes that Jupyter kernels share.

Shared processes are used on a server with many kernels. Only computations on noisy results may run
in them: the process that holds the records draws the noise and writes the ledger.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Elsewhere", "answered", "learned", "send"]

Run = Callable[..., Any]


class Elsewhere(NamedTuple):
    """Two ways to call a function in another process, ``learn`` and ``answer``.

    Both take the function and its arguments, and return the result.

    Parameters
    ----------
    learn : callable
        Calls parts of a build, which take seconds or more.
    answer : callable
        Calls functions that take milliseconds: those that compute answers of networks, and the test
        before a build whether JAX works.
    """

    learn: Run
    answer: Run


_SENT: list[Elsewhere] = []


def send(elsewhere: Elsewhere) -> None:
    """Make the functions ``learned`` and ``answered`` compute in another process from now on."""
    _SENT[:] = [elsewhere]


def learned(function: Run, *args: Any) -> Any:
    """Return ``function(*args)``, computed in another process if ``send`` was called.

    The function is part of a build and takes seconds or more.

    Examples
    --------
    >>> learned(max, 1, 2)
    2
    """
    return _SENT[0].learn(function, *args) if _SENT else function(*args)


def answered(function: Run, *args: Any) -> Any:
    """Return ``function(*args)``, computed in another process if ``send`` was called.

    The function takes milliseconds.

    Examples
    --------
    >>> answered(max, 1, 2)
    2
    """
    return _SENT[0].answer(function, *args) if _SENT else function(*args)
