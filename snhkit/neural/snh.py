"""Spatial Neural Histograms: collect one noisy grid, train networks on it, release the networks.

With a prior, the networks are trained on a denoised grid instead.
"""

from dataclasses import dataclass, field

from snhkit.builders.base import MAX_CELLS_PER_SIDE, publish, sizes
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.builders.jax_ready import require_jax
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Region, SummedArea
from snhkit.metrics import smoothing
from snhkit.neural.denoiser.levels import bought_levels, coarse_share
from snhkit.neural.denoiser.prior import Prior
from snhkit.neural.networks.model import MOST_TILES
from snhkit.neural.networks.networks import Networks
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

# The most cells per side of the map that the networks share, which are those of the noisy grid.
_MOST_MAP_CELLS = 2_048
_MOST_SQUARES = 2**26


@dataclass(frozen=True)
class SNH:
    """Neural networks, one for each of k query sizes, trained on one noisy grid of counts.

    Only the noisy grid and the choice of its cell width use the private records. The networks are
    trained on sums over squares of the noisy grid, so training is post-processing and costs no
    privacy.

    Parameters
    ----------
    cell_m : float, "auto" or None
        The cell width of the noisy grid in metres. With None, the width is chosen from n, epsilon
        and a noisy measurement of how evenly the records are spread, which costs up to 3 % of
        epsilon. With "auto", ``ParamSelect`` predicts the width from n, epsilon and public points,
        which costs nothing. The default networks allow at most 2,048 cells along a side of the
        region.
    sizes_m : (float, float)
        The smallest and the largest query size to learn, as sides of squares in metres: the paper's
        l and u.
    networks : Networks
        The settings of the networks and of their training.
    prior : Prior or None
        A network that was trained beforehand on public cities. If given, this network denoises the
        noisy grid, and the networks are trained on the denoised grid; the paper's method does not
        do this.

    Raises
    ------
    InputError
        If a number is out of its range, or ``networks`` or ``prior`` has another type.

    Examples
    --------
    >>> SNH(cell_m=30).networks.k
    8
    >>> SNH.paper().networks.network
    MLP(depth=22, width=80, span=None)

    Notes
    -----
    Zeighami, Ahuja, Ghinita and Shahabi, "A Neural Database for Differentially Private Spatial
    Range Queries", PVLDB 15, 2022; Sec. 4. The default networks, of type ``FeatureGrid``, train in
    under a minute on two cores; ``SNH.paper`` has the paper's fully connected networks.
    """

    cell_m: Width = None
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    networks: Networks = field(default_factory=Networks)
    prior: Prior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))
        check_width(self.cell_m)
        if not isinstance(self.networks, Networks):
            raise InputError(f"SNH: networks must be a Networks, not {self.networks!r}.")
        if not (self.prior is None or isinstance(self.prior, Prior)):
            raise InputError(f"SNH: prior must be a Prior or None, not {self.prior!r}.")

    @classmethod
    def paper(
        cls, cell_m: Width = "auto", sizes_m: tuple[float, float] = DEFAULT_SIZES_M, **changes
    ) -> "SNH":
        """Return SNH with the paper's fully connected network and training; slow without a GPU.

        ``changes`` are other values for the parameters of ``Networks.paper``.
        """
        return cls(cell_m, sizes_m, networks=Networks.paper(**changes))

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``sizes_m`` or ``cell_m`` does not fit the region.

        The same error is raised if there would be too many training squares, if there are public
        points, but none in the region, or if JAX cannot compute.
        """
        low, high = self.sizes_m
        if high >= region.side_m or low < region.side_m / MOST_TILES:
            raise InputError(
                f"SNH: sizes_m must be at least {region.side_m / MOST_TILES:g} m and less than "
                f"{region.side_m:g} m, the side of the region, not {low:g} to {high:g} m."
            )
        grid, networks = given_grid(region, self.cell_m, self._most_cells), self.networks
        if grid and networks.positions == "aligned" and networks.k * grid.m**2 > _MOST_SQUARES:
            raise InputError(
                f"SNH: {networks.k} networks and {grid.m:,} x {grid.m:,} cells make more than "
                f"{_MOST_SQUARES:,} training squares; give a larger cell_m, or "
                "networks=Networks(positions='scattered')."
            )
        if terms.public is not None and not len(terms.public):
            raise InputError("SNH: public has no points in this region; leave public out.")
        require_jax("SNH")

    @property
    def _most_cells(self) -> int:
        return _MOST_MAP_CELLS if self.networks.network.has_map else MAX_CELLS_PER_SIDE

    def build(self, private: Measurements) -> Release:
        """Return a release whose networks are trained on a noisy grid (paper, Sec. 4.1 and 4.2)."""
        n = private.number()
        coarse, labels = 0.0, "snh" if self.networks.network.has_map else "published"
        if self.prior is not None:
            coarse, labels = coarse_share(n, private.record_epsilon, self.sizes_m), "denoised"
        grid = chosen_grid(
            private, self.cell_m, 1 - coarse, self.sizes_m, labels, most_cells=self._most_cells
        )
        psi, noise_scale = max(smoothing(n), 1.0), 1 / private.record_epsilon
        if self.prior is None:
            counts = private.histogram(grid, private.epsilon).values
            learned_from = SummedArea(grid, counts.astype(float))
        else:
            levels = bought_levels(private, grid, coarse)
            noise_scale = 0.0  # denoised counts are treated as free of noise
            values = self.prior.clean(levels, psi, self.sizes_m, n)
            learned_from = SummedArea(Grid(grid.region, len(values)), values)
        # The records are not used from here on.
        model = self.networks.learn(learned_from, self.sizes_m, psi, noise_scale, private.public)
        return publish(self, private, model)
