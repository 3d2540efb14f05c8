"""Identity: a noisy grid of a given cell width."""

from dataclasses import dataclass

from snhkit.builders.base import publish
from snhkit.builders.width.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.geometry import Region
from snhkit.models.grid_model import GridModel
from snhkit.models.grid_noise import BlockNoise
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

__all__ = ["Identity"]


@dataclass(frozen=True)
class Identity:
    """Noisy counts of a grid of a given cell width, without any further processing.

    Each cell gets independent noise, and the answer for a box is the sum over the cells that it
    covers. Narrow cells resolve streets but add much noise to large boxes; wide cells blur. With a
    well-chosen width the method is accurate for small boxes. The width must follow from public
    knowledge: comparing widths on the private records would reveal something about them.

    Parameters
    ----------
    cell_m : float, "bought", "auto" or None
        The cell width in metres, made a little smaller so that whole cells fill the region.
        "bought" chooses a width for up to 3 % of epsilon, as ``DenoisedGrid`` does; "auto" takes
        the width from ``ParamSelect``; None takes it from ``default_cell_width``.

    Raises
    ------
    InputError
        If ``cell_m`` is none of these.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> records = snh.Points(city, [[1, 1], [2, 2], [99, 99]])
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    >>> release = data.release(snh.Identity(cell_m=30), epsilon=0.5)
    >>> [str(spend) for spend in release.spends]
    ['0.5 for counts of 16 cells, in parallel']

    Notes
    -----
    The Laplace mechanism on a histogram: Dwork, McSherry, Nissim and Smith, "Calibrating noise to
    sensitivity in private data analysis", TCC 2006; the collection step of SNH (Zeighami et al.,
    PVLDB 2022, Sec. 4.1).
    """

    cell_m: Width = None

    def __post_init__(self) -> None:
        check_width(self.cell_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``cell_m`` makes more cells than a grid may have."""
        given_grid(region, self.cell_m)

    def build(self, private: Measurements) -> Release:
        """Return a release of noisy counts of the grid."""
        grid = chosen_grid(private, self.cell_m)
        counts, variance = private.histogram(grid, private.epsilon)
        noise = BlockNoise.independent(grid.m, variance)
        return publish(self, private, GridModel(grid, counts, noise))
