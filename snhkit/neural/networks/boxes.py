"""Summed-area tables, and sums over squares from them, computed by JAX."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num

__all__ = ["summed_area", "table_sums"]


def summed_area(counts: Float[Array, "m m"]) -> Float[Array, "e e"]:
    """Return the summed-area table of m by m cells, shape (m + 1, m + 1).

    On a CPU, adding rows in a loop takes a tenth of the time of ``jnp.cumsum``.
    """

    def below(sums: Float[Array, " m"], row: Float[Array, " m"]):
        return sums + row, sums + row

    for _ in range(2):
        counts = jax.lax.scan(below, jnp.zeros(len(counts)), counts)[1].T
    return jnp.pad(counts, ((1, 0), (1, 0)))


def table_sums(
    table: Num[Array, "e e"], corner: Float[Array, "*s 2"], size: Float[Array, "*s"]
) -> Float[Array, "*s"]:
    """Return the sum over each square, in units of ``table``, as ``SummedArea.sums`` does.

    The entries of an integer table may be far larger than the sum over a small square. Entries are
    therefore subtracted as integers before the result is converted to a 32-bit float.

    Parameters
    ----------
    table : Array, shape (m + 1, m + 1)
        For each corner of the m by m cells, the sum over all cells below and left of the corner.
        The entries are floats, or integers such that no sum over cells exceeds 2**31.
    corner : Array, shape (..., 2)
        Lower-left corners of the squares; the region's side is 1.
    size : Array, shape (...)
        Sides of the squares; the region's side is 1.
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
