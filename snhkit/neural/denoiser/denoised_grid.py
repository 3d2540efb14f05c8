"""Denoised grid: collect one noisy grid, clean it with a network trained on public cities."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import N_SHARE, Terms, noisy_grid, publish, sizes, with_n
from snhkit.builders.width.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.metrics import smoothing
from snhkit.neural.denoiser.prior import TAUGHT_M, Prior
from snhkit.neural.denoiser.prior_model import PriorModel
from snhkit.release import Release

__all__ = ["DenoisedGrid"]


@dataclass(frozen=True)
class DenoisedGrid:
    """One noisy grid of counts, cleaned by a network that was trained on public cities.

    Only the noisy grid, and the choice of its cells, look at records; the network was trained
    beforehand, on other cities, so cleaning is post-processing and costs no privacy.

    Parameters
    ----------
    cell_m : float, "bought" or "auto", optional
        Cell width of the noisy grid in metres. "bought" finds it from n, epsilon and, for up to
        3 % of epsilon, how evenly the records are spread; "auto" takes it from ``ParamSelect``, by
        n, epsilon and the public points; None from ``default_cell_width``.
    sizes_m : (float, float)
        Sides of the smallest and the largest boxes to prepare for, in metres.
    prior : Prior
        The network that was trained beforehand.

    Raises
    ------
    InputError
        If a number is out of its range, or ``prior`` is not a ``Prior``.

    Examples
    --------
    >>> DenoisedGrid(cell_m=30).cell_m
    30

    Notes
    -----
    Not the paper's method: the noisy grid is that of its Sec. 4.1, the network is ours
    (docs/prior.md).
    """

    cell_m: Width = "bought"
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    prior: Prior = field(default_factory=Prior)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))
        check_width(self.cell_m)
        if not isinstance(self.prior, Prior):
            raise InputError(f"DenoisedGrid: prior must be a Prior, not {self.prior!r}.")

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if the region cannot hold the boxes, or the cells would be too many."""
        if self.sizes_m[1] >= region.side_m:
            raise InputError(
                f"DenoisedGrid: boxes of {self.sizes_m[1]:g} m do not fit into a region of "
                f"{region.side_m:g} m; smaller ones do."
            )
        given_grid(region, self.cell_m)
        if terms.public is not None and not len(terms.public):
            raise InputError("DenoisedGrid: public holds no points in this region; leave it out.")

    def build(self, records: Points, terms: Terms) -> Release:
        """Count, add noise, and clean."""
        n, left, bought = with_n(records, terms)
        grid, left, evenness, _ = chosen_grid(
            records, left, self.cell_m, sizes_m=self.sizes_m, labels="denoised"
        )
        noisy, spend = noisy_grid(records, grid, left)
        # From here on, nothing looks at the records.
        psi, noise = max(smoothing(n), 1.0), 1 / left.record_epsilon
        clean = self.prior.clean(noisy, noise, psi, grid.cell_m, self.sizes_m)
        known = _adding_up(noisy, n) if not bought or grid.m > 1 / N_SHARE else noisy
        # The wider the boxes, the less they ask for what the network was taught.
        lead = (psi + min(psi, noise)) * min(1.0, sum(TAUGHT_M) / sum(self.sizes_m))
        model = PriorModel.of(clean, known, grid.region, noise, lead)
        return publish(self, terms, (*bought, *evenness, spend), model, n)


def _adding_up(noisy: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return the nearest counts that add up to n, which has less noise than all cells together."""
    return noisy.astype(float) + (n - int(noisy.sum())) / noisy.size
