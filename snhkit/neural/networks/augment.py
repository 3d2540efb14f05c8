"""Training squares of k sizes, cut out of one noisy grid (Alg. 1 of the paper)."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int
from numpy.typing import ArrayLike

from snhkit.geometry import Grid, Points, RangeQueries, SummedArea
from snhkit.neural.networks.squares import Batch, Scattered, Stored, relative_weights

__all__ = ["Augmentation", "aligned", "drawn_points", "overlaps", "query_sizes", "scattered"]

_EVEN_SHARE = 0.6  # share of scattered squares placed uniformly; the rest are near the workload
_FINEST = 1024  # the most cells per side of the lattice in which squares are placed
_LARGEST = 2**30  # sum of absolute counts in the integer table, so that no sum overflows 32 bits

_DRAWN = 50_000


@dataclass(frozen=True, eq=False)
class Augmentation:
    """A noisy grid, and the settings with which training squares are cut out of the grid.

    Parameters
    ----------
    table : SummedArea
        The noisy grid.
    sizes : ndarray, shape (k,)
        The query size of each network, in metres.
    spread : float
        The largest difference, in metres, between the size of a training square and the query size
        of its network. If ``spread`` is not 0, the size is an input of the network.
    workload : RangeQueries or None
        The expected queries, the paper's Q_W. With None, all squares have equal weights.
    floor : float
        The number f with which a square that overlaps no expected query gets f / (1 + f) times the
        average weight.
    scale : float
        The number of records that one unit of a network's output stands for.
    smoothing : float
        The paper's psi, the least denominator of relative errors, in records.
    clip : bool
        Whether negative counts of training squares are set to 0.
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
        """Return the number of expected queries that each square overlaps, divided by the mean.

        Parameters
        ----------
        at : ndarray, shape (g,)
            The lower edges of g by g squares along either axis, ascending, in metres.
        size : float
            The side of the squares in metres.

        Returns
        -------
        ndarray, shape (g * g,)
            The results of ``overlaps``, divided by their mean; all 1 if ``workload`` is None.
        """
        found = np.ones(len(at) ** 2)
        if self.workload is not None:
            found = overlaps(self.workload, at, size).ravel().astype(float)
        return found / (found.mean() or 1)

    def weight(self, popularity: Float[np.ndarray, "*s"]) -> Float[np.ndarray, "*s"]:
        """Return the training weights of squares, whose mean is 1.

        ``popularity`` is a result of the method of this name.
        """
        return (popularity + self.floor) / (1 + self.floor)


def query_sizes(low: float, high: float, k: int) -> Float[np.ndarray, " {k}"]:
    """Return the query sizes of k networks: the midpoints of k equal parts of [low, high].

    These are the paper's R, in metres, shape (k,).

    Examples
    --------
    >>> query_sizes(25, 100, 3)
    array([37.5, 62.5, 87.5])
    """
    return low + (high - low) / k * (np.arange(k, dtype=np.float64) + 0.5)


def aligned(given: Augmentation, rng: np.random.Generator) -> Stored:
    """Return a training square of each query size at the lower-left corner of every cell.

    The paper places its squares in this way. Squares of weight 0 are left out. If the size is an
    input of the networks, each square has a random size, drawn from ``rng``, whose seed is public.
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
    """Return a sampler of training squares in the region, with more of them near expected queries.

    Squares may begin inside cells. If their corners were all corners of cells, a network could not
    learn counts inside a cell. Without expected queries, squares are placed uniformly.

    Each square is weighted by the inverse of the density from which its position is drawn, so that
    the expected loss is the paper's, apart from one approximation. The possible positions of the
    lower-left corners of squares are divided into a lattice. All squares with this corner in the
    same lattice cell get the number of expected queries that the square with this corner in the
    middle of the lattice cell overlaps. Lattice cells are no wider than the smallest square, unless
    that would take more than 1,024 lattice cells per side.
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
    """Return points drawn in proportion to the positive counts of cells.

    A cell of count c gets c / sum(counts) times 50,000 points, rounded up or down at random. The
    points are spread evenly over the cell. The result is None if no count is positive.

    Parameters
    ----------
    grid : Grid
        The grid of m by m cells.
    counts : ndarray, shape (m, m)
        Estimated counts, which are public; negative counts are taken as 0.
    seed : int
        Public seed of the draw.
    """
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
    """Return how many expected queries each of g by g squares overlaps: the paper's w (Sec. 4.2).

    Parameters
    ----------
    workload : RangeQueries
        The expected queries, the paper's Q_W.
    at : ndarray, shape (g,)
        The lower edges of the squares along either axis, ascending, in metres.
    size : float
        The side of the squares in metres.

    Returns
    -------
    ndarray of int, shape (g, g)
        Entry (i, j) is the number of boxes that overlap the square whose lower-left corner is
        (at[i], at[j]).

    Examples
    --------
    >>> from snhkit.geometry import Region
    >>> city = Region.around(lat=0, lon=0, side_m=100)
    >>> q_w = RangeQueries(city, [0, 20], [0, 0], [10, 10], [10, 10])
    >>> overlaps(q_w, np.array([5.0, 10.0]), 11.0)
    array([[1, 0],
           [1, 0]])
    """
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
    """Return the first and last (exclusive) index of the squares that overlap each interval.

    Along one axis, the squares begin at ``at`` and have side ``size``. The intervals begin at
    ``low`` and have length ``width``.
    """
    return np.searchsorted(at, low - size, side="right"), np.searchsorted(at, low + width)
