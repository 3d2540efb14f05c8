"""The combinations of a method, a place and settings whose errors a sweep measures."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from snhkit.builder import Builder
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.experiment.evaluation import SizeBand
from snhkit.experiment.places import Place, thinned
from snhkit.methods import METHODS, method
from snhkit.release import Release

__all__ = ["MEASURES", "Cell", "measured"]

MEASURES = ("rel_error", "abs_error", "rel_error_anywhere", "abs_error_anywhere", "bytes")
"""The values that are measured for each ``Cell`` and each range of sizes; see ``measured``."""

_PARTS = {"k": "networks.k", "depth": "networks.network.depth"}  # attributes of a builder


@dataclass(frozen=True)
class Cell:
    """One combination of a method, a place and settings whose errors a sweep measures.

    Parameters
    ----------
    city : str
        Name of the place whose records are used.
    n : int or None
        The number of the place's records to use, chosen at random; None uses all.
    method : str
        Short name of the method.
    epsilon : str
        Epsilon as text, so that 0.1 is exactly one tenth.
    cell_m : float, "bought" or "auto", optional
        The width of the grid's cells in metres, or a way to choose the width, as in ``Identity``;
        None takes the method's default.
    k, depth : int, optional
        The number and the depth of the networks; None takes the method's default.
    seed : int
        The seed for the choice of the records, the squares and the noise.
    """

    city: str
    n: int | None
    method: str
    epsilon: str
    cell_m: float | str | None
    k: int | None
    depth: int | None
    seed: int

    @property
    def key(self) -> str:
        """The attributes as one line of JSON, which identifies the combination in a file."""
        return json.dumps(asdict(self))

    def builder(self, sizes_m: tuple[float, float]) -> Builder:
        """Return the builder of the method with the settings.

        Parameters
        ----------
        sizes_m : (float, float)
            Smallest and largest side, in metres, of the squares that the builder prepares for.

        Raises
        ------
        InputError
            If the method is unknown, or has no parameter for one of the settings.
        """
        cell_m: Any = self.cell_m
        builder = method(self.method).builder(sizes_m, cell_m)
        for name, path in _PARTS.items():
            if (value := getattr(self, name)) is not None:
                builder = _replaced(builder, path.split("."), value, f"{self.method}: {name}")
        return builder

    def noise_seed(self, sizes_m: tuple[float, float]) -> int:
        """Return the seed of the noise, which differs between all combinations and sizes."""
        told = f"{self.key} {json.dumps([float(size) for size in sizes_m])}"
        return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big")


def uses(name: str, parameter: str) -> bool:
    """Return whether a method has a parameter that a sweep can vary.

    Parameters
    ----------
    name : str
        Short name of the method.
    parameter : str
        The parameter: "cell_m", the cell width; "k", the number of networks; or "depth", their
        depth.
    """
    if parameter == "cell_m":
        return METHODS[name].builder(cell_m=30.0) != METHODS[name].builder(cell_m=60.0)
    part: Any = METHODS[name].builder()
    for step in _PARTS[parameter].split("."):
        part = getattr(part, step, None)
    return part is not None


def _replaced(thing: Any, path: list[str], value: Any, what: str) -> Any:
    if not hasattr(thing, path[0]):
        raise InputError(f"{what} is not a parameter of this method.")
    if len(path) > 1:
        value = _replaced(getattr(thing, path[0]), path[1:], value, what)
    return dataclasses.replace(thing, **{path[0]: value})


def measured(
    cell: Cell, place: Place, bands_m: Sequence[tuple[float, float]], queries: int
) -> list[list[float]]:
    """Build the releases of a combination, and return their errors for each size band.

    A size band is a range of the sides of squares. If the builder depends on query sizes, one
    release is built for each band; otherwise, one release is built for all bands.

    Parameters
    ----------
    cell : Cell
        The combination of a method and settings.
    place : Place
        The records and the public points of the city that ``cell`` names.
    bands_m : sequence of (float, float)
        Smallest and largest side of the squares of each band, in metres.
    queries : int
        The number of squares around records for each band. As many are placed anywhere in the
        region.

    Returns
    -------
    list of list of float
        For each band, the values of ``MEASURES``: the mean relative error and the mean absolute
        error of squares centred on records, the same two errors of squares placed uniformly in the
        region, and the size of the release's file in bytes.
    """
    dataset, asked = _exam(place, cell.n, cell.seed, tuple(bands_m), queries)
    releases: dict[Builder, Release] = {}
    found = []
    for band in asked:
        builder = cell.builder(band.sizes_m)
        if builder not in releases:
            seed = cell.noise_seed(band.sizes_m)
            releases[builder] = dataset.release(
                builder, epsilon=cell.epsilon, public=place.public, seed=seed
            )
        release = releases[builder]
        row = []
        for squares in (band.around, band.anywhere):
            answers = release.answer(squares.boxes)
            row += [squares.relative_error(answers), squares.absolute_error(answers)]
        found.append([*row, len(release.to_bytes())])
    return found


@lru_cache(maxsize=4)
def _exam(
    place: Place, n: int | None, seed: int, bands_m: tuple[tuple[float, float], ...], queries: int
) -> tuple[PrivateDataset, list[SizeBand]]:
    """Return the records of a cell as a data set, and the squares that its releases answer."""
    records = place.records if n is None else thinned(place.records, n, seed)
    bands = [SizeBand.of(records, sizes_m, queries, seed) for sizes_m in bands_m]
    return PrivateDataset(records, 10**9, unit="record", n_public=True), bands
