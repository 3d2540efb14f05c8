"""Identity: one grid of a given cell width."""

from dataclasses import dataclass

from snhkit.builders.base import Terms, noisy_grid, positive, publish
from snhkit.builders.grid_model import GridModel
from snhkit.geometry import Grid, Points, Region
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
    cell_m : float
        Cell width in metres; made a little smaller so that whole cells fill the region.

    Notes
    -----
    The Laplace mechanism on a histogram (Sec. 4.1 of the paper; Dwork et al. 2006).
    """

    cell_m: float

    def __post_init__(self) -> None:
        positive("cell_m", self.cell_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse more cells than fit in memory."""
        Grid.of_width(region, self.cell_m)

    def build(self, records: Points, terms: Terms) -> Release:
        """Count and add noise."""
        grid = Grid.of_width(records.region, self.cell_m)
        noisy, spend = noisy_grid(records, grid, terms)
        return publish(self, terms, (spend,), GridModel(grid, noisy))
