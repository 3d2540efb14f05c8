"""Released counts of equal cells, a colour scale for several releases, and outlines of cells."""

import base64
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import Colormap, PowerNorm
from numpy.typing import NDArray
from PIL import Image

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models import Model
from snhkit.release import Release
from snhkit.release.polygon_model import PolygonModel

UNIT = "records per hectare"

# The colours of Okabe and Ito (2008), which can be told apart with every kind of colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

_CELLS_A_SIDE = 150
_PIXELS_A_CELL, _MAX_PIXELS = 5, 1300  # pixels per side of a cell, and of a picture
_KNOTS = 64  # per side, the map projection is computed at 65 points and interpolated in between
_SPECK_M = 0.01  # side of a box that is small enough to lie in one cell of a release


@dataclass(frozen=True, eq=False, repr=False)
class Surface:
    """The count of each cell of a grid, shape (m, m), which can be drawn as a picture.

    ``counts[i, j]`` is for the i-th column from the west and the j-th row from the south.
    """

    grid: Grid
    counts: NDArray

    def __post_init__(self) -> None:
        if self.counts.shape != (self.grid.m, self.grid.m):
            raise InputError(
                f"Surface: counts must have shape ({self.grid.m}, {self.grid.m}), "
                f"not {self.counts.shape}."
            )

    @classmethod
    def of(cls, release: Release | Model, cell_m: float | None = None) -> "Surface":
        """Return the counts, by a release or a model, of the equal cells of a grid.

        Cells have the width ``cell_m``, by default ``display_cell_m`` of the region, and depend on
        nothing else, so the surfaces of different methods can be compared.
        """
        grid = Grid.of_width(release.region, cell_m or display_cell_m(release.region))
        counts = release.answer(grid.boxes())
        return cls(grid, np.asarray(counts, float).reshape(grid.m, grid.m))

    @classmethod
    def drawn(cls, release: Release | Model, cell_m: float | None = None) -> "Surface":
        """Return counts for a picture that shows sharp edges between the cells of a release.

        If the release has equal cells that are wider than those of the surface, each cell of the
        surface gets the release's density at its own centre. In all other cases, the result is that
        of ``of``, where a cell that lies in two cells of the release gets a mean of both densities.
        """
        grid = Grid.of_width(release.region, cell_m or display_cell_m(release.region))
        cells = getattr(getattr(release, "model", release), "cells", None)
        own = cells() if cells else None
        if not isinstance(own, Grid) or own.cell_m <= grid.cell_m:
            return cls.of(release, cell_m)
        x, y = grid.corners().T + (grid.cell_m - _SPECK_M) / 2
        side = np.full(len(x), _SPECK_M)
        counts = release.answer(RangeQueries(release.region, x, y, side, side))
        share = (grid.cell_m / _SPECK_M) ** 2
        return cls(grid, share * np.asarray(counts, float).reshape(grid.m, grid.m))

    @property
    def density(self) -> NDArray[np.float64]:
        """Records per hectare (100 m by 100 m), shape (m, m)."""
        return self.counts * (10_000 / self.grid.cell_m**2)


def display_cell_m(region: Region, most: int = _CELLS_A_SIDE) -> float:
    """Return the least cell width of 1, 2, 5, 10, ... m with at most ``most`` cells per side."""
    return _nice(region.side_m / most, (1, 2, 5, 10))


@dataclass(frozen=True)
class ColourScale:
    """A colour scale for densities from 0 to ``top``: viridis over the square root of density.

    Because of the square root, sparse streets remain visible next to a dense centre. The brightness
    of viridis increases evenly, so the scale can be read with every kind of colour vision, and in
    grey. Negative densities, which noise causes, have the colour of 0, and those above ``top`` its
    own.
    """

    top: float
    unit: str = UNIT
    colours: str = "viridis"

    @classmethod
    def shared(cls, surfaces: Iterable[Surface]) -> "ColourScale":
        """Return one scale for several surfaces; about 0.3 % of known cells exceed its top."""
        values = np.concatenate([np.zeros(0), *(s.density.ravel() for s in surfaces)])
        values = values[np.isfinite(values)]
        high = float(np.quantile(values, 0.997)) if values.size else 1.0
        return cls.up_to(max(high, 1.0))

    @classmethod
    def up_to(cls, density: float, unit: str = UNIT) -> "ColourScale":
        """Return a scale to ``density``, rounded up to 1, 2, 4, 6 or 8 times a power of ten."""
        return cls(_nice(density, (1, 2, 4, 6, 8, 10)), unit)

    @property
    def norm(self) -> PowerNorm:
        """The scale as a matplotlib norm, which maps densities to numbers from 0 to 1."""
        return PowerNorm(0.5, vmin=0, vmax=self.top, clip=True)

    @property
    def cmap(self) -> Colormap:
        """The colours as a matplotlib colormap."""
        return matplotlib.colormaps[self.colours]

    @property
    def ticks(self) -> tuple[float, ...]:
        """The densities that have the first, the middle and the last colour."""
        return (0.0, self.top / 4, self.top)

    def levels(self, density: NDArray) -> NDArray[np.uint8]:
        """Return the index, from 1 to 255, of each density's colour in ``palette``."""
        return (1 + np.rint(254 * self.norm(density).filled(0))).astype(np.uint8)

    @property
    def palette(self) -> NDArray[np.uint8]:
        """Red, green and blue of each colour, 0 to 255, shape (256, 3); row 0 means transparent."""
        colours = self.cmap(np.linspace(0, 1, 255), bytes=True)[:, :3]
        return np.concatenate([np.zeros((1, 3), np.uint8), colours])

    def legend(self, title: str) -> dict[str, Any]:
        """Return the title, unit, ticks and colours of a map's legend, as JSON values."""
        low, middle, high = (f"{tick:g}" for tick in self.ticks)
        steps = self.cmap(np.linspace(0, 1, 16), bytes=True)[:, :3]
        return {
            "title": title,
            "unit": self.unit,
            "ticks": [f"≤ {low}", middle, f"≥ {high}"],
            "colours": ["#" + bytes(step).hex() for step in steps],
        }


def surface_overlay(surface: Surface, scale: ColourScale, title: str) -> dict[str, Any]:
    """Return a surface as a PNG in Web Mercator, transparent outside, and its legend, as JSON."""
    grid = surface.grid
    a_cell = max(1, min(_PIXELS_A_CELL, _MAX_PIXELS // grid.m))
    at, bounds = _cell_of_pixel(grid, a_cell * grid.m)
    levels = scale.levels(surface.density).ravel()[at]
    levels[at < 0] = 0
    return {
        "image": picture_url(levels, scale),
        "bounds": list(bounds),
        "alt": f"{title}: {UNIT}, as colours",
        "legend": scale.legend(title),
    }


def picture_url(levels: NDArray[np.uint8], scale: ColourScale) -> str:
    """Return a picture as a data URL of a PNG; the levels are indices of the scale's colours."""
    picture = Image.fromarray(levels)
    picture.putpalette(scale.palette.tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=0, compress_level=3)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def pictures(surfaces: Mapping[str, Surface]) -> tuple[dict[str, str], ColourScale]:
    """Return pictures of surfaces as data URLs, north at the top, and their one colour scale."""
    scale = ColourScale.shared(surfaces.values())
    levels = {name: scale.levels(one.density).T[::-1] for name, one in surfaces.items()}
    return {name: picture_url(each, scale) for name, each in levels.items()}, scale


@lru_cache(maxsize=2)
def _cell_of_pixel(
    grid: Grid, pixels: int
) -> tuple[NDArray[np.int64], tuple[float, float, float, float]]:
    """Return each pixel's cell i * m + j in Web Mercator, -1 outside, and the region's bounds."""
    south, west, north, east = bounds = grid.region.bounds
    low, high = (math.asinh(math.tan(math.radians(lat))) for lat in (south, north))
    middle = (np.arange(pixels) + 0.5) / pixels
    # The projection is smooth, so it is computed at a few knots and interpolated between them.
    knots = np.linspace(0, 1, _KNOTS + 1)
    lat = np.degrees(np.arctan(np.sinh(high + (low - high) * knots)))
    xy = grid.region.to_xy(*np.meshgrid(lat, west + (east - west) * knots, indexing="ij"))
    before = np.minimum((middle * _KNOTS).astype(np.int64), _KNOTS - 1)
    weights = np.zeros((pixels, _KNOTS + 1))
    after = middle * _KNOTS - before
    weights[np.arange(pixels), before], weights[np.arange(pixels), before + 1] = 1 - after, after
    x, y = (weights @ xy[..., axis] @ weights.T for axis in (0, 1))
    inside = (x >= 0) & (y >= 0) & (x < grid.region.side_m) & (y < grid.region.side_m)
    i, j = (np.minimum((at / grid.cell_m).astype(np.int64), grid.m - 1) for at in (x, y))
    return np.where(inside, i * grid.m + j, -1), bounds


def _nice(least: float, steps: tuple[int, ...]) -> float:
    """Return the smallest product of a step and a power of ten that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in steps if step * power >= least * (1 - 1e-12))


_MAX_CELLS = 60_000
_UNIT = 1e-6  # degrees, at most 11 cm


def cell_outlines(release: Release) -> tuple[dict[str, Any] | None, str]:
    """Return the outlines of the cells that a release counts, None if too many, and a note.

    ``corners`` are steps of ``unit`` degrees from ``origin`` to south, west, north and east.
    """
    if isinstance(release.model, PolygonModel):
        return None, f"{len(release.model.partition):,} districts, which are not outlined as cells"
    cells = release.model.cells()
    if isinstance(cells, Grid):
        count, note = cells.m**2, f"{cells.m**2:,} equal cells of {cells.cell_m:,.0f} m"
    else:
        count = len(cells.x0)
        note = f"{count:,} cells"
    if count > _MAX_CELLS:
        return None, f"{note}: too many to outline"
    lat, lon = np.moveaxis(cells.boxes().corners_in_degrees(), -1, 0)
    south, west, _, _ = release.region.bounds
    sides = (lat[:, :2] - south, lon[:, [0, 3]] - west, lat[:, 2:] - south, lon[:, 1:3] - west)
    steps = np.rint(np.stack([side.mean(axis=1) for side in sides], axis=1) / _UNIT)
    corners = steps.astype(int).ravel().tolist()
    return {"origin": [south, west], "unit": _UNIT, "corners": corners}, note
