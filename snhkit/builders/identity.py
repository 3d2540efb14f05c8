"""Identity: one grid of a given cell width."""

from dataclasses import dataclass

from snhkit.builders.base import Terms, noisy_grid, publish
from snhkit.builders.width.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.geometry import Points, Region
from snhkit.models.grid_model import GridModel
from snhkit.models.grid_noise import BlockNoise
from snhkit.privacy import noise_variance
from snhkit.release import Release

__all__ = ["Identity"]


@dataclass(frozen=True)
class Identity:
    """Noisy counts of a grid of a given cell width, published as they are.

    Every cell gets its own noise, and a box adds up the cells it covers. Narrow cells follow the
    streets but pile up noise in large boxes; wide ones blur. With a well-chosen width it is hard
    to beat for small boxes, so the width must come from public knowledge, not from trying.

    Parameters
    ----------
    cell_m : float, "bought" or "auto", optional
        Cell width in metres, made a little smaller so that whole cells fill the region; "bought"
        finds the width for up to 3 % of epsilon, as ``DenoisedGrid`` does, "auto" takes the width
        from ``ParamSelect``, None from ``default_cell_width``.

    Notes
    -----
    The Laplace mechanism on a histogram (Sec. 4.1 of the paper; Dwork et al. 2006).
    """

    cell_m: Width = None

    def __post_init__(self) -> None:
        check_width(self.cell_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse more cells than fit in memory."""
        given_grid(region, self.cell_m)

    def build(self, records: Points, terms: Terms) -> Release:
        """Count and add noise."""
        grid, left, bought, n = chosen_grid(records, terms, self.cell_m)
        noisy, spend = noisy_grid(records, grid, left)
        variance = noise_variance(spend.epsilon, left.unit.sensitivity)
        model = GridModel(grid, noisy, BlockNoise.independent(grid.m, variance))
        return publish(self, terms, (*bought, spend), model, n)
