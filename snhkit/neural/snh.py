"""Spatial Neural Histograms: collect once, learn, release what was learned."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import N_SHARE, Terms, noisy_grid, publish, sizes, with_n
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.geometry.grid import SummedArea
from snhkit.metrics import smoothing
from snhkit.neural.model import MOST_TILES
from snhkit.neural.networks import Networks
from snhkit.neural.prior import TAUGHT_M, Prior
from snhkit.neural.prior_model import CleanedGrid, PriorModel
from snhkit.release import Release

__all__ = ["SNH"]


@dataclass(frozen=True)
class SNH:
    """Neural networks see one noisy grid and say what the counts behind it may have been.

    Only the noisy grid, and the choice of its cells, look at records; all the rest is
    post-processing and costs no privacy.
    A network that has seen many public cities cleans the grid of noise, as one cleans a dark
    photograph. The paper's own networks, which know this one grid only, can be trained instead,
    or after it.

    Parameters
    ----------
    cell_m : float, "bought" or "auto", optional
        Cell width of the noisy grid in metres. "bought" finds it from n, epsilon and, for up to
        3 % of epsilon, how evenly the records are spread; "auto" takes it from ``ParamSelect``, by
        n, epsilon and the public points, with the paper's labels if there is no prior; None from
        ``default_cell_width``.
    sizes_m : (float, float)
        The paper's l and u: the query sizes that are learned for, in metres.
    prior : Prior or None
        The network that was trained beforehand.
    networks : Networks or None
        Those that are trained on this grid.

    Raises
    ------
    InputError
        If a number is out of its range, or nothing is left that learns.

    Examples
    --------
    >>> SNH(cell_m=30).cell_m
    30
    >>> SNH.paper().networks.network
    MLP(depth=20, width=80)
    >>> SNH(prior=None, networks=Networks(k=4)).networks.k
    4

    Notes
    -----
    Zeighami, Ahuja, Ghinita and Shahabi, "A Neural Database for Differentially Private Spatial
    Range Queries", PVLDB 15, 2022; Sec. 4. For the prior see ``Prior``.
    """

    cell_m: Width = "bought"
    sizes_m: tuple[float, float] = (25.0, 100.0)
    prior: Prior | None = field(default_factory=Prior)
    networks: Networks | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))
        check_width(self.cell_m)
        for name, kind in {"prior": Prior, "networks": Networks}.items():
            given = getattr(self, name)
            if not (given is None or isinstance(given, kind)):
                raise InputError(f"SNH: {name} must be a {kind.__name__} or None, not {given!r}.")
        if self.prior is None and self.networks is None:
            raise InputError("SNH: without prior and networks nothing learns: that is Identity.")

    @classmethod
    def paper(
        cls, cell_m: Width = None, sizes_m: tuple[float, float] = (25.0, 100.0), **changes
    ) -> "SNH":
        """The paper's own settings and no prior; ``changes`` are those of ``Networks.paper``."""
        return cls(cell_m, sizes_m, prior=None, networks=Networks.paper(**changes))

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse query sizes that the region cannot hold, and public data that is not there."""
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
        """Collect (Sec. 4.1), then learn."""
        n, left, bought = with_n(records, terms)
        grid, left, evenness, _ = chosen_grid(
            records,
            left,
            self.cell_m,
            sizes_m=self.sizes_m,
            labels="published" if self.prior is None else "snh",
        )
        noisy, spend = noisy_grid(records, grid, left)
        # From here on nothing knows the records.
        psi, noise = max(smoothing(n), 1.0), 1 / left.record_epsilon
        clean = CleanedGrid(noisy.astype(float), np.zeros(noisy.shape), 0.0)
        if self.prior is not None:
            clean = self.prior.clean(noisy, noise, psi, grid.cell_m, self.sizes_m)
        if self.networks is None:
            known = _adding_up(noisy, n) if not bought or grid.m > 1 / N_SHARE else noisy
            # The wider the boxes, the less they ask for what it was taught.
            lead = (psi + min(psi, noise)) * min(1.0, sum(TAUGHT_M) / sum(self.sizes_m))
            model = PriorModel.of(clean, known, grid.region, noise, lead)
        else:
            parts = Grid(grid.region, len(clean.counts))
            share = (parts.cell_m / np.mean(self.sizes_m)) ** 2
            model = self.networks.learn(
                SummedArea(parts, clean.adding_up(float(share))),
                grid.cell_m,
                self.sizes_m,
                psi,
                noise,
                terms.public,
            )
        return publish(self, terms, (*bought, *evenness, spend), model, n)


def _adding_up(noisy: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """The nearest counts that add up to n: it is public, or has less noise than all cells have."""
    return noisy.astype(float) + (n - int(noisy.sum())) / noisy.size
