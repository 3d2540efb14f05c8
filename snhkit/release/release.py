"""The class ``Release``: a summary of a private dataset that may be published."""

import hashlib
import html
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

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.geometry.queries import warn_outside
from snhkit.models import Model
from snhkit.privacy import PrivacyUnit, Spend, total, written
from snhkit.privacy.budget import fraction
from snhkit.privacy.scale import inverse_scale
from snhkit.privacy.zcdp import Rho
from snhkit.release import file
from snhkit.release.card_lines import card_lines

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["Release"]


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

    def answer(
        self, queries: "RangeQueries | gpd.GeoDataFrame | gpd.GeoSeries"
    ) -> NDArray[np.float64]:
        """Return the estimated counts of boxes or polygons, shape (q,).

        Noise can make a count negative. A polygon's count is the sum of the counts of the cells
        inside it; a cell on the edge contributes the share of its area that is inside. The counts
        of disjoint polygons therefore add up (with ``DPSGD``, only approximately). For ``SNH``, the
        cells are those of ``SNHModel.map``; for ``SNH.paper``, which has no map, the cells are
        ``SNHModel.blocks``.

        Parameters
        ----------
        queries : RangeQueries, GeoDataFrame or GeoSeries
            Boxes, or polygons in any CRS.

        Raises
        ------
        InputError
            If the boxes are given in another region, a shape is not a valid polygon, or no shape
            reaches the region because latitude and longitude are swapped or the CRS is wrong.

        Warns
        -----
        OutsideWarning
            If a polygon lies outside the region, so that its count is 0.
        """
        if not isinstance(queries, RangeQueries):
            from snhkit.release.polygon_model import PolygonModel
            from snhkit.release.polygons import cover
            from snhkit.release.shapes import outside, polygons_in

            parts, shapes = self.model.additive(), polygons_in(self.region, queries)
            warn_outside(self.region, outside(self.region, shapes), "shapes")
            if isinstance(parts, PolygonModel):
                return parts.answer_shapes(shapes)
            owner, boxes, share = cover(parts.cells(), shapes)
            return _summed(owner, share * parts.answer(boxes), len(queries))
        return self.model.answer(self._mine("answer", queries))

    def standard_error(
        self, queries: "RangeQueries | gpd.GeoDataFrame | gpd.GeoSeries"
    ) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in the answers, in records, shape (q,).

        Records that do not lie evenly inside cells cause a further error, which is not included.
        The part of a query outside the region has no noise.

        Parameters
        ----------
        queries : RangeQueries, GeoDataFrame or GeoSeries
            Boxes, or polygons as ``answer`` takes them.

        Returns
        -------
        ndarray
            Standard deviations; nan where there is no formula for them, as for networks.

        Raises
        ------
        InputError
            If the boxes are given in another region, or a shape is not a valid polygon.
        """
        if not isinstance(queries, RangeQueries):
            from snhkit.release.polygon_model import PolygonModel
            from snhkit.release.polygon_noise import polygon_variance
            from snhkit.release.shapes import polygons_in

            parts, shapes = self.model.additive(), polygons_in(self.region, queries)
            if isinstance(parts, PolygonModel):
                return np.sqrt(parts.shapes_variance(shapes))
            return np.sqrt(polygon_variance(parts, shapes))
        return np.sqrt(self.model.noise_variance(self._mine("standard_error", queries)))

    def interval(
        self, queries: "RangeQueries | gpd.GeoDataFrame | gpd.GeoSeries", level: float = 0.9
    ) -> NDArray[np.float64]:
        """Return bounds between which the true counts can be expected to lie, shape (q, 2).

        The bounds allow for the noise, for records that do not lie evenly inside cells, and for the
        errors of networks. The noise is known from theory where ``standard_error`` is not nan. All
        else is an estimate from public cities and not a guarantee; docs/evidence.md states the
        share of true counts of other cities that lay within the bounds.

        Parameters
        ----------
        queries : RangeQueries, GeoDataFrame or GeoSeries
            Boxes, or polygons as ``answer`` takes them.
        level : float
            The wanted share of true counts within the bounds, from 0.5 to 0.99.

        Returns
        -------
        ndarray
            Lower and upper bounds in records, not below 0; nan if the errors of the method are
            known neither from theory nor from measurements on public cities, as for ``DPSGD``.

        Raises
        ------
        InputError
            If the level is out of range, the boxes are given in another region, or a shape is not
            a valid polygon.

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
        from snhkit.release.intervals import asked, bounds

        return bounds(self.method, asked(self, queries), level)

    def _mine(self, what: str, queries: RangeQueries) -> RangeQueries:
        if queries.region != self.region:
            raise InputError(
                f"{what}: the boxes must have the region of the release, {self.region}, "
                f"not {queries.region}."
            )
        return queries

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
        """Return the release that the header of a file describes.

        Parameters
        ----------
        description : mapping
            JSON values as ``description`` returns them, which ``check_header`` has accepted.
        model : Model
            The model that answers.

        Returns
        -------
        Release
            The release.

        Raises
        ------
        InputError
            If the unit of privacy or a spend is invalid.
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
        return card_lines(self)

    def __repr__(self) -> str:
        return "\n".join(f"{name:9} {text}" for name, text in self.card().items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row' style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.card().items()
        )
        return f"<table class='snhkit-card'><caption>Release</caption><tbody>{rows}</tbody></table>"


def _summed(owner: NDArray, values: NDArray, count: int) -> NDArray[np.float64]:
    return np.bincount(owner, values, count).astype(np.float64)


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("snhkit", "numpy", "jax")}
