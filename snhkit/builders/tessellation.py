"""Tessellation: districts known in advance, counted as they are."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from snhkit.builders.base import publish
from snhkit.data.polygons import PolygonFrame, Polygons
from snhkit.geometry import Region
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

if TYPE_CHECKING:
    from snhkit.release.polygon_partition import PolygonPartition

__all__ = ["Tessellation"]


@dataclass(frozen=True, repr=False)
class Tessellation:
    """One noisy count for each of declared, disjoint districts.

    Where the table to publish is by ward, census block or H3 cell, and nothing else will be
    asked, each district gets a count of its own: the least noise that a count can have. All
    counts together cost epsilon once, since every record is in one district only. Other boxes
    and polygons are answered by area, as if records were spread evenly inside each district, so
    a district should not be much larger than the boxes that will be asked.

    A record on a border belongs to the first district, by order, that the border bounds. Records
    outside all districts are one more noisy count, which the release's card tells. A district
    that reaches out of the region is counted inside the region only.

    Parameters
    ----------
    districts : GeoDataFrame, GeoSeries or Polygons
        Declared, public polygons in any coordinate reference system that do not overlap. They
        must not have been drawn after looking at the records. The builder keeps the polygons as
        a value that cannot change, and not the frame.
    label : str, optional
        Column of the districts' names; the frame's index by default.

    Attributes
    ----------
    districts : Polygons
        The declared polygons.

    Raises
    ------
    InputError
        If the frame has no rows or no CRS, names a label twice, or holds a shape that is not a
        valid polygon; when records are released also if two districts overlap, or none lies in
        the region. Nothing is spent then.

    See Also
    --------
    snhkit.data.polygons.read_polygons : Districts from a file.

    Examples
    --------
    >>> import geopandas as gpd, shapely, snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> halves = [shapely.box(-96.9, 46.8, -96.8, 47), shapely.box(-96.8, 46.8, -96.7, 47)]
    >>> wards = gpd.GeoDataFrame({"ward": ["west", "east"]}, geometry=halves, crs=4326)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    >>> release = data.release(snh.Tessellation(wards, label="ward"), epsilon=1)
    >>> release.answer(wards).shape, release.standard_error(wards).round(2)
    ((2,), array([1.36, 1.36]))

    Notes
    -----
    The Laplace mechanism on a histogram whose cells are the districts (Dwork et al. 2006). In a
    comparison a tessellation takes part by a title of its own, in ``Plan.builders``: no short
    name can stand for it, since districts are needed.
    """

    districts: Polygons

    def __init__(self, districts: Polygons | PolygonFrame, *, label: str | None = None) -> None:
        kept = districts if isinstance(districts, Polygons) else Polygons.of(districts, label)
        object.__setattr__(self, "districts", kept)

    def __repr__(self) -> str:
        return f"Tessellation({self.districts!r})"

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if districts overlap, or none lies in the region."""
        _partition(region, self.districts)

    def build(self, private: Measurements) -> Release:
        """Count the records of each district and add noise, for all of epsilon."""
        from snhkit.release.polygon_model import PolygonModel

        partition = _partition(private.region, self.districts)
        counts, variance = private.histogram(partition, private.epsilon)
        model = PolygonModel(partition, counts, variance)
        # The districts themselves are in the model, whose arrays a file holds.
        return publish(self, private, model, districts=len(self.districts))


@lru_cache(maxsize=4)
def _partition(region: Region, districts: Polygons) -> "PolygonPartition":
    """Return the districts cut to a region, proven to be disjoint; the last few are kept."""
    from snhkit.release.polygon_partition import PolygonPartition

    return PolygonPartition.of(region, districts)
