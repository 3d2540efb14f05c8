"""Tessellation: one noisy count for each of the districts that the user declares."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from snhkit.builders.base import publish
from snhkit.districts.districts import Districts, DistrictsLike
from snhkit.geometry import Region
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

if TYPE_CHECKING:
    from snhkit.release.polygon_model import PolygonPartition


@dataclass(frozen=True, repr=False)
class Tessellation:
    """Noisy counts of declared, disjoint districts, one count for each district.

    This method suits a table of counts by ward, census block or H3 cell, if no other queries are
    expected. Each district is measured directly, so its count has the least noise that a count
    can have. All counts together cost epsilon once, since every record is in one district only.
    Other boxes and polygons are answered by area, as if records were spread evenly inside each
    district. If such queries are expected, the districts should not be much larger than the
    queries.

    A record on a border belongs to the first of the districts that meet there, in the given
    order. The records outside all districts get one more noisy count, which the release's card
    shows. Only the part of a district inside the region is counted.

    Parameters
    ----------
    districts : GeoDataFrame, GeoSeries, path or Districts
        Public polygons that do not overlap, in any coordinate reference system. They must not
        have been drawn after looking at the records. The builder keeps an immutable copy of
        the polygons.
    label : str, optional
        The column that holds the districts' names. By default, the index of ``districts`` is
        used.

    Attributes
    ----------
    districts : Districts
        The declared polygons.

    Raises
    ------
    InputError
        If ``districts`` is empty or has no coordinate reference system, if two districts have the
        same label, or if a shape is not a valid polygon. At a release, also if two districts
        overlap, or no district lies in the region; then no epsilon is spent.

    See Also
    --------
    snhkit.districts.read_districts : Districts from a file.

    Examples
    --------
    >>> import geopandas as gpd, shapely, snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> halves = [shapely.box(-96.9, 46.8, -96.8, 47), shapely.box(-96.8, 46.8, -96.7, 47)]
    >>> wards = gpd.GeoDataFrame({"ward": ["west", "east"]}, geometry=halves, crs=4326)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.Tessellation(wards, label="ward"), epsilon=1)
    >>> release.answer(wards).shape, release.noise_sd(wards).round(2)
    ((2,), array([1.36, 1.36]))

    Notes
    -----
    The Laplace mechanism on a histogram whose cells are the districts (Dwork et al. 2006). In a
    comparison of methods, there is no short name for this method, because its districts must be
    given: add the builder to ``Plan.builders`` under a title of your choice.
    """

    districts: Districts

    def __init__(self, districts: DistrictsLike, *, label: Hashable | None = None) -> None:
        kept = Districts.of(districts, label)
        kept.refuse_repeated()
        object.__setattr__(self, "districts", kept)

    def __repr__(self) -> str:
        return f"Tessellation({self.districts!r})"

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if districts overlap, or none lies in the region."""
        _partition(region, self.districts)

    def build(self, private: Measurements) -> Release:
        """Return a release of noisy counts of the districts, which cost all of epsilon."""
        from snhkit.release.polygon_model import PolygonModel

        partition = _partition(private.region, self.districts)
        counts, variance = private.histogram(partition, private.epsilon)
        model = PolygonModel(partition, counts, variance)
        # The districts themselves are in the model, whose arrays a file holds.
        return publish(self, private, model, districts=len(self.districts))


@lru_cache(maxsize=4)
def _partition(region: Region, districts: Districts) -> "PolygonPartition":
    """Return districts cut to a region, after a check that they are disjoint; a few are cached."""
    from snhkit.release.polygon_model import PolygonPartition

    return PolygonPartition.of(region, districts)
