"""Learned computations in this process or, on a server with many kernels, in shared processes.

Only computations on noisy results may run in another process. The process that holds the records
draws the noise and makes the charges.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Elsewhere", "answered", "learned", "send"]

Run = Callable[..., Any]


class Elsewhere(NamedTuple):
    """Two functions that call a function with arguments in another process.

    Parameters
    ----------
    learn : callable
        For computations of a build, which take seconds or more.
    answer : callable
        For what takes milliseconds: answers of networks, and the test of JAX before a build.
    """

    learn: Run
    answer: Run


_SENT: list[Elsewhere] = []


def send(elsewhere: Elsewhere) -> None:
    """Make all learned computations of this process run in other processes from now on."""
    _SENT[:] = [elsewhere]


def learned(function: Run, *args: Any) -> Any:
    """Return ``function(*args)``, a part of a build.

    Examples
    --------
    >>> learned(max, 1, 2)
    2
    """
    return _SENT[0].learn(function, *args) if _SENT else function(*args)


def answered(function: Run, *args: Any) -> Any:
    """Return ``function(*args)``, which takes milliseconds.

    Examples
    --------
    >>> answered(max, 1, 2)
    2
    """
    return _SENT[0].answer(function, *args) if _SENT else function(*args)
