"""The function ``explore``, which opens the explorer on synthetic cities or on given records."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import folium
import pandas as pd

from snhkit.builder import Builder
from snhkit.checks import positive, two_numbers, whole
from snhkit.data import city as find_city
from snhkit.data import read_points
from snhkit.data.sources.opening import people_column
from snhkit.dataset import PrivateDataset
from snhkit.defaults import (
    DEFAULT_EPSILON,
    DEFAULT_METHODS,
    DEFAULT_OWN_METHODS,
    DEFAULT_SIZES_M,
)
from snhkit.districts.districts import Districts, DistrictsLike
from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.methods import method, name_of
from snhkit.privacy import Epsilon, PrivacyUnit, exact
from snhkit.viz.maps.maps import base_map
from snhkit.widgets.controls import Controls
from snhkit.widgets.explorer import Explorer
from snhkit.widgets.session import Session, owned, synthetic


def explore(
    points: Points | PrivateDataset | pd.DataFrame | str | os.PathLike[str] | None = None,
    *,
    region: Region | None = None,
    public: Points | str | os.PathLike[str] | None = None,
    budget: Epsilon | None = None,
    unit: str | None = None,
    max_per_user: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    title: str | None = None,
    city: str = "san_francisco",
    n: int = 100_000,
    epsilon: float = DEFAULT_EPSILON,
    methods: Sequence[str | Builder] | None = None,
    sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
    districts: DistrictsLike | None = None,
    label: str | None = None,
    tiles: str | os.PathLike[str] | folium.TileLayer | None = None,
    attr: str | None = None,
    height: int | None = 720,
) -> Explorer:
    """Return a notebook widget that builds and shows releases of synthetic or your own records.

    Parameters
    ----------
    points : Points, PrivateDataset, GeoDataFrame, DataFrame or path, optional
        Your records. Points, frames and files need a ``budget``; frames and files also need a
        ``region``, and are read by ``read_points``. The number of records is then private, and
        methods that need this number spend a part of epsilon on a noisy number. To declare the
        number public, pass a ``PrivateDataset`` with ``n_public=True``. Without ``points``, twelve
        synthetic cities are offered, each with a budget that holds every method once.
    region : Region, optional
        The declared region of a frame or a file.
    public : Points or path, optional
        Public points in the same region, for methods that use them.
    budget : float, optional
        The total epsilon that may be spent on a dataset.
    unit : "record" or "user", optional
        The unit of privacy, as for ``PrivateDataset``; by default "record", but a frame or file
        with a column that looks like people is refused until the unit is given. In the explorer,
        the unit can be changed until the first build. It is fixed for a ``PrivateDataset``, for a
        ``ledger`` in a file, and for records without user ids.
    max_per_user : int, optional
        With the unit "user", the number of records that are kept of each user.
    ledger : str or path, optional
        A file that stores what is spent on your records, as for ``PrivateDataset``. The next call
        with this file continues with the budget that is left, so ``budget`` is needed at the first
        call only. Without a file, each call starts with the full budget.
    title : str, optional
        Name of your records on screen and in files that are saved.
    city : str
        Key of the synthetic city that is shown first.
    n : int
        Number of records of the synthetic city.
    epsilon : float
        The epsilon of each release that is built. A slider in the widget changes this value.
    methods : sequence of str, optional
        Short names of the methods that are ticked initially; others can be ticked later. By
        default, the default methods of ``snhkit compare`` are ticked for a synthetic city. For your
        own records, only the denoised grid is ticked, because each build costs a part of the
        budget.
    sizes_m : (float, float)
        Smallest and largest side, in metres, of the boxes that will be counted. Some methods
        prepare their releases for boxes of these sizes.
    districts : GeoDataFrame, GeoSeries, path or Districts, optional
        Public polygons in any CRS, at least one of them in the region. The tick box *By district*
        colours the maps by the counts of the polygons, and a table lists these counts.
    label : str, optional
        The column with the districts' names; by default, the index values are the names.
    tiles, attr : str, path or folium.TileLayer, optional
        A background, as for ``snhkit.viz.maps.base_map``: a local MBTiles file, or a tile server,
        which sees where one looks. By default, the map has only coarse borders and names, and
        nothing is requested.
    height : int or None
        Height of the explorer in pixels; None for the height of the window.

    Returns
    -------
    Explorer
        A widget; its attributes ``releases``, ``boxes`` and ``dataset`` can be used in code.

    Raises
    ------
    InputError
        If an argument cannot be used; the message names the argument.

    Examples
    --------
    >>> explorer = explore(city="fargo", n=1_000, methods=["ug"])
    >>> explorer.build()
    >>> explorer.map.boxes = [[46.87, -96.80, 46.88, -96.78]]
    >>> explorer.releases["UG, ε = 0.2"].answer(explorer.boxes).shape
    (1,)
    """
    tells = methods is None and districts is None  # else a person knows what to build
    if methods is None:
        methods = DEFAULT_METHODS if points is None else DEFAULT_OWN_METHODS
    if isinstance(methods, Sequence) and not isinstance(methods, str):
        methods = [name_of(one) for one in methods]
    _refuse_mistakes(points=points, region=region, public=public, methods=methods, sizes_m=sizes_m)
    if districts is not None:
        districts = Districts.of(districts, label)
    elif label is not None:
        raise InputError("explore: label names a column of districts; give districts=... too.")
    n = whole("n", n, 1)
    height = None if height is None else whole("height", height, 100)
    epsilon = float(exact(epsilon))
    hidden = PrivacyUnit(unit or "record", max_per_user)
    map_of = partial(base_map, tiles=tiles, attr=attr)
    if points is None:
        for name, given in (("public", public), ("region", region), ("ledger", ledger)):
            if given is not None:
                raise InputError(
                    f"explore: {name} is for your own points; leave it out for a synthetic city."
                )
        controls = Controls(find_city(city).key, n, hidden, epsilon, methods, sizes_m)
        _refuse_other_region(find_city(city).region, districts)

        def invent(key: str, n: int) -> Session:
            return _with(districts, synthetic(key, n, budget, hidden))

        return Explorer(controls, invent, map_of, height, opens_files=True, tells=tells)
    if not isinstance(points, (Points, PrivateDataset)):
        if region is None:
            raise InputError(
                "explore: give region=..., the declared square of the records, such as "
                "snh.Region.around(lat, lon, side_m)."
            )
        found = people_column(points) if unit is None else None
        if found is not None:
            raise InputError(
                f"explore: the column {found!r} looks like people, who may appear more than once: "
                "give unit='user' and max_per_user=..., or unit='record' if each record is of "
                "another person. Nothing was read."
            )
        points = read_points(points, region)
    elif region is not None:
        raise InputError("explore: the points have a region already; leave out region.")
    if public is not None and not isinstance(public, Points):
        public = read_points(public, points.region)
    session = owned(points, public, budget, hidden, ledger)
    session = session if title is None else replace(session, title=title)
    _refuse_other_region(session.region, districts)
    session = _with(districts, session)
    controls = Controls(None, n, session.dataset.unit, epsilon, methods, sizes_m)
    return Explorer(controls, lambda city, n: session, map_of, height)


def _refuse_mistakes(*, points: Any, region: Any, public: Any, methods: Any, sizes_m: Any) -> None:
    """Raise InputError for arguments of the wrong type, before any record is read."""
    if isinstance(points, Region):
        raise InputError(
            "explore: the first argument must be records, not a Region; pass the region as "
            "region=...."
        )
    if region is not None and not isinstance(region, Region):
        raise InputError(
            f"explore: region must be a Region, such as snh.Region.around(lat, lon, side_m), "
            f"not {region!r}."
        )
    if public is not None and not isinstance(public, (Points, str, os.PathLike)):
        raise InputError(
            "explore: public must be Points, as snh.read_points returns them, or a path, not an "
            f"object of type {type(public).__name__}."
        )
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise InputError(f"explore: methods must be a list of short names, not {methods!r}.")
    for key in methods:
        if extra := method(key).lacks:
            extra.require()
    low, high = two_numbers("explore: sizes_m", sizes_m)
    if positive("sizes_m[0]", low, "metres") > positive("sizes_m[1]", high, "metres"):
        raise InputError(f"explore: sizes_m must be (smallest, largest), not {sizes_m!r}.")


def _refuse_other_region(region: Region, districts: Districts | None) -> None:
    if districts is not None and not districts.inside(region).area_m2.any():
        raise InputError(
            f"explore: none of the districts lies in the region, {region}; give districts of this "
            "region, or leave districts out."
        )


def _with(districts: Districts | None, session: Session) -> Session:
    """Return the session with districts; unchanged if no district lies in its region."""
    if districts is None:
        return session
    try:
        found = districts.inside(session.region)
    except InputError:  # the districts' CRS may not cover this city
        return session
    return replace(session, districts=found) if found.area_m2.any() else session
