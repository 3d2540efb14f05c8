"""The class ``Release``: a summary of a private dataset that may be published."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snhkit.defaults import DEFAULT_LEVEL
from snhkit.errors import printable
from snhkit.files import write_whole
from snhkit.geometry import Grid, Region
from snhkit.markup import Cell, html_table
from snhkit.models import Model
from snhkit.privacy import PrivacyUnit, Spend, written
from snhkit.privacy.budget import fraction
from snhkit.privacy.scale import inverse_scale
from snhkit.privacy.spend import total
from snhkit.privacy.zcdp import Rho
from snhkit.release import file

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd
    import xarray

    from snhkit.districts.districts import DistrictsLike
    from snhkit.release.estimates import Estimates, Queries

_LARGE_EPSILON = 10
_SHOWN = 128  # cells per side that ``plot`` and ``explore`` show of a release with more


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A differentially private summary of a dataset; using the summary costs no further privacy.

    Parameters
    ----------
    method : str
        Name of the builder.
    hyperparameters : mapping
        Hyperparameters of the builder, as JSON values.
    epsilon : Fraction
        The privacy loss of the release.
    unit : PrivacyUnit
        What the release hides, such as one record, or all records of one person.
    n : int or None
        The number of records: exact if the number is public, noisy if the method measured the
        number, and None if the number is private and the method did not need it.
    replayable : bool
        Whether the noise came from a seed, in which case the release protects nobody.
    spends : tuple of Spend
        The costs of the noisy measurements. They add up to epsilon or, for Gaussian noise, to a
        rho that implies epsilon and delta.
    model : Model
        The model that answers queries.
    versions : mapping
        Versions of the libraries that built the release, by name of the library.
    delta : Fraction
        The delta of the release; 0 for pure epsilon-DP (docs/privacy.md).

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> release = data.release(snh.UniformGrid(), epsilon=0.5)
    >>> release.method, float(release.epsilon), release.n
    ('UniformGrid', 0.5, 1000)

    Notes
    -----
    A release is the paper's theta together with f-hat (Sec. 2.2).
    """

    method: str
    hyperparameters: Mapping[str, Any]
    epsilon: Fraction
    unit: PrivacyUnit
    n: int | None
    replayable: bool
    spends: tuple[Spend, ...]
    model: Model
    versions: Mapping[str, str] = field(default_factory=lambda: dict(_versions()))
    delta: Fraction = Fraction(0)

    @property
    def region(self) -> Region:
        """The region of the release, a public square in which records were counted."""
        return self.model.region

    @property
    def rho(self) -> Fraction:
        """The parameter rho of zCDP for a release with Gaussian noise; 0 for all other releases."""
        return total(self.spends).rho

    @property
    def record_epsilon(self) -> float:
        """The inverse noise scale of a count that costs the whole epsilon (see ``Terms``)."""
        price = Rho(self.rho) if self.rho else self.epsilon
        return inverse_scale(price, self.unit.sensitivity)

    @property
    def price(self) -> str:
        """The epsilon of the release, and its delta if not 0, as text for titles and captions."""
        delta = f", δ = {written(self.delta)}" if self.delta else ""
        return f"ε = {written(self.epsilon)}{delta}"

    def total(self) -> "Release":
        """Return this release; ``StratifiedRelease.total`` returns the sum over its strata."""
        return self

    def answer(self, queries: "Queries") -> NDArray[np.float64]:
        """Return the estimated counts of boxes or polygons, shape (q,): a view of ``estimate``.

        Noise can make a count negative. A polygon's count is the sum of the counts of the cells
        inside it; a cell on the edge contributes the share of its area that is inside. The counts
        of disjoint polygons therefore add up (with ``DPSGD``, only approximately). For ``SNH``, the
        cells are those of ``SNHModel.map``; for ``SNH.paper``, which has no map, the cells are
        ``SNHModel.blocks``.

        Parameters
        ----------
        queries
            The same parameter as that of ``estimate``.

        Raises
        ------
        InputError
            For the reasons in ``estimate``.
        """
        return self._asked(queries).count

    def noise_sd(self, queries: "Queries") -> NDArray[np.float64]:
        """Return the standard deviation of the noise in the answers, in records, shape (q,).

        Records that do not lie evenly inside cells cause a further error, which is not included.
        The part of a query outside the region has no noise. The result is nan where there is no
        formula for the noise, as for networks and the denoised grid; ``interval`` and ``estimate``
        have bounds for these too.

        Parameters
        ----------
        queries
            The same parameter as that of ``estimate``.
        """
        return np.sqrt(self._asked(queries).variance)

    def interval(self, queries: "Queries", level: float = DEFAULT_LEVEL) -> NDArray[np.float64]:
        """Return the columns ``low`` and ``high`` of ``estimate``, shape (q, 2).

        Parameters
        ----------
        queries, level
            The same parameters as those of ``estimate``.

        Examples
        --------
        >>> import snhkit as snh
        >>> records = snh.synthetic_points("milwaukee", n=10_000)
        >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
        >>> release = data.release(snh.UniformGrid(), epsilon=0.5)
        >>> boxes = snh.RangeQueries(data.region, [5_000], [5_000], [2_000], [2_000])
        >>> low, high = release.interval(boxes)[0]
        >>> bool(low < release.answer(boxes)[0] < high)
        True
        """
        return self._asked(queries).bounds(level)

    def estimate(self, queries: "Queries", level: float = DEFAULT_LEVEL) -> "pd.DataFrame":
        """Return the counts of boxes or polygons, with their errors and intervals, as a frame.

        Parameters
        ----------
        queries : RangeQueries, frame, sequence or Districts
            Boxes: ``RangeQueries``, a DataFrame with columns south, west, north, east in degrees,
            or tuples (west, south, east, north) in degrees. Polygons: a GeoDataFrame or GeoSeries
            in any CRS, shapely shapes in degrees, or ``Districts``, which are checked and projected
            once for all releases. Or labels of the districts of ``Tessellation``.
        level : float
            The wanted share of true counts within the intervals, from 0.5 to 0.99.

        Returns
        -------
        DataFrame or GeoDataFrame
            One row for each query: the columns that the queries have, and

            - ``count``, the estimated number of records; noise can make it negative;
            - ``noise_sd``, the standard deviation of the noise in the count, which does not
              include the error of records that lie unevenly inside cells; nan if unknown;
            - ``low`` and ``high``, bounds between which the true count can be expected, not below
              0. For whole cells or districts with noise of a known distribution, they follow from
              it. All else is an estimate from public cities and not a guarantee; docs/evidence.md
              states the share of true counts of other cities that lay within the bounds. The bounds
              are nan if the errors of the method are known neither from theory nor from
              measurements, as for ``DPSGD``;
            - ``area_m2``, the area of the query inside the region in square metres.

            ``frame.attrs["intervals"]`` says in a sentence what the intervals mean.

        Raises
        ------
        InputError
            If the level is out of range, boxes are given in another region, a shape is not a valid
            polygon, no shape reaches the region because latitude and longitude are swapped or the
            CRS is wrong, or the queries have a column with one of these names.

        Warns
        -----
        OutsideWarning
            If a query lies outside the region, so that its count is 0.

        Examples
        --------
        >>> import snhkit as snh
        >>> records = snh.synthetic_points("fargo", 1_000)
        >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
        >>> release = data.release(snh.UniformGrid(), epsilon=1)
        >>> frame = release.estimate([(-96.80, 46.87, -96.78, 46.88)])
        >>> list(frame)[4:]
        ['count', 'noise_sd', 'low', 'high', 'area_m2']
        """
        return self._asked(queries).frame(level)

    def _asked(self, queries: "Queries") -> "Estimates":
        from snhkit.release.estimates import Estimates

        return Estimates.of(self, queries)

    def cells(self, cell_m: float | None = None) -> "gpd.GeoDataFrame":
        """Return the cells and their estimated counts as a GeoDataFrame.

        Parameters
        ----------
        cell_m : float, optional
            Width of square cells in metres; by default the method's own cells are returned.

        Returns
        -------
        GeoDataFrame
            One row for each cell, in degrees (EPSG:4326), with the column ``count``.
        """
        import geopandas as gpd
        import shapely

        cells = self.model.cells() if cell_m is None else Grid.of_width(self.region, cell_m)
        boxes = cells.boxes()
        rings = boxes.corners_in_degrees()[..., ::-1]
        return gpd.GeoDataFrame(
            {"count": self.answer(boxes)}, geometry=shapely.polygons(rings), crs="EPSG:4326"
        )

    def to_xarray(self, cell_m: float | None = None) -> "xarray.Dataset":
        """Return the counts, and where known the spread of their noise, as a raster of the region.

        Parameters
        ----------
        cell_m : float, optional
            Width of the cells in metres; by default the method's own grid, if it has one.

        Returns
        -------
        xarray.Dataset
            ``count`` and ``noise_sd`` with the axes y (from north) and x, in metres of the
            region's projection, which ``spatial_ref`` describes as GDAL and rioxarray expect.
            ``dataset.rio.to_raster("counts.tif")`` writes a GeoTIFF.

        Raises
        ------
        InputError
            If the extra ``raster`` is not installed.
        """
        from snhkit.release.exchange import to_xarray

        return to_xarray(self, cell_m)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the cells and their counts as an Arrow stream with GeoArrow polygons."""
        cells = self.cells().to_arrow(index=False, geometry_encoding="geoarrow")
        return cells.__arrow_c_stream__(requested_schema)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The cells and their counts as a GeoJSON FeatureCollection."""
        return self.cells().__geo_interface__

    def plot(self, **options: Any) -> Any:
        """Plot the counts as ``GeoDataFrame.plot`` does, which takes the options; return the axes.

        A release with many cells is shown in wider ones.
        """
        given: dict[str, Any] = {"column": "count", "legend": True} | options
        return self._shown().plot(**given)

    def explore(self, **options: Any) -> Any:
        """Show the counts as ``GeoDataFrame.explore`` does, which takes the options.

        Its default tiles come from a server, which sees where one looks; ``tiles=None`` avoids
        this. It needs mapclassify, which the extra ``lab`` installs. The result is a folium map.
        ``snhkit.explore`` opens the explorer instead.
        """
        given: dict[str, Any] = {"column": "count"} | options
        return self._shown().explore(**given)

    def _shown(self) -> "gpd.GeoDataFrame":
        from snhkit.release.exchange import grid_of

        cells = self.model.cells()
        many = cells.m**2 if isinstance(cells, Grid) else len(cells)
        return self.cells(grid_of(self, most=_SHOWN).cell_m if many > _SHOWN**2 else None)

    def constrained(
        self,
        *,
        mask: "DistrictsLike | None" = None,
        totals: "gpd.GeoDataFrame | None" = None,
    ) -> "Release":
        """Return a release near this one that obeys public facts, at no cost in privacy.

        Counts are not negative afterwards. Their noise is no longer known from theory. They add up
        to n if n is public or was bought, else to the sum of the counts that the mask leaves.

        Parameters
        ----------
        mask : GeoDataFrame, GeoSeries, path or Districts, optional
            Public polygons, such as land, outside which there are no records. Cells that a polygon
            touches keep a count.
        totals : GeoDataFrame, optional
            Public polygons with a column ``total``, such as a census: the answers to these polygons
            become the totals.

        Raises
        ------
        InputError
            If neither is given, no polygon lies in the region, or the totals cannot hold together.

        Examples
        --------
        >>> import shapely, geopandas as gpd, snhkit as snh
        >>> records = snh.synthetic_points("fargo", 1_000)
        >>> data = snh.PrivateDataset(records, budget=1, unit="record")
        >>> release = data.release(snh.Identity(1_000), epsilon=1)
        >>> west = gpd.GeoSeries([shapely.box(-97, 46, -96.8, 47.5)], crs=4326)
        >>> bool(release.constrained(mask=west).cells()["count"].round(6).min() >= 0)
        True
        """
        from snhkit.release.exchange import constrained

        return constrained(self, mask, totals)

    def sample_points(self, seed: int) -> "gpd.GeoDataFrame":
        """Return invented points, as many as the release counts and uniform in its cells.

        The points are for tools that take points only. No point is a record, and the points carry
        the promise of the release, as ``frame.attrs["about"]`` says.

        Parameters
        ----------
        seed : int
            A public seed; the same seed draws the same points.
        """
        from snhkit.release.exchange import sample_points

        return sample_points(self, seed)

    def description(self) -> dict[str, Any]:
        """Return the fields of a release file's header, as JSON values.

        The arrays of the model are not included.
        """
        return {
            "kind": self.model.kind,
            "method": self.method,
            "hyperparameters": dict(self.hyperparameters),
            "region": self.region.to_dict(),
            "epsilon": str(self.epsilon),
            **({"delta": str(self.delta)} if self.rho else {}),
            "unit": self.unit.to_dict(),
            "n": self.n,
            "replayable": self.replayable,
            "spends": [spend.to_list() for spend in self.spends],
            "settings": self.model.settings(),
            "versions": dict(self.versions),
        }

    @classmethod
    def restore(cls, description: Mapping[str, Any], model: Model) -> "Release":
        """Return the release that the header of a file, which ``check_header`` accepted, describes.

        InputError is raised if the unit of privacy or a spend is invalid.
        """
        spends = tuple(map(Spend.of_list, description["spends"]))
        used, delta = total(spends), description.get("delta", "0")
        return cls(
            method=description["method"],
            hyperparameters=description["hyperparameters"],
            epsilon=fraction("an epsilon", description["epsilon"]),
            unit=PrivacyUnit.restore(description["unit"]),
            n=description["n"],
            replayable=description["replayable"],
            spends=spends,
            model=model,
            versions=description["versions"],
            delta=fraction("a delta", delta) if used.rho else used.delta,
        )

    def to_bytes(self) -> bytes:
        """Return the content of the file that ``save`` writes."""
        return file.encode(self.description(), self.model.arrays())

    @property
    def checksum(self) -> str:
        """The SHA-256 of the file that ``save`` writes, as ``"sha256:"`` and 64 hex digits."""
        return f"sha256:{hashlib.sha256(self.to_bytes()).hexdigest()}"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the release to one safetensors file, which contains no code; return the path."""
        return write_whole(path, self.to_bytes())

    def card(self) -> dict[str, str]:
        """Return the card of the release: method, privacy, cost and more, as text by heading."""
        denoised = self.method == "SNH" and self.hyperparameters.get("prior")
        lines = {
            "Method": self.method + (", trained on a denoised grid" if denoised else ""),
            "Privacy": self.unit.promise(self.epsilon, self.delta, self.rho),
            "Paid for": "; ".join(map(str, self.spends)),
            "Region": (
                f"{self.region.side_m:,.0f} m square around {self.region.lat:.5f}, "
                f"{self.region.lon:.5f}"
            ),
            "Settings": ", ".join(f"{k} = {v}" for k, v in self.hyperparameters.items()),
        } | getattr(self.model, "remarks", dict)()
        if self.epsilon > _LARGE_EPSILON:
            lines["Caution"] = (
                f"epsilon = {written(self.epsilon)} protects almost nothing: a result may be "
                f"e^{written(self.epsilon)} times as probable with a person's record as without "
                "it. Usual values are 0.1 to 1."
            )
        # The warning belongs to the kind of model, so a file cannot leave it out.
        warnings = [getattr(self.model, "warning", "")]
        if self.replayable:
            warnings.append("replayable: the noise came from a seed. For research, not to publish.")
        if any(warnings):
            lines["Warning"] = " ".join(filter(None, warnings))
        return {name: printable(text) for name, text in lines.items()}  # a file may be hostile

    def __repr__(self) -> str:
        return "\n".join(f"{name:9} {text}" for name, text in self.card().items())

    def _repr_html_(self) -> str:
        left = {"style": "text-align:left"}
        rows = [[Cell(name, left), Cell(text, left)] for name, text in self.card().items()]
        return html_table([], rows, caption="Release", kind="snhkit-card")


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("snhkit", "numpy", "jax")}
