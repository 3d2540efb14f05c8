"""The methods by the short names that the command line and the explorer use."""

import difflib
from dataclasses import dataclass
from typing import Protocol

from snhkit.builders import AdaptiveGrid, Builder, Identity, PrivTree, QuadTree, UniformGrid
from snhkit.errors import InputError
from snhkit.neural import SNH

__all__ = ["METHODS", "Configure", "Method", "method"]


class Configure(Protocol):
    """From what a person chooses once for all methods to one method's builder."""

    def __call__(
        self, *, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None
    ) -> Builder:
        """Make the builder for query sizes and a cell width in metres; each uses what it can."""
        ...


@dataclass(frozen=True)
class Method:
    """A method as people meet it.

    Parameters
    ----------
    title : str
        What a table or a map calls it.
    builder : callable
        Makes its builder.
    """

    title: str
    builder: Configure


def _ug(*, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None) -> Builder:
    return UniformGrid()


def _identity(
    *, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None
) -> Builder:
    return Identity(cell_m)


def _ag(*, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None) -> Builder:
    return AdaptiveGrid()


def _privtree(
    *, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None
) -> Builder:
    return PrivTree()


def _quadtree(
    *, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None
) -> Builder:
    return QuadTree()


def _snh(*, sizes_m: tuple[float, float] = (25.0, 100.0), cell_m: float | None = None) -> Builder:
    return SNH(cell_m, sizes_m)


METHODS: dict[str, Method] = {
    "ug": Method("UG", _ug),
    "identity": Method("Identity", _identity),
    "ag": Method("AG", _ag),
    "privtree": Method("PrivTree", _privtree),
    "quadtree": Method("QuadTree", _quadtree),
    "snh": Method("SNH", _snh),
}


def method(name: str) -> Method:
    """Look up a method by its short name.

    Raises
    ------
    InputError
        If there is none of that name; says which there are.

    Examples
    --------
    >>> method("ug").title
    'UG'
    """
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no method {name!r}; there are {', '.join(METHODS)}.{hint}")
    return METHODS[name]
