"""A release in the forms of other tools: rasters, points, and grids that obey public facts."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import spsolve

from snhkit.districts.districts import Districts, DistrictsLike
from snhkit.errors import InputError
from snhkit.geometry import Grid
from snhkit.geometry.grid import block_starts, block_sums, numbered
from snhkit.models import GridModel

if TYPE_CHECKING:
    import geopandas as gpd
    import xarray

    from snhkit.release.release import Release

_MAX_SIDE = 1_024  # cells per side, where a release has no grid of its own
_FINE = 512  # where counts are adjusted, which may move records within cells
_STEPS = 60
_FANOUT = 4  # blocks per side of a larger one


def grid_of(
    release: "Release", cell_m: float | None = None, most: int = _MAX_SIDE, fine: int = 256
) -> Grid:
    """Return a grid for a picture or a raster: the release's own, if it has one that is small."""
    cells = release.model.cells()
    if cell_m is not None:
        return Grid.of_width(release.region, cell_m)
    if isinstance(cells, Grid) and cells.m <= most:
        return cells
    return Grid(release.region, most if isinstance(cells, Grid) else min(most, fine))


def to_xarray(release: "Release", cell_m: float | None = None) -> "xarray.Dataset":
    """See ``Release.to_xarray``."""
    try:
        import rioxarray  # noqa: F401  (adds ``rio`` to data sets)
        import xarray
    except ImportError:
        raise InputError("rasters need xarray: run pip install 'snhkit[raster]'.") from None
    grid, region = grid_of(release, cell_m), release.region
    found = release.estimate(grid.boxes())
    x = (np.arange(grid.m) + 0.5) * grid.cell_m - region.side_m / 2
    named = {"count": "estimated number of records", "noise_sd": "of the noise in the count"}
    layers = {
        name: (("y", "x"), found[name].to_numpy().reshape(grid.m, grid.m).T[::-1],
               {"long_name": told, "units": "records", "grid_mapping": "spatial_ref"})
        for name, told in named.items() if bool(found[name].notna().to_numpy().all())
    }  # fmt: skip
    axes = {
        "x": ("x", x, {"axis": "X", "standard_name": "projection_x_coordinate", "units": "m"}),
        "y": (
            "y",
            x[::-1],
            {"axis": "Y", "standard_name": "projection_y_coordinate", "units": "m"},
        ),
        "spatial_ref": ((), 0, region.crs.to_cf() | {"crs_wkt": region.crs.to_wkt()}),
    }
    about = {"method": release.method, "privacy": release.card()["Privacy"]}
    return xarray.Dataset(layers, axes, about)


def sample_points(release: "Release", seed: int) -> "gpd.GeoDataFrame":
    """See ``Release.sample_points``."""
    import geopandas as gpd

    model = release.model.additive()
    cells = model.cells()
    boxes = cells.boxes()
    counts = np.maximum(model.answer(boxes), 0)
    many = np.diff(np.rint(np.cumsum(counts)), prepend=0).astype(np.int64)
    cell = np.repeat(np.arange(len(many)), many)
    share = np.random.default_rng(seed).uniform(size=(len(cell), 2))
    xy = np.stack([boxes.x, boxes.y], axis=1)[cell]
    xy += share * np.stack([boxes.width, boxes.height], axis=1)[cell]
    lat, lon = release.region.to_latlon(xy)
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy(lon, lat), crs=4326)
    frame.attrs["about"] = (
        f"Invented points, drawn from a release by {release.method}; no point is a record. "
        f"They carry its promise: {release.card()['Privacy']}."
    )
    return frame


def constrained(
    release: "Release", mask: DistrictsLike | None, totals: "gpd.GeoDataFrame | None"
) -> "Release":
    """See ``Release.constrained``."""
    if mask is None and totals is None:
        raise InputError("constrained: give mask=..., totals=... or both.")
    grid = grid_of(release, fine=_FINE)
    values = release.model.additive().answer(grid.boxes())
    told: dict[str, Any] = {}
    allowed = np.ones(len(values))
    if mask is not None:
        land = Districts.of(mask)
        allowed[np.asarray(_shares(land, grid).sum(axis=0)).ravel() <= 0] = 0
        if not allowed.any():
            raise InputError("constrained: no polygon of mask lies in the region.")
        told["mask"] = f"{len(land):,} public polygons"
    total = values @ allowed if release.n is None else release.n
    found = _settled(values * allowed, allowed, grid.m, max(float(total), 0))
    if totals is not None:
        if "total" not in totals.columns:
            raise InputError("constrained: totals needs a column 'total', the public counts.")
        weights, sums = _shares(Districts.of(totals), grid), totals["total"].to_numpy(float)
        if not (np.isfinite(sums) & (sums >= 0)).all():
            raise InputError("constrained: every total must be a number of at least 0.")
        allowed[np.asarray(weights[sums == 0].sum(axis=0)).ravel() > 0] = 0
        told["totals"] = f"{len(totals):,} public totals"
        found = _nearest(found * allowed, allowed, weights[sums > 0], sums[sums > 0])
    return replace(
        release,
        model=GridModel(grid, found.reshape(grid.m, grid.m)),
        hyperparameters={**release.hyperparameters, "constrained": told},
    )


def _settled(
    values: Float[np.ndarray, " c"], variance: Float[np.ndarray, " c"], m: int, total: float
) -> Float[np.ndarray, " c"]:
    """Return counts of at least 0 that add up to a total, near noisy ones: first those of blocks.

    One projection of all cells would take from crowded places what it cuts off empty ones.
    """
    sums = np.full(1, total)
    sides = [_FANOUT**k for k in range(1, m.bit_length()) if _FANOUT**k < m] + [m]
    values, variance = values.reshape(m, m), variance.reshape(m, m)
    for before, side in zip([1, *sides], sides, strict=False):
        first = block_starts(m, side)
        block = np.searchsorted(block_starts(m, before), first, side="right") - 1
        parent = (block[:, None] * before + block).ravel()
        inside = (np.ones(len(parent)), (parent, np.arange(len(parent))))
        weights = sparse.csr_array(inside, shape=(len(sums), len(parent)))
        had, noise = (block_sums(each, first).ravel() for each in (values, variance))
        sums = _nearest(had, noise, weights, sums)
    return sums


def _nearest(
    values: Float[np.ndarray, " c"], variance: Float[np.ndarray, " c"], weights: Any, sums: NDArray
) -> Float[np.ndarray, " c"]:
    """Return the likeliest counts of at least 0 with these sums, by Newton's method on the dual."""
    weights = weights @ sparse.diags_array((variance > 0).astype(float))
    price = np.zeros(len(sums))
    for _ in range(_STEPS):
        found = np.maximum(values + variance * (weights.T @ price), 0)
        missing = sums - weights @ found
        if (np.abs(missing) <= 1e-9 * np.maximum(sums, 1)).all():
            return found
        active = sparse.diags_array(variance * (found > 0))
        slope = weights @ active @ weights.T + 1e-9 * sparse.eye_array(len(sums))
        step: Any = spsolve(sparse.csc_array(slope), missing)
        price = price + np.atleast_1d(step)
    raise InputError(
        "constrained: the totals contradict each other, or mask leaves no place for some of them."
    )


def _shares(districts: Districts, grid: Grid) -> Any:
    """Return the share of each cell in each district, a sparse array of shape (q, m * m)."""
    owner, boxes, share = districts.inside(grid.region).cover(grid)
    low = np.rint(np.stack([boxes.x, boxes.y]) / grid.cell_m).astype(np.int64)
    long = np.rint(boxes.width / grid.cell_m).astype(np.int64)
    which, nth = numbered(long)  # boxes are runs of cells in one row
    cell = (low[0][which] + nth) * grid.m + low[1][which]
    shape = len(districts), grid.m**2
    return sparse.csr_array((share[which], (owner[which], cell)), shape=shape)
