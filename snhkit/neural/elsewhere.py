"""Computations of networks, run in this process or in processes that several kernels share.

Shared processes are used on a server with many kernels. Only computations on noisy results may run
in them: the process that holds the records draws the noise and writes the ledger.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Elsewhere", "answered", "learned", "send"]

Run = Callable[..., Any]


class Elsewhere(NamedTuple):
    """Two functions, each of which calls a given function with arguments in another process.

    Parameters
    ----------
    learn : callable
        For computations of a build, which take seconds or more.
    answer : callable
        For computations that take milliseconds: answers of networks, and the test whether JAX works
        before a build.
    """

    learn: Run
    answer: Run


_SENT: list[Elsewhere] = []


def send(elsewhere: Elsewhere) -> None:
    """Make ``learned`` and ``answered`` run functions in other processes from now on."""
    _SENT[:] = [elsewhere]


def learned(function: Run, *args: Any) -> Any:
    """Return ``function(*args)``, a part of a build, computed elsewhere if ``send`` was called.

    Examples
    --------
    >>> learned(max, 1, 2)
    2
    """
    return _SENT[0].learn(function, *args) if _SENT else function(*args)


def answered(function: Run, *args: Any) -> Any:
    """Return ``function(*args)``, a short computation, run elsewhere if ``send`` was called.

    Examples
    --------
    >>> answered(max, 1, 2)
    2
    """
    return _SENT[0].answer(function, *args) if _SENT else function(*args)
