"""The default network of SNH: sums over a learned map of cells, corrected by a small network."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from snhkit.checks import whole
from snhkit.errors import InputError

_MOST_LEVELS = 16


@dataclass(frozen=True)
class FeatureGrid:
    """A network that corrects the sum of learned counts of cells over a square.

    A fully connected network needs very many training steps before its answers for neighbouring
    streets differ. Here the answer for a square is the sum of a learned map of cells over exactly
    that square, as for a grid, multiplied by 1 plus a correction. One hidden layer computes the
    correction from features at the square's centre. The k networks share the map, whose cells are
    those of the noisy grid; each network has its own features and hidden layer.

    Parameters
    ----------
    levels : tuple of int
        The number of intervals along a side of each feature grid, a grid at whose corners features
        are stored. Between the corners, features are interpolated.
    features : int
        The number of features at each corner.
    hidden : int
        The number of units of the hidden layer.

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> FeatureGrid(levels=(8, 32)).features
    2

    Notes
    -----
    The features are those of Mueller et al., "Instant neural graphics primitives", SIGGRAPH 2022,
    but stored in full grids instead of hash tables.
    """

    levels: tuple[int, ...] = (32,)
    features: int = 2
    hidden: int = 16
    name: ClassVar[str] = "feature-grid"
    has_map: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not 1 <= len(self.levels) <= _MOST_LEVELS:
            raise InputError(
                f"levels must have 1 to {_MOST_LEVELS} entries, one for each feature grid, not "
                f"{len(self.levels)}."
            )
        for level in self.levels:
            whole("levels", level, 1, 4096)
        whole("features", self.features, 1, 64)
        whole("hidden", self.hidden, 1, 4096)

    def bound(self, side_m: float) -> "FeatureGrid":
        """Return this network, no setting of which depends on the region."""
        return self

    def init(self, key: Key[Array, ""], inputs: int) -> dict[str, Float[Array, "..."]]:
        """Return initial parameters of one network, with which all corrections are 0."""
        width = self.features * len(self.levels) + inputs - 2
        keys = iter(jax.random.split(key, len(self.levels) + 2))
        params = {
            f"grid{i}": 0.01 * jax.random.normal(next(keys), ((level + 1) ** 2, self.features))
            for i, level in enumerate(self.levels)
        }
        bound = jnp.sqrt(6 / width)
        return params | {
            "w0": bound * jax.random.uniform(next(keys), (width, self.hidden), minval=-1),
            "b0": jnp.zeros(self.hidden),
            "w1": jnp.zeros((self.hidden, 1)),
        }

    def apply(
        self, params: dict[str, Float[Array, "..."]], at: Float[Array, "b i"]
    ) -> Float[Array, " b"]:
        """Return the relative corrections of squares, shape (b,).

        The sum of the map over a square is multiplied by 1 plus the square's correction.
        """
        place, size = at[:, :2], at[:, 2:]
        parts = [
            _interpolated(params[f"grid{i}"], level, place) for i, level in enumerate(self.levels)
        ]
        told = jnp.concatenate([*parts, 2 * size - 1], axis=1)
        h = jax.nn.swish(told @ params["w0"] + params["b0"][None])
        return (h @ params["w1"])[:, 0]


def _interpolated(
    table: Float[Array, "v f"], level: int, at: Float[Array, "b 2"]
) -> Float[Array, "b f"]:
    """Return features at positions, from the corners of a grid of ``level`` intervals a side."""
    t = jnp.clip(at * level, 0, level)
    cell = jnp.minimum(t.astype(jnp.int32), level - 1)
    u, v = jnp.split(t - cell, 2, axis=1)
    first = cell[:, 0] * (level + 1) + cell[:, 1]
    low = table[first] * (1 - v) + table[first + 1] * v
    high = table[first + level + 1] * (1 - v) + table[first + level + 2] * v
    return low * (1 - u) + high * u
