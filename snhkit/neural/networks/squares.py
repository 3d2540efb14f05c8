"""Training squares with their counts: a stored set, or a sampler that draws new squares."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, Key, Num, UInt32


class Batch(NamedTuple):
    """b training squares for each of k networks; the side of the region is 1.

    The i inputs ``at`` are the centre and, if i is 3, the place of the size in its range. ``area``
    is in that of the query size, ``labels`` are counts in units of output, ``weights`` are of
    errors.
    """

    at: Float[Array, "k b i"]
    side: Float[Array, "k b"]
    area: Float[Array, "k b"]
    labels: Float[Array, "k b"]
    weights: Float[Array, "k b"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Stored:
    """A stored set of training squares; those beyond a network's ``count`` have weight 0."""

    squares: Batch
    count: Int[Array, " k"]

    def draw(self, key: Key[Array, ""], batch: int) -> Batch:
        """Return ``batch`` random squares for each network, or all if no network has more."""
        k, most = self.squares.labels.shape
        if batch >= most:
            return self.squares
        rows = (jax.random.uniform(key, (k, batch)) * self.count[:, None]).astype(jnp.int32)
        return Batch(*(jax.vmap(lambda a, i: a[i])(a, rows) for a in self.squares))


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Scattered:
    """A sampler of training squares in the region, with more of them near expected queries.

    ``table`` is the noisy grid's summed-area table in ``unit``; lengths (``own`` is the query size
    of each network) are in the region's side. ``chances`` are cumulative probabilities, in 2^-32,
    of the g by g lattice cells in which squares are placed, and ``weights`` theirs; None if all are
    equal.
    """

    table: Int32[Array, "e e"]
    unit: Float[Array, ""]
    own: Float[Array, " k"]
    spread: Float[Array, ""]
    chances: UInt32[Array, "k g2"] | None
    weights: Float[Array, "k g2"] | None
    smoothing: Float[Array, ""]
    clip: bool = field(metadata={"static": True})
    sized: bool = field(metadata={"static": True})

    def draw(self, key: Key[Array, ""], batch: int) -> Batch:
        """Return ``batch`` new squares for each network, at random positions."""
        shape = (len(self.own), batch)
        # One call draws all numbers, since each call takes a second to compile.
        x, y, size_ticket, ticket = jax.random.bits(key, (4, *shape))
        # Stratified sampling: one number from each of ``batch`` equal parts of the range. The
        # numbers ascend, so that memory is read in order.
        ends = np.arange(batch + 1, dtype=np.uint64) * 2**32 // batch
        first, length = ends[:-1].astype(np.uint32), np.diff(ends).astype(np.uint32)
        ticket = first[None] + ticket % length[None]
        weights = jnp.ones(shape)
        if self.chances is not None and self.weights is not None:
            search = jax.vmap(lambda a, v: jnp.searchsorted(a, v, side="right"))
            cell = jnp.minimum(search(self.chances, ticket), self.weights.shape[1] - 1)
            weights = jnp.take_along_axis(self.weights, cell, axis=1)
            g = math.isqrt(self.weights.shape[1])
            place = (jnp.stack([cell // g, cell % g], -1) + _uniform(jnp.stack([x, y], -1))) / g
        else:
            place = _uniform(jnp.stack([ticket, y], axis=-1))
        told = _uniform(size_ticket) if self.sized else jnp.full(shape, 0.5)
        own = self.own[:, None]
        size = own + self.spread * (2 * told - 1)
        corner = place * (1 - size)[..., None]
        labels = table_sums(self.table, corner, size) * self.unit
        labels = jnp.maximum(labels, 0) if self.clip else labels
        weights = weights * relative_weights(labels, self.smoothing)
        at = corner + size[..., None] / 2
        if self.sized:
            at = jnp.concatenate([at, told[..., None]], axis=-1)
        return Batch(at, size, (size / own) ** 2, labels, weights)


def relative_weights(
    counts: Float[Array, "k b"], smoothing: float | Float[Array, ""]
) -> Float[Array, "k b"]:
    """Return the weight of the squared error of each count: ``smoothing`` / count, at most 1."""
    return smoothing / jnp.maximum(counts, smoothing)


def _uniform(bits: UInt32[Array, "*s"]) -> Float[Array, "*s"]:
    """Return one number in [0, 1) from each number of 32 random bits."""
    return (bits >> 8) * jnp.float32(2**-24)


def summed_area(counts: Float[Array, "m m"]) -> Float[Array, "e e"]:
    """Return the summed-area table; on a CPU, this loop takes a tenth of the time of cumsum."""

    def below(sums: Float[Array, " m"], row: Float[Array, " m"]):
        return sums + row, sums + row

    for _ in range(2):
        counts = jax.lax.scan(below, jnp.zeros(len(counts)), counts)[1].T
    return jnp.pad(counts, ((1, 0), (1, 0)))


def table_sums(
    table: Num[Array, "e e"], corner: Float[Array, "*s 2"], size: Float[Array, "*s"]
) -> Float[Array, "*s"]:
    """Return the sum over each square, as ``SummedArea.sums`` does; the region's side is 1.

    Entries of an integer table may be far larger, and are subtracted as integers.
    """
    m = len(table) - 1
    (low, u), (high, v) = (_place(edge, m) for edge in (corner, corner + size[..., None]))
    entry = jnp.stack([low, low + 1, high, high + 1], axis=-1)
    share = jnp.stack([u - 1, -u, 1 - v, v], axis=-1)
    sums = table[entry[..., 0, :, None], entry[..., 1, None, :]]
    # The four shares add up to 0 along each axis, so subtracting the same number from all four
    # entries does not change the result.
    sums = sums - sums[..., :1, :]
    sums = (sums - sums[..., :, :1]).astype(jnp.float32)
    return jnp.einsum("...i,...ij,...j->...", share[..., 0, :], sums, share[..., 1, :])


def _place(at: Float[Array, "*s"], m: int) -> tuple[Int[Array, "*s"], Float[Array, "*s"]]:
    """Return the index of the cell at each coordinate, and the place in the cell, from 0 to 1."""
    t = jnp.clip(at * m, 0, m)
    cell = jnp.minimum(t.astype(jnp.int32), m - 1)
    return cell, t - cell
