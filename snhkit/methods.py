"""The methods of snhkit, by the short names that the command line and ``explore`` use."""

import difflib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

from snhkit import neural
from snhkit.builders import (
    DAWA,
    HDMM,
    HTF,
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
from snhkit.builders.base import Extra, hyperparameters
from snhkit.builders.cell_width import Width
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.release import Release

__all__ = ["METHODS", "Method", "builder_of", "key_of", "method", "name_of", "title", "title_of"]


@dataclass(frozen=True)
class Method:
    """A method by its title, with a function that makes its builder.

    ``configure`` takes the smallest and the largest query size, as a pair, and the cell width, in
    metres. ``demonstration`` marks releases that must not be published, ``slow`` builds of many
    minutes.
    """

    title: str
    configure: Callable[[tuple[float, float], Width], Builder]
    about: str = ""
    demonstration: bool = False
    slow: bool = False

    def builder(
        self, sizes_m: tuple[float, float] = DEFAULT_SIZES_M, cell_m: Width = None
    ) -> Builder:
        """Return the builder for squares of ``sizes_m``; with None, it chooses its width."""
        return self.configure(sizes_m, cell_m)

    @property
    def lacks(self) -> Extra | None:
        """The optional dependency that the method needs and that is not installed, or None."""
        extra = getattr(self.builder(), "extra", None)
        return None if extra is None or extra.installed else extra


METHODS: dict[str, Method] = {
    "ug": Method(
        "UG",
        lambda sizes_m, cell_m: UniformGrid(),
        "One noisy grid; the cell width follows from the number of records and epsilon.",
    ),
    "identity": Method(
        "Identity",
        lambda sizes_m, cell_m: Identity(cell_m),
        "One noisy grid of narrow cells, published as it is.",
    ),
    "ag": Method(
        "AG",
        lambda sizes_m, cell_m: AdaptiveGrid(),
        "A coarse noisy grid whose crowded cells are divided and counted again.",
    ),
    "privtree": Method(
        "PrivTree",
        lambda sizes_m, cell_m: PrivTree(),
        "A tree of squares; squares are divided while their counts stand out from the noise.",
    ),
    "quadtree": Method(
        "QuadTree",
        lambda sizes_m, cell_m: QuadTree(),
        "Noisy counts of squares of every size, from the city to a cell, adjusted to add up.",
    ),
    "hb2d": Method(
        "HB2D",
        lambda sizes_m, cell_m: HierarchicalGrid(cell_m),
        "Noisy counts of a few nested grids, adjusted to add up.",
    ),
    "dawa": Method(
        "DAWA",
        lambda sizes_m, cell_m: DAWA(sizes_m=sizes_m),
        "Neighbouring cells with similar counts are counted together.",
    ),
    "pgm": Method(
        "PGM",
        lambda sizes_m, cell_m: PGM(cell_m),
        "The non-negative counts that fit a noisy grid and the sums of its blocks best.",
    ),
    "privelet": Method(
        "Privelet",
        lambda sizes_m, cell_m: Privelet(_metres(cell_m)),
        "Noise is added to a wavelet transform of a grid, so large boxes have little noise.",
    ),
    "hdmm": Method(
        "HDMM",
        lambda sizes_m, cell_m: HDMM(_metres(cell_m), sizes_m),
        "Noisy sums of cells, chosen to answer boxes of the given sizes well.",
    ),
    "snh": Method(
        "SNH",
        lambda sizes_m, cell_m: neural.SNH(cell_m, sizes_m),
        "Neural networks learn to count from one noisy grid, one network for each box size.",
    ),
    "snh-paper": Method(
        "SNH (paper's network)",
        lambda sizes_m, cell_m: neural.SNH.paper(cell_m or "auto", sizes_m),
        "SNH with the large network of the paper; a build takes many minutes.",
        slow=True,
    ),
    "denoised": Method(
        "Denoised grid",
        lambda sizes_m, cell_m: neural.DenoisedGrid(cell_m, sizes_m),
        "A network that was trained on public cities cleans one noisy grid.",
    ),
    "dpsgd": Method(
        "DP-SGD",
        lambda sizes_m, cell_m: neural.DPSGD(sizes_m),
        "A network trained on the records with noisy gradients, for teaching; do not publish it.",
        demonstration=True,
    ),
    "htf": Method(
        "HTF",
        lambda sizes_m, cell_m: HTF(),
        "A tree of rectangles, cut where counts change, as far as noise lets this be seen.",
    ),
}
"""All methods by short name, in the order in which tables and legends show the methods.

Methods of other packages, which register them as entry points of the group ``snhkit.methods``,
follow those of snhkit.
"""


def _metres(cell_m: Width) -> float | None:
    """Return the cell width if it is a number; else None, for methods that take only numbers."""
    return None if isinstance(cell_m, str) else cell_m


def method(name: str) -> Method:
    """Return the method with a given short name; InputError lists all names if there is none."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(
            f"there is no method {name!r}; the methods are {', '.join(METHODS)}.{hint}"
        )
    return METHODS[name]


def builder_of(given: str | Builder) -> Builder:
    """Return a builder that is given itself or by the short name of its method."""
    return method(given).builder() if isinstance(given, str) else given


def name_of(given: str | Builder) -> str:
    """Return the short name of a method that is given by it, or by a builder with its defaults."""
    if isinstance(given, str):
        method(given)
        return given
    for name, known in METHODS.items():
        if known.builder() == given:
            return name
    raise InputError(
        f"{given!r} is no method with its usual settings, of which errors are known; the methods "
        f"are {', '.join(METHODS)}."
    )


def title(name: str) -> str:
    """Return the title of the method with a given short name, or ``name`` if there is none."""
    return METHODS[name].title if name in METHODS else name


def key_of(release: Release) -> str | None:
    """Return the short name of the method that built a release; None if it has none."""
    told = release.hyperparameters
    if release.method == "SNH" and not told.get("prior"):
        paper = hyperparameters(neural.Networks.paper())
        return "snh-paper" if told.get("networks") == paper else "snh"
    kinds = {type(method.builder()).__name__: key for key, method in METHODS.items()}
    return None if release.method == "SNH" else kinds.get(release.method)


def title_of(release: Release) -> str:
    """Return the name of a release's method in legends, tables and on the explorer's maps."""
    if release.method == "SNH" and release.hyperparameters.get("prior"):
        return f"{METHODS['snh'].title} (on a denoised grid)"
    return title(key_of(release) or release.method)


def _from_other_packages() -> dict[str, Method]:
    """Return the entry points of the group ``snhkit.methods``; warn of those that do not load."""
    found = {}
    for entry in entry_points(group="snhkit.methods"):
        package = entry.dist.name if entry.dist else entry.value
        try:
            one = entry.load()
        except Exception as error:  # whatever another package's code raises
            warnings.warn(f"{package}: the method {entry.name} is left out: {error}", stacklevel=2)
            continue
        taken = entry.name in METHODS or entry.name in found
        if taken or not isinstance(one, Method):
            what = "the name of another method" if taken else f"a {type(one).__name__}, no Method"
            warnings.warn(f"{package}: {entry.name} is left out: it is {what}.", stacklevel=2)
            continue
        found[entry.name] = one
    return found


METHODS |= _from_other_packages()
