"""Training squares with their labels: a stored set of them, or ever new ones drawn on the device.

What is drawn is the same for both: ``at``, shape (k, b, i), what a network is told of each square
(its centre in sides of the region, and if i is 3 where its size lies in the network's range, from
0 to 1); labels, shape (k, b), the counts that are to be said, in units of the output scale and as
if the square had the network's own size; and weights, shape (k, b), of the squared errors.
"""

import math
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["Batch", "Scattered", "Stored", "box_sums", "targets"]

Batch = tuple[jax.Array, jax.Array, jax.Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Stored:
    """A set of t squares for each network.

    Parameters
    ----------
    at : Array, shape (k, t, i)
        What networks are told.
    labels, weights : Array, shape (k, t)
        As they are drawn.
    """

    at: jax.Array
    labels: jax.Array
    weights: jax.Array

    def draw(self, key: jax.Array, batch: int) -> Batch:
        """Some of them, or, if ``batch`` is as many, all."""
        k, count = self.labels.shape
        if batch >= count:
            return self.at, self.labels, self.weights
        rows = jax.random.randint(key, (k, batch), 0, count)
        at, labels, weights = (
            jax.vmap(lambda a, i: a[i])(a, rows) for a in (self.at, self.labels, self.weights)
        )
        return at, labels, weights


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Scattered:
    """Squares at any place inside the region, more of them where queries are expected.

    Parameters
    ----------
    table : Array of int32, shape (m + 1, m + 1)
        Sums of the noisy grid over all cells below and left of each corner.
    unit : Array
        Of the table, in units of the output scale.
    own : Array, shape (k,)
        The networks' own sizes, in sides of the region.
    spread : Array
        How far from its own size a network's squares may be, in sides of the region.
    chances : Array of uint32, shape (k, g * g), or None
        What chance is left below and in each cell of the places of squares, out of 2**32; None
        for squares that are uniform.
    worth : Array, shape (k, g * g), or None
        The weight of a square in each cell.
    smoothing : Array
        psi in units of the output scale.
    clip : bool
        Whether negative labels count as 0.
    sized : bool
        Whether networks are told sizes.
    """

    table: jax.Array
    unit: jax.Array
    own: jax.Array
    spread: jax.Array
    chances: jax.Array | None
    worth: jax.Array | None
    smoothing: jax.Array
    clip: bool = field(metadata={"static": True})
    sized: bool = field(metadata={"static": True})

    def draw(self, key: jax.Array, batch: int) -> Batch:
        """New squares."""
        shape = (len(self.own), batch)
        # One call: each takes a second to compile.
        x, y, size_ticket, ticket = jax.random.bits(key, (4, *shape))
        # One ticket of each equal part: from west to east, so that neighbours in memory are read.
        ends = np.arange(batch + 1, dtype=np.uint64) * 2**32 // batch
        ticket = jnp.asarray(ends[:-1], jnp.uint32) + ticket % np.diff(ends).astype(np.uint32)
        weights = jnp.ones(shape)
        if self.chances is not None and self.worth is not None:
            search = jax.vmap(lambda a, v: jnp.searchsorted(a, v, side="right"))
            cell = jnp.minimum(search(self.chances, ticket), self.worth.shape[1] - 1)
            weights = jnp.take_along_axis(self.worth, cell, axis=1)
            g = math.isqrt(self.worth.shape[1])
            place = (jnp.stack([cell // g, cell % g], -1) + _uniform(jnp.stack([x, y], -1))) / g
        else:
            place = _uniform(jnp.stack([ticket, y], axis=-1))
        told = _uniform(size_ticket) if self.sized else jnp.full(shape, 0.5)
        own = self.own[:, None]
        size = own + self.spread * (2 * told - 1)
        corner = place * (1 - size)[..., None]
        labels = box_sums(self.table, corner, size) * self.unit
        labels, weights = targets(labels, weights, size / own, self.smoothing, self.clip)
        at = corner + size[..., None] / 2
        if self.sized:
            at = jnp.concatenate([at, told[..., None]], axis=-1)
        return at, labels, weights


def targets(
    counts: jax.Array,
    weights: jax.Array,
    ratio: jax.Array,
    smoothing: float | jax.Array,
    clip: bool,
) -> tuple[jax.Array, jax.Array]:
    """Labels and weights of squared errors from counts and the workload's weights.

    Errors are relative to a count that is at least ``smoothing``. A square ``ratio`` times as wide
    as the network's own size is labelled with the count in its own size's area, and weighs so that
    its error is still that of its count.
    """
    counts = jnp.maximum(counts, 0) if clip else counts
    area = ratio**2
    return counts / area, weights * smoothing / jnp.maximum(counts, smoothing) * area**2


def box_sums(table: jax.Array, corner: jax.Array, size: jax.Array) -> jax.Array:
    """Sums over squares as ``SummedArea`` gives them, shape (...), in units of an int32 table.

    The entries of the table are far larger than the sum over a small square: they are subtracted
    as whole numbers, before any becomes a 32-bit float.

    Parameters
    ----------
    table : Array of int32, shape (m + 1, m + 1)
        Such that no sum over cells exceeds 2**31.
    corner : Array, shape (..., 2)
        Lower-left corners in sides of the region.
    size : Array, shape (...)
        Sides, in those of the region.
    """
    m = len(table) - 1
    (low, u), (high, v) = (_place(edge, m) for edge in (corner, corner + size[..., None]))
    entry = jnp.stack([low, low + 1, high, high + 1], axis=-1)
    share = jnp.stack([u - 1, -u, 1 - v, v], axis=-1)
    sums = table[entry[..., 0, :, None], entry[..., 1, None, :]]
    # The shares add up to 0 along either axis: what is taken from all four alike is lost on none.
    sums = sums - sums[..., :1, :]
    sums = (sums - sums[..., :, :1]).astype(jnp.float32)
    return jnp.einsum("...i,...ij,...j->...", share[..., 0, :], sums, share[..., 1, :])


def _uniform(bits: jax.Array) -> jax.Array:
    """From 32 random bits to [0, 1)."""
    return (bits >> 8) * jnp.float32(2**-24)


def _place(at: jax.Array, m: int) -> tuple[jax.Array, jax.Array]:
    """Cell and fraction of it below a coordinate."""
    t = jnp.clip(at * m, 0, m)
    cell = jnp.minimum(t.astype(jnp.int32), m - 1)
    return cell, t - cell
