"""The methods by the short names that the command line and the explorer use."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from snhkit.builders import (
    DAWA,
    HDMM,
    PGM,
    AdaptiveGrid,
    Builder,
    HierarchicalGrid,
    Identity,
    Privelet,
    PrivTree,
    QuadTree,
    UniformGrid,
)
from snhkit.builders.base import Extra
from snhkit.builders.width.cell_width import Width
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.neural import DPSGD, SNH, DenoisedGrid

__all__ = ["METHODS", "Method", "method"]


@dataclass(frozen=True)
class Method:
    """A method as people meet it.

    Parameters
    ----------
    title : str
        What a table or a map calls it.
    configure : callable
        From query sizes and a cell width to a builder; each uses what it can.
    demonstration : bool
        Whether its releases must not be published.
    slow : bool
        Whether a build takes many minutes on a CPU.
    """

    title: str
    configure: Callable[[tuple[float, float], Width], Builder]
    demonstration: bool = False
    slow: bool = False

    def builder(
        self, sizes_m: tuple[float, float] = DEFAULT_SIZES_M, cell_m: Width = None
    ) -> Builder:
        """Make the builder for query sizes and a cell width in metres, chosen once for all."""
        return self.configure(sizes_m, cell_m)

    @property
    def lacks(self) -> Extra | None:
        """The extra that it needs and that is not installed."""
        extra = getattr(self.builder(), "extra", None)
        return None if extra is None or extra.installed else extra


METHODS: dict[str, Method] = {
    "ug": Method("UG", lambda sizes_m, cell_m: UniformGrid()),
    "identity": Method("Identity", lambda sizes_m, cell_m: Identity(cell_m)),
    "ag": Method("AG", lambda sizes_m, cell_m: AdaptiveGrid()),
    "privtree": Method("PrivTree", lambda sizes_m, cell_m: PrivTree()),
    "quadtree": Method("QuadTree", lambda sizes_m, cell_m: QuadTree()),
    "hb2d": Method("HB2D", lambda sizes_m, cell_m: HierarchicalGrid(cell_m)),
    "dawa": Method("DAWA", lambda sizes_m, cell_m: DAWA(sizes_m=sizes_m)),
    "pgm": Method("PGM", lambda sizes_m, cell_m: PGM(cell_m)),
    "privelet": Method("Privelet", lambda sizes_m, cell_m: Privelet(_metres(cell_m))),
    "hdmm": Method("HDMM", lambda sizes_m, cell_m: HDMM(_metres(cell_m), sizes_m)),
    "snh": Method("SNH", lambda sizes_m, cell_m: SNH(cell_m, sizes_m)),
    "snh-paper": Method(
        "SNH (paper's network)", lambda sizes_m, cell_m: SNH.paper(cell_m, sizes_m), slow=True
    ),
    "denoised": Method(
        "Denoised grid", lambda sizes_m, cell_m: DenoisedGrid(cell_m or "bought", sizes_m)
    ),
    "dpsgd": Method("DP-SGD", lambda sizes_m, cell_m: DPSGD(sizes_m), demonstration=True),
}


def _metres(cell_m: Width) -> float | None:
    """For methods whose width no ``ParamSelect`` chooses."""
    return None if isinstance(cell_m, str) else cell_m


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
