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
    """One combination of a method, a place and settings whose errors a sweep measures."""

    city: str
    n: int | None  # records to draw from the place; None for all
    method: str
    epsilon: str  # text, so that 0.1 is exactly one tenth
    cell_m: float | str | None  # None, here and below, for the method's default
    k: int | None
    depth: int | None
    seed: int  # of the choice of records, the squares and the noise

    @property
    def key(self) -> str:
        """The attributes as one line of JSON, which identifies the combination in a file."""
        return json.dumps(asdict(self))

    def builder(self, sizes_m: tuple[float, float]) -> Builder:
        """Return the builder of the method with the settings, which it must have."""
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
    """Return whether a method has a parameter that a sweep varies: "cell_m", "k" or "depth"."""
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
    """Build the releases of a combination, and return the ``MEASURES`` for each size band.

    If the builder depends on query sizes, one release is built for each band, else one for all.
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
