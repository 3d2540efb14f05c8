"""The denoised grid: noisy counts, denoised by a network that was trained on public cities."""

from dataclasses import dataclass, field
from fractions import Fraction

from snhkit.builders.base import publish, refuse_wide, sizes
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.builders.jax_ready import require_jax
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.geometry import By, Region
from snhkit.metrics import smoothing
from snhkit.models import PackedGridModel
from snhkit.neural.denoiser.levels import (
    WIDER,
    bought_levels,
    checked_share,
    coarse_share,
)
from snhkit.neural.denoiser.prior import Prior
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

_POOL = Fraction(2, 5)  # python benchmarks/strata.py --tables pool


@dataclass(frozen=True)
class DenoisedGrid:
    """One grid of counts, denoised by a network that was trained on public cities.

    Only three steps use the private records: the choice of the cell width if it is bought, the
    noisy counts of cells, and the noisy counts of small and large blocks of cells. Where the noisy
    counts of blocks are small, cells are counted in groups, as in an adaptive grid. The network was
    trained beforehand on other cities, so denoising is post-processing and costs no privacy. The
    release holds one grid of non-negative counts, which add up to the number of records. The answer
    for a box is the sum of the counts inside the box.

    Parameters
    ----------
    cell_m : float, "auto" or None
        The cell width of the noisy grid in metres. With None, the width is chosen from n,
        epsilon and a noisy measurement of how evenly the records are spread, which costs up to 3 %
        of epsilon. With "auto", ``ParamSelect`` predicts the width from n, epsilon and the public
        points that ``PrivateDataset.release`` gets.
    sizes_m : (float, float)
        The sides of the smallest and the largest boxes that the release is prepared for, in metres.
        Boxes of other sizes are answered less accurately.
    coarse : float, optional
        The share of epsilon, at least 0 and less than 1, that is spent on counts of blocks about
        400 m and 1.2 km wide. A larger share makes answers for large boxes more accurate, and
        answers for small boxes less accurate. With None, ``coarse_share`` computes the share from n
        and epsilon.
    prior : Prior
        The network that was trained beforehand.
    pool : float, optional
        The share of epsilon, at least 0 and less than 1, that a release by strata spends on a map
        of all strata. The maps of the strata are drawn to its pattern, and add up to it. With None,
        the share is 0.4 for at least seven strata by time, and 0 for others, such as kinds, whose
        patterns may differ. Strata that leave records out share no map.

    Raises
    ------
    InputError
        If a number is out of its range, or ``prior`` is not a ``Prior``.

    Examples
    --------
    >>> DenoisedGrid(cell_m=30).cell_m
    30
    >>> DenoisedGrid(coarse=0.1).prior.turns
    2

    Notes
    -----
    This is not the method of Zeighami et al. (see ``SNH``). The noisy grid is the one in Sec. 4.1
    of their paper, but the network is snhkit's own (docs/denoiser.md).
    """

    cell_m: Width = None
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M
    coarse: float | None = None
    prior: Prior = field(default_factory=Prior)
    pool: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes_m", sizes(self.sizes_m))
        check_width(self.cell_m)
        for name in ("coarse", "pool"):
            if (share := getattr(self, name)) is not None:
                checked_share(name, share)
        if not isinstance(self.prior, Prior):
            raise InputError(f"DenoisedGrid: prior must be a Prior, not {self.prior!r}.")

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``sizes_m`` or ``cell_m`` does not fit the region.

        The same error is raised if there are public points, but none in the region, or if JAX
        cannot compute.
        """
        refuse_wide("DenoisedGrid", self.sizes_m[1], region, narrower=True)
        given_grid(region, self.cell_m)
        if terms.public is not None and not len(terms.public):
            raise InputError("DenoisedGrid: public has no points in this region; leave public out.")
        require_jax("DenoisedGrid")

    def pool_share(self, by: By) -> Fraction:
        """Return the share of epsilon for a map of all strata in a release by strata."""
        if self.pool is None:
            return _POOL if by.alike else Fraction(0)
        return Fraction(str(self.pool))

    def build(self, private: Measurements) -> Release:
        """Return a release whose model is a grid of denoised counts."""
        n = private.number()
        share = self.coarse
        if share is None:
            share = coarse_share(n, private.record_epsilon, self.sizes_m)
        grid = chosen_grid(
            private,
            self.cell_m,
            1 - share,
            self.sizes_m,
            labels="denoised",
            wider=WIDER,
        )
        levels = bought_levels(private, grid, share)
        # The records are not used from here on.
        values = self.prior.clean(levels, max(smoothing(n), 1.0), self.sizes_m, n)
        model = PackedGridModel.of(grid.region, values, levels.noise_scale, n)
        return publish(self, private, model)
