"""The paper's fully connected network."""

import dataclasses
import itertools
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from snhkit.checks import positive, whole
from snhkit.errors import InputError

_METRES_A_UNIT = 220.0
_UNBOUND_SPAN = 2.0  # coordinates from -1 to 1
_MOST_SPAN = 1e6


@dataclass(frozen=True)
class MLP:
    """The paper's fully connected network: a sine layer, swish layers, one linear output.

    Parameters
    ----------
    depth : int
        Number of linear layers, including the first (sine) and the last (output). For example,
        a depth of 22 gives 20 swish layers.
    width : int
        The number of units of each hidden layer.
    span : float or None
        The length of the interval, centred at 0, to which coordinates in the region are rescaled.
        None means one unit for each 220 m, so that the frequencies of the sine layer suit streets
        in a region of any size. ``bound`` computes this span; a network that is not bound to a
        region, as that of ``DPSGD``, has a span of 2.

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> MLP(depth=10, width=80).bound(side_m=13_200)
    MLP(depth=10, width=80, span=60.0)

    Notes
    -----
    Zeighami et al. 2022, Sec. 6.1. The authors' code scales coordinates to a span of 10 in a
    region of about 12.4 km and draws weights as He et al. ("Delving deep into rectifiers", ICCV
    2015) do, from a uniform distribution.
    """

    depth: int = 22
    width: int = 80
    span: float | None = None
    name: ClassVar[str] = "mlp"
    has_map: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("depth", self.depth, 2, 100)
        whole("width", self.width, 1, 4096)
        if self.span is not None and positive("span", self.span) > _MOST_SPAN:
            raise InputError(f"span must be at most {_MOST_SPAN:,.0f}, not {self.span!r}.")

    def bound(self, side_m: float) -> "MLP":
        """Return this network with ``span``, if it was None, set for a region ``side_m`` wide."""
        if self.span is not None:
            return self
        return dataclasses.replace(self, span=side_m / _METRES_A_UNIT)

    def init(self, key: Key[Array, ""], inputs: int) -> dict[str, Float[Array, "..."]]:
        """Return He-uniform weights and zero biases for a network with ``inputs`` inputs."""
        ends = [inputs, *[self.width] * (self.depth - 1), 1]
        shapes = list(itertools.pairwise(ends))
        sizes = np.cumsum([rows * columns for rows, columns in shapes])
        # All weights are drawn at once, since each draw takes a second to compile.
        drawn = jnp.split(jax.random.uniform(key, (int(sizes[-1]),), minval=-1), sizes[:-1])
        params = {
            f"w{i}": part.reshape(shape) * jnp.sqrt(6 / shape[0])
            for i, (part, shape) in enumerate(zip(drawn, shapes, strict=True))
        }
        return params | {f"b{i}": jnp.zeros(end) for i, end in enumerate(ends[1:])}

    def apply(
        self, params: dict[str, Float[Array, "..."]], at: Float[Array, "b i"]
    ) -> Float[Array, " b"]:
        """Return the estimated numbers of records in b squares, in units of the output scale."""
        place = (2 * at[:, :2] - 1) * (_UNBOUND_SPAN if self.span is None else self.span) / 2
        told = jnp.concatenate([place, 2 * at[:, 2:] - 1], axis=1)
        h = jnp.sin(told @ params["w0"] + params["b0"][None])
        for i in range(1, self.depth - 1):
            h = jax.nn.swish(h @ params[f"w{i}"] + params[f"b{i}"][None])
        last = self.depth - 1
        return (h @ params[f"w{last}"] + params[f"b{last}"][None])[:, 0]
