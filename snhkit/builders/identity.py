"""Identity: noisy counts of a grid of a given cell width."""

from dataclasses import dataclass
from typing import ClassVar

from snhkit.builders.base import publish
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.geometry import Region
from snhkit.models.grid_model import GridModel
from snhkit.models.variance import BlockNoise
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release


@dataclass(frozen=True)
class Identity:
    """Noisy counts of a grid of a given cell width, without any further processing.

    Each cell gets independent noise, and the answer for a box is the sum over the cells in the
    box. Narrow cells resolve streets, but large boxes then sum the noise of many cells. Wide
    cells blur the positions of records. With a well-chosen width, the method is accurate for small
    boxes. A width given in metres must follow from public knowledge: if the width were
    chosen by comparing widths on the private records, the choice would reveal information about
    them.

    Parameters
    ----------
    cell_m : float, "auto" or None
        The cell width in metres, made a little smaller so that whole cells fill the region.
        With None, up to 3 % of epsilon is spent on choosing a width that suits the records. With
        "auto", ``ParamSelect`` predicts the width from n, epsilon and the public points that
        ``PrivateDataset.release`` gets, which costs nothing.

    Raises
    ------
    InputError
        If ``cell_m`` is not one of these values.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> records = snh.Points(city, [[1, 1], [2, 2], [99, 99]])
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.Identity(cell_m=30), epsilon=0.5)
    >>> [str(spend) for spend in release.spends]
    ['0.5 for counts of 16 cells, in parallel']

    Notes
    -----
    The Laplace mechanism on a histogram: Dwork, McSherry, Nissim and Smith, "Calibrating noise to
    sensitivity in private data analysis", TCC 2006. SNH collects its counts in the same way
    (Zeighami et al., PVLDB 2022, Sec. 4.1).
    """

    cell_m: Width = None
    gaussian: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width(self.cell_m)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``cell_m`` makes more cells than a grid may have."""
        given_grid(region, self.cell_m)

    def build(self, private: Measurements) -> Release:
        """Return a release of noisy counts of the grid."""
        grid = chosen_grid(private, self.cell_m)
        counts, variance = private.histogram(grid, private.left)
        noise = BlockNoise.independent(grid.m, variance)
        return publish(self, private, GridModel(grid, counts, noise))
