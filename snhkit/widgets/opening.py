"""How an explorer is opened: which records, on what map, with which choices to begin with."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import folium

from snhkit.data import city as find_city
from snhkit.data import read_points
from snhkit.dataset import PrivateDataset
from snhkit.defaults import DEFAULT_METHODS, DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.experiment.methods import method
from snhkit.geometry import Points, Region
from snhkit.privacy import PrivacyUnit
from snhkit.viz.maps.districts import Districts
from snhkit.viz.maps.maps import base_map
from snhkit.widgets.controls import Controls
from snhkit.widgets.explorer import Explorer
from snhkit.widgets.session import Session, owned, synthetic

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

    Frame = gpd.GeoDataFrame | gpd.GeoSeries

__all__ = ["explore"]

_BUDGET = 3.0  # of all methods once at the first epsilon, and a few again


def explore(
    points: "Points | PrivateDataset | pd.DataFrame | str | os.PathLike[str] | None" = None,
    *,
    region: Region | None = None,
    public: Points | None = None,
    budget: float | None = None,
    unit: str = "record",
    max_per_user: int | None = None,
    city: str = "san_francisco",
    n: int = 100_000,
    epsilon: float = 0.2,
    methods: Sequence[str] = DEFAULT_METHODS,
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    districts: "Frame | None" = None,
    label: str | None = None,
    tiles: str | folium.TileLayer | None = None,
    attr: str | None = None,
    height: int = 420,
) -> Explorer:
    """Explore a synthetic city, or your own records, on a map.

    Parameters
    ----------
    points : Points, PrivateDataset, GeoDataFrame, DataFrame or path, optional
        Your records, which then need a ``budget`` here or in the data set; a frame or a file also
        needs a ``region``, and is read by ``read_points``. Their number is taken as private, and
        bought where it is needed; if it may be known, hand over a ``PrivateDataset`` with
        ``n="public"``. Without them the twelve synthetic cities are offered, each with a budget of
        3 unless you say otherwise.
    region : Region, optional
        The declared region of a frame or a file.
    public : Points, optional
        Public points in the same region, for methods that learn from them.
    budget : float, optional
        All the epsilon that may be spent on a data set.
    unit, max_per_user
        The unit of privacy, as for ``PrivateDataset``; it can be changed until the first build.
    city, n
        The synthetic city and the number of its records to begin with.
    epsilon : float
        What a build costs, to begin with.
    methods : sequence of str
        Keys of the methods to begin with.
    sizes_m : (float, float)
        Sides in metres of the boxes that will be asked, for methods that prepare for them.
    districts : GeoDataFrame or GeoSeries, optional
        Polygons in any CRS, some of them in the region: *By district* then colours the maps by
        their counts, and a table lists these. Like the region they are public.
    label : str, optional
        The column that names them; otherwise the frame's index does.
    tiles, attr
        A background from the network, as for ``snhkit.viz.maps.base_map``: its server learns which
        part of the world is looked at. By default the outline alone, and no network.
    height : int
        Of the map, in pixels.

    Raises
    ------
    InputError
        Saying which argument is wrong.

    Examples
    --------
    >>> explorer = explore(city="fargo", n=1_000, methods=["ug"])
    >>> explorer.build()
    >>> explorer.map.boxes = [[46.87, -96.80, 46.88, -96.78]]
    >>> explorer.releases["UG"].answer(explorer.boxes).shape
    (1,)
    """
    for key in methods:
        if extra := method(key).lacks:
            extra.require()
    hidden = PrivacyUnit.of(unit, max_per_user)
    map_of = partial(base_map, tiles=tiles, attr=attr)
    if points is None:
        if public is not None or region is not None:
            raise InputError("explore: public and region go with points; a city has its own.")
        controls = Controls(find_city(city).key, n, hidden, epsilon, methods, sizes_m)
        _refuse_elsewhere(find_city(city).region, districts, label)
        allowed = _BUDGET if budget is None else budget

        def invent(key: str, n: int) -> Session:
            return _with(districts, label, synthetic(key, n, allowed, hidden))

        return Explorer(controls, invent, map_of, height)
    if not isinstance(points, (Points, PrivateDataset)):
        if region is None:
            raise InputError("explore: say region=..., the declared square that is explored.")
        points = read_points(points, region)
    elif region is not None:
        raise InputError("explore: the points have a region already; leave out region.")
    session = owned(points, public, budget, hidden)
    _refuse_elsewhere(session.region, districts, label)
    session = _with(districts, label, session)
    controls = Controls(None, n, session.dataset.unit, epsilon, methods, sizes_m)
    return Explorer(controls, lambda city, n: session, map_of, height)


def _refuse_elsewhere(region: Region, districts: "Frame | None", label: str | None) -> None:
    if districts is None:
        if label is not None:
            raise InputError("explore: label names a column of districts; say districts=...")
        return
    if not hasattr(districts, "to_crs"):
        raise InputError(
            "explore: districts must be a GeoDataFrame, as geopandas.read_file gives it, "
            f"not a {type(districts).__name__}."
        )
    if not Districts.of(region, districts, label).area_m2.any():
        raise InputError(f"explore: none of the districts lies in the region, {region}.")


def _with(districts: "Frame | None", label: str | None, session: Session) -> Session:
    """The session with its districts; without, if none lies in another city."""
    if districts is None:
        return session
    try:
        found = Districts.of(session.region, districts, label)
    except InputError:  # their CRS shows the first city, but not this one
        return session
    return replace(session, districts=found) if found.area_m2.any() else session
