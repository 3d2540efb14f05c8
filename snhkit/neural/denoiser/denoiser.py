"""The convolutional network of ``Prior``, which maps noisy counts to denoised counts."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

Weights = dict[str, dict[str, Float[Array, "..."]]]

SPLIT = 2
"""The number of output cells along each side of an input cell."""

ABOUT = 8
"""The number of inputs that describe a whole grid. In order:

- four logarithms: of psi / noise scale, where psi is a thousandth of the number of records; of cell
  width / 40 m; of mean box side / cell width; and of the noise scale in records;
- the result of ``peaks``;
- for small blocks, and then for large blocks, the logarithm of the noise of a block's estimated sum
  divided by the noise of the sum of the block's cells;
- the logarithm of the side of a small block / 10 cells.
"""

PLANES = 5
"""The number of inputs of each cell. In order: the cell's noisy count; the estimated sum over the
small block that holds the cell, divided by the standard deviation of its noise; the same sum,
divided by the number of cells of the block; and the same two values for the large block."""

OPINIONS = 3
"""The number of further outputs for each cell, besides its counts (see ``reconciled``)."""

_CHANNELS = (48, 64, 80)  # at 1/2, 1/4 and 1/8 of the resolution
_DEPTHS = (1, 2, 3)  # convolution blocks at each resolution, on the way down and on the way up
_WINDOWS = (3, 7, 15)  # cells per side of the windows of local means
# A denoised count is a weighted mean of the noisy count, three local means, two block means and 0.
# These are the initial logits of the weights.
_FAVOURED = np.array([0, 1, 1, 0, -5, -5, 0], np.float32)
_CHOICES = len(_FAVOURED)
_FOLD = 2  # side of the squares of cells that are processed as one cell
_HIDDEN = 32  # the number of features computed from the inputs that describe a grid
_STANDS_OUT = 6.0  # noise scales above which a count is no longer plausible noise
_PEAKS = (np.exp(-5), 1.0)  # bounds on the share of records in peaks
_BEND = 0.1  # in noise scales; max(count, 0) is smoothed for counts up to about this size
_FINER = 8.0  # block means are multiplied by this factor, since they are small numbers


def start(key: Key[Array, ""]) -> Weights:
    """Return random initial weights (He et al., ICCV 2015), which give nearly a local mean."""
    keys = iter(jax.random.split(key, 32))

    def layer(inputs: int, outputs: int, side: int = 3, gain: float = 1.0):
        spread = gain * np.sqrt(2 / (side * side * inputs))
        kernel = spread * jax.random.normal(next(keys), (side, side, inputs, outputs))
        return {"w": kernel, "b": jnp.zeros(outputs)}

    planes = _FOLD**2 * (2 * (1 + len(_WINDOWS)) + PLANES - 1) + ABOUT
    weights = {"in": layer(planes, _CHANNELS[0])}
    blocks: list[str] = []
    for i, width in enumerate(_CHANNELS):
        ways = "d"
        if i + 1 < len(_CHANNELS):
            weights[f"down{i}"] = layer(width, _CHANNELS[i + 1], side=2)
            weights[f"up{i}"] = layer(_CHANNELS[i + 1], width, side=1)
            ways = "du"
        for name in (f"{way}{i}_{j}" for way in ways for j in range(_DEPTHS[i])):
            weights[name] = layer(width, width, gain=0.5)
            blocks.append(name)
    outputs = _FOLD**2 * (_CHOICES + 1 + OPINIONS + SPLIT**2)
    weights["out"] = layer(_CHANNELS[0], outputs, gain=0.1)
    told = 0.5 * jax.random.normal(next(keys), (ABOUT, _HIDDEN))
    weights["told"] = {"w": told, "b": jnp.zeros(_HIDDEN)}
    for name in (*blocks, "out"):
        width = len(weights[name]["b"]) * (1 if name == "out" else 2)
        weights[f"film_{name}"] = {"w": jnp.zeros((_HIDDEN, width)), "b": jnp.zeros(width)}
    return weights


def denoise(
    weights: Weights, planes: Float[Array, "b m m 5"], about: Float[Array, "b 8"]
) -> tuple[Float[Array, "b 2*m 2*m"], Float[Array, "b m m 3"]]:
    """Return denoised counts on a grid twice as fine, and three further outputs for each cell.

    A count is a weighted mean (of the noisy count, local means, means over the cell's blocks, and
    0) plus a positive term, divided among four quarters; a U-shaped network computes all weights.
    Units are noise scales; m is a multiple of 8, and cells outside the region are 0.
    """
    noisy = planes[..., 0]
    means, seen = [], [jnp.clip(noisy, -24, 24) / 8, jnp.arcsinh(noisy)]
    for side in _WINDOWS:
        mean, root = _local_mean(noisy, side)
        means.append(mean)
        seen += [jnp.arcsinh(mean * root), jnp.arcsinh(mean)]
    for sure, mean in ((1, 2), (3, 4)):
        seen += [jnp.arcsinh(planes[..., sure]), jnp.arcsinh(_FINER * planes[..., mean])]
        means.append(planes[..., mean])
    h = _folded(jnp.stack(seen, -1))
    flat = jnp.broadcast_to(about[:, None, None, :], (*h.shape[:3], ABOUT))
    h = jax.nn.gelu(_conv(weights["in"], jnp.concatenate([h, flat], -1)))
    told = jax.nn.gelu(_dense(weights["told"], about))
    last, kept = len(_CHANNELS) - 1, []
    for i in range(last + 1):
        h = _blocks(weights, "d", i, h, told)
        if i < last:
            kept.append(h)
            h = jax.nn.gelu(_conv(weights[f"down{i}"], h, stride=2))
    for i in reversed(range(last)):
        h = _conv(weights[f"up{i}"], h)
        h = jnp.repeat(jnp.repeat(h, 2, axis=1), 2, axis=2) + kept[i]
        h = _blocks(weights, "u", i, h, told)
    shift = _dense(weights["film_out"], told)[:, None, None, :]
    out = _unfolded(_conv(weights["out"], h) + shift, _FOLD)
    choice = jax.nn.softmax(out[..., :_CHOICES] + _FAVOURED[None, None, None], -1)
    mixed = sum(choice[..., i] * a for i, a in enumerate([noisy, *means]))
    cell = (mixed + jnp.sqrt(mixed**2 + _BEND**2)) / 2 + jax.nn.softplus(out[..., _CHOICES] - 4)
    opinion, quarters = out[..., _CHOICES + 1 : -(SPLIT**2)], out[..., -(SPLIT**2) :]
    counts = cell[..., None] * jax.nn.softmax(quarters, -1)
    return _unfolded(counts, SPLIT)[..., 0], opinion


def peaks(noisy: Num[np.ndarray, "*s"], psi: float) -> float:
    """Return the logarithm, from -5 to 0, of the share of records in cells that stand out.

    Counts and ``psi``, a thousandth of the number of records, are in noise scales.
    """
    by_chance = noisy.size * np.exp(-_STANDS_OUT) / 2
    above = np.maximum(noisy - _STANDS_OUT, 0).sum() - by_chance
    return float(np.log(np.clip(above / (1000 * psi), *_PEAKS)))


def _blocks(
    weights: Weights, way: str, level: int, h: Float[Array, "b r r c"], told: Float[Array, "b t"]
) -> Float[Array, "b r r c"]:
    """Return features after residual convolutions at a level, scaled and shifted by ``told``."""
    for name in (f"{way}{level}_{j}" for j in range(_DEPTHS[level])):
        film = _dense(weights[f"film_{name}"], told)[:, None, None, :]
        scale, shift = jnp.split(film, 2, axis=-1)
        h = h + jax.nn.gelu(_conv(weights[name], h) * (1 + scale) + shift)
    return h


def _dense(layer: dict[str, Float[Array, "..."]], h: Float[Array, "b i"]) -> Float[Array, "b o"]:
    """Return the output of a fully connected layer."""
    return h @ layer["w"] + layer["b"][None]


def _conv(
    layer: dict[str, Float[Array, "..."]], h: Float[Array, "b r r i"], stride: int = 1
) -> Float[Array, "b s s o"]:
    """Return the output of a convolutional layer, with zeros beyond the borders."""
    order = ("NHWC", "HWIO", "NHWC")
    strides = (stride, stride)
    return (
        jax.lax.conv_general_dilated(h, layer["w"], strides, "SAME", dimension_numbers=order)
        + layer["b"][None, None, None]
    )


def _local_mean(
    noisy: Float[Array, "b m m"], side: int
) -> tuple[Float[Array, "b m m"], Float[np.ndarray, "1 m m"]]:
    """Return means over windows of ``side`` cells, clipped at borders, and roots of sizes."""
    m, half = noisy.shape[1], side // 2
    at = np.arange(m)
    cells = np.minimum(at + half, m - 1) - np.maximum(at - half, 0) + 1
    cells = np.outer(cells, cells).astype(np.float32)[None]
    sums = noisy
    for axis in (1, 2):
        around = [(0, 0)] * 3
        around[axis] = (half + 1, half)
        upto = jnp.cumsum(jnp.pad(sums, around), axis)
        high = jax.lax.slice_in_dim(upto, side, m + side, axis=axis)
        sums = high - jax.lax.slice_in_dim(upto, 0, m, axis=axis)
    return sums / cells, np.sqrt(cells)


def _folded(h: Float[Array, "b m m c"]) -> Float[Array, "b s s d"]:
    """Return the grid with each square of 2 by 2 cells as one, for faster convolutions."""
    b, m, _, c = h.shape
    h = h.reshape(b, m // _FOLD, _FOLD, m // _FOLD, _FOLD, c).transpose(0, 1, 3, 2, 4, 5)
    return h.reshape(b, m // _FOLD, m // _FOLD, _FOLD**2 * c)


def _unfolded(h: Float[Array, "b m m c"], side: int) -> Float[Array, "b s s d"]:
    """Return the grid with each cell, and its channels, divided into ``side`` by ``side`` cells."""
    b, m, _, c = h.shape
    h = h.reshape(b, m, m, side, side, c // side**2).transpose(0, 1, 3, 2, 4, 5)
    return h.reshape(b, m * side, m * side, c // side**2)
