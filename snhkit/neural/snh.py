"""Spatial Neural Histograms: collect one noisy grid, train networks on it, release the networks."""

from dataclasses import dataclass, field

from snhkit.builders.base import Terms, noisy_grid, publish, sizes, with_n
from snhkit.builders.width.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region, SummedArea
from snhkit.metrics import smoothing
from snhkit.neural.denoiser.levels import bought_levels, coarse_share
from snhkit.neural.denoiser.prior import Prior
from snhkit.neural.networks.model import MOST_TILES
from snhkit.neural.networks.networks import Networks
from snhkit.release import Release

__all__ = ["SNH"]


@dataclass(frozen=True)
class SNH:
    """Networks, one for each of k query sizes, trained on one noisy grid of counts.

    Only the noisy grid, and the choice of its cells, look at records. The training squares are cut
    out of the noisy grid, so training is post-processing and costs no privacy.

    Parameters
    ----------
    cell_m : float, "bought" or "auto", optional
        Cell width of the noisy grid in metres. None takes the width from ``default_cell_width``;
        "auto" takes it from ``ParamSelect``, by n, epsilon and the public points; "bought" finds it
        from n, epsilon and, for up to 3 % of epsilon, how evenly the records are spread.
    sizes_m : (float, float)
        The paper's l and u: the smallest and the largest query size to learn, in metres.
    networks : Networks
        The networks and their training.
    prior : Prior or None
        A network that was trained beforehand on public cities. With a prior, the networks are
        trained on the grid that it denoised, which the paper's method does not do.

    Raises
    ------
    InputError
        If a number is out of its range, or a part is of another type.

    Examples
    --------
    >>> SNH(cell_m=30).networks.k
    8
    >>> SNH.paper().networks.network
    MLP(depth=20, width=80)

    Notes
    -----
    Zeighami, Ahuja, Ghinita and Shahabi, "A Neural Database for Differentially Private Spatial
    Range Queries", PVLDB 15, 2022; Sec. 4. The default networks are an encoder that trains in
    under a minute on two cores; ``SNH.paper`` has the paper's fully connected ones.
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
        cls, cell_m: Width = None, sizes_m: tuple[float, float] = DEFAULT_SIZES_M, **changes
    ) -> "SNH":
        """Return SNH with the paper's fully connected network and training; slow without a GPU.

        Parameters
        ----------
        cell_m, sizes_m
            As those of ``SNH``.
        **changes
            Other values for the parameters of ``Networks.paper``.
        """
        return cls(cell_m, sizes_m, networks=Networks.paper(**changes))

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if the region cannot hold the query sizes, or ``public`` is empty."""
        low, high = self.sizes_m
        if high >= region.side_m or low < region.side_m / MOST_TILES:
            raise InputError(
                f"SNH: squares of {low:g} to {high:g} m do not suit a region of "
                f"{region.side_m:g} m; smaller ones, but at least a {MOST_TILES:,}th of it, do."
            )
        given_grid(region, self.cell_m)
        if terms.public is not None and not len(terms.public):
            raise InputError("SNH: public holds no points in this region; leave it out.")

    def build(self, records: Points, terms: Terms) -> Release:
        """Collect the noisy grid (Sec. 4.1), then augment and train (Sec. 4.2)."""
        n, left, bought = with_n(records, terms)
        share, labels = 0.0, "published"
        if self.prior is not None:
            share, labels = coarse_share(n, left.record_epsilon, self.sizes_m), "denoised"
        grid, left, evenness, _ = chosen_grid(
            records, left, self.cell_m, 1 - share, self.sizes_m, labels
        )
        psi, noise = max(smoothing(n), 1.0), 1 / left.record_epsilon
        if self.prior is None:
            noisy, spend = noisy_grid(records, grid, left)
            learned_from, spends = SummedArea(grid, noisy.astype(float)), (spend,)
        else:
            levels, spends = bought_levels(records, grid, left, share)
            noise = levels.noise
            values = self.prior.clean(levels, psi, self.sizes_m, n)
            learned_from = SummedArea(Grid(grid.region, len(values)), values)
        # From here on, nothing looks at the records.
        model = self.networks.learn(
            learned_from, grid.cell_m, self.sizes_m, psi, noise, terms.public
        )
        return publish(self, terms, (*bought, *evenness, *spends), model, n)
