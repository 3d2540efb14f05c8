"""Training squares of k sizes, cut out of one noisy grid (Alg. 1), and expected queries."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int
from numpy.typing import ArrayLike

from snhkit.geometry import Grid, Points, RangeQueries, SummedArea
from snhkit.neural.networks.squares import Batch, Scattered, Stored, relative_weights

_EVEN_SHARE = 0.6  # share of scattered squares placed uniformly; the rest are near the workload
_FINEST = 1024  # the most cells per side of the lattice in which squares are placed
_LARGEST = 2**30  # sum of absolute counts in the integer table, so that no sum overflows 32 bits

_DRAWN = 50_000


@dataclass(frozen=True, eq=False)
class Augmentation:
    """A noisy grid, and the settings with which training squares are cut out of it.

    Sizes differ by up to ``spread`` from the k query ``sizes``, and are then inputs. ``workload``
    is the paper's Q_W; squares that overlap none of it get ``floor`` / (1 + ``floor``) of the mean
    weight. One unit of output is ``scale`` records; ``smoothing`` is psi.
    """

    table: SummedArea
    sizes: Float[np.ndarray, " k"]
    spread: float
    workload: RangeQueries | None
    floor: float
    scale: float
    smoothing: float
    clip: bool

    def popularity(self, at: Float[np.ndarray, " g"], size: float) -> Float[np.ndarray, " g*g"]:
        """Return ``overlaps`` of g by g squares, divided by the mean; 1 without workload."""
        found = np.ones(len(at) ** 2)
        if self.workload is not None:
            found = overlaps(self.workload, at, size).ravel().astype(float)
        return found / (found.mean() or 1)

    def weight(self, popularity: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
        """Return the training weights of squares, whose mean is 1, from their popularity."""
        return (popularity + self.floor) / (1 + self.floor)


def query_sizes(low: float, high: float, k: int) -> Float[np.ndarray, " {k}"]:
    """Return the paper's R: the midpoints of k equal parts of [low, high], in metres."""
    return low + (high - low) / k * (np.arange(k, dtype=np.float64) + 0.5)


def aligned(given: Augmentation, rng: np.random.Generator) -> Stored:
    """Return a square of each query size at the lower-left corner of every cell, as the paper.

    Squares of weight 0 are left out. Sizes that are inputs are drawn from a public seed.
    """
    grid, region = given.table.grid, given.table.grid.region
    corners = grid.corners()
    told = np.full((len(given.sizes), len(corners)), 0.5)
    if given.spread:
        told = rng.uniform(size=told.shape)
    ratio = 1 + given.spread / given.sizes[:, None] * (2 * told - 1)
    weights = np.stack(
        [given.weight(given.popularity(grid.edges()[:-1], size)) for size in given.sizes]
    )
    kept = weights > 0
    count = kept.sum(axis=1)
    # The squares of positive weight come first, in their order; others fill the array.
    rows = np.argsort(~kept, axis=1, kind="stable")[:, : max(int(count.max()), 1)]
    ratio, told, weights = (np.take_along_axis(a, rows, axis=1) for a in (ratio, told, weights))
    size = given.sizes[:, None] * ratio
    corner = corners[rows]
    x, y = corner.reshape(-1, 2).T
    boxes = RangeQueries(region, x, y, size.ravel(), size.ravel())
    counts = given.table.sums(boxes).reshape(size.shape) / given.scale
    labels = np.maximum(counts, 0) if given.clip else counts
    at = (corner + size[..., None] / 2) / region.side_m
    if given.spread:
        at = np.concatenate([at, told[..., None]], axis=-1)
    weights = weights * relative_weights(_single(labels), given.smoothing / given.scale)
    parts = (_single(a) for a in (at, size / region.side_m, ratio**2, labels, weights))
    return Stored(Batch(*parts), jnp.asarray(np.maximum(count, 1)))


def scattered(given: Augmentation) -> Scattered:
    """Return a sampler of training squares in the region, more of them near expected queries.

    Weights are inverse densities, so that, up to lattice cells, the loss is the paper's.
    """
    table, side = given.table.table, given.table.grid.region.side_m
    unit = (np.abs(np.diff(np.diff(table, axis=0), axis=1)).sum() or 1) / _LARGEST
    chances = weights = None
    if given.workload is not None:
        g = int(np.clip(side // (given.sizes[0] - given.spread), 1, _FINEST))
        middles = (np.arange(g) + 0.5) / g
        popularity = np.stack([given.popularity(middles * (side - s), s) for s in given.sizes])
        weight = given.weight(popularity)
        # A square of weight 0 is never drawn.
        chance = np.where(weight > 0, _EVEN_SHARE + (1 - _EVEN_SHARE) * popularity, 0)
        upto = np.cumsum(chance, axis=1) / chance.sum(axis=1, keepdims=True)
        chances = jnp.asarray(np.minimum(upto * 2.0**32, 2**32 - 1).astype(np.uint32))
        weight *= chance.mean(axis=1, keepdims=True)
        weights = _single(np.divide(weight, chance, out=np.zeros_like(weight), where=chance > 0))
    return Scattered(
        table=jnp.asarray(np.rint(table / unit).astype(np.int32)),
        unit=_single(unit / given.scale),
        own=_single(given.sizes / side),
        spread=_single(given.spread / side),
        chances=chances,
        weights=weights,
        smoothing=_single(given.smoothing / given.scale),
        clip=given.clip,
        sized=given.spread > 0,
    )


def _single(numbers: ArrayLike) -> Float32[Array, "..."]:
    """Return the numbers as 32-bit floats on the device of JAX."""
    return jnp.asarray(numbers, jnp.float32)


def drawn_points(grid: Grid, counts: Float[np.ndarray, "m m"], seed: int) -> Points | None:
    """Return 50,000 points drawn in proportion to the positive counts of cells, if any."""
    upto = np.maximum(counts, 0).cumsum()
    if not upto[-1]:
        return None
    rng = np.random.default_rng(seed)
    ticket = (np.arange(_DRAWN) + rng.uniform()) / _DRAWN * upto[-1]
    cell = np.minimum(np.searchsorted(upto, ticket, side="right"), len(upto) - 1)
    xy = grid.corners()[cell] + rng.uniform(0, grid.cell_m, (_DRAWN, 2))
    # Rounding must not move a point to the far edge, which is outside the region.
    return Points(grid.region, np.minimum(xy, np.nextafter(grid.region.side_m, 0)))


def overlaps(
    workload: RangeQueries, at: Float[np.ndarray, " g"], size: float
) -> Int[np.ndarray, "g g"]:
    """Return how many expected queries each of g by g squares overlaps: the paper's w."""
    # Each expected query adds 1 to a rectangle of entries of the result. The changes are written at
    # the rectangle's four corners, and cumulative sums along both axes turn them into entries.
    steps = np.zeros((len(at) + 1,) * 2, np.int64)
    west, east = _reach(at, workload.x, workload.width, size)
    south, north = _reach(at, workload.y, workload.height, size)
    for i, j, sign in ((west, south, 1), (east, south, -1), (west, north, -1), (east, north, 1)):
        np.add.at(steps, (i, j), sign)
    return steps[:-1, :-1].cumsum(axis=0).cumsum(axis=1)


def _reach(
    at: Float[np.ndarray, " g"],
    low: Float[np.ndarray, " q"],
    width: Float[np.ndarray, " q"],
    size: float,
) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " q"]]:
    """Return the first and last (exclusive) index of the squares that overlap each interval."""
    return np.searchsorted(at, low - size, side="right"), np.searchsorted(at, low + width)
