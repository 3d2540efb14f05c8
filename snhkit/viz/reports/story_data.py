"""The data of the story of epsilon: an invented city, and its releases by each method."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snhkit.data import city as city_of
from snhkit.data import synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.experiment.evaluation import anywhere, bands_in
from snhkit.geometry import Asked, Grid, Points, RangeQueries, Region
from snhkit.methods import METHODS
from snhkit.metrics import SIZE_BANDS_M, band_name
from snhkit.progress import steps
from snhkit.viz.figures.style import method_styles
from snhkit.viz.maps.surface import ColourScale, Surface
from snhkit.viz.reports.counts import Counts, ground
from snhkit.viz.reports.rendering import packed

STOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""The values of epsilon that the slider steps through."""

_METHODS = ("ug", "privtree", "snh", "denoised")
_N = 100_000
_SIZES_M = (25.0, 100.0)
_MOST_CELLS = 1_600  # along a side of a release in the page, so that all of them fit into 3 MB
_UNITS = 4  # units in one noise scale
_BUSY, _BLOCK_M = 300, 100.0  # the busiest squares of the city, and their side
_BOXES = 2_000
_WINDOW_M = 4_000.0


@dataclass(frozen=True, eq=False, repr=False)
class _City:
    """Invented records in whole metres, and the boxes on which releases are measured."""

    title: str
    records: Points
    public: Points
    asked: dict[str, Asked]
    busy: NDArray[np.int64]

    @classmethod
    def called(cls, key: str, n: int) -> "_City":
        place = city_of(key)
        made = synthetic_points(place, n)
        records = Points(place.region, np.floor(made.xy))  # whole metres are small in a page
        rng = np.random.default_rng(0)
        bands = {band: _squares(records, rng, band) for band in bands_in(place.region)}
        asked = {band_name(band): Asked.of(records, boxes) for band, boxes in bands.items()}
        asked["anywhere"] = Asked.of(records, anywhere(bands[SIZE_BANDS_M[0]]))
        busy = _busiest(Grid.of_width(place.region, _BLOCK_M).count(records).counts.ravel())
        public = synthetic_points(place, world="public")
        return cls(place.name, records, public, asked, busy)

    @property
    def region(self) -> Region:
        return self.records.region


def _squares(records: Points, rng: np.random.Generator, band: tuple[float, float]) -> RangeQueries:
    """Return squares around records with sides in a band, all in whole metres."""
    centre = records.xy[rng.integers(len(records), size=_BOXES)]
    side = np.rint(rng.uniform(*band, size=_BOXES))
    x, y = np.floor(centre - side[:, None] / 2).T
    return RangeQueries(records.region, x, y, side, side)


def _busiest(counts: NDArray) -> NDArray[np.int64]:
    return np.argsort(-counts, kind="stable")[:_BUSY]


def make_story(key: str) -> bytes:
    """Return an invented city, and a seeded release of it by each method at each epsilon."""
    here, layers = _City.called(key, _N), []
    orders = [(key, epsilon) for key in _METHODS for epsilon in STOPS]
    with steps(len(orders), "releases of the story") as advance:
        for seed, (key, epsilon) in enumerate(orders):
            layers.append(_layer(here, key, epsilon, seed))
            advance()
    return _told(here, _METHODS, layers)


def _layer(here: _City, key: str, epsilon: float, seed: int) -> Counts:
    """Return the counts of one replayable release, as a page shows them."""
    data = PrivateDataset(here.records, epsilon, unit="record", n_public=False)
    release = data.release(
        METHODS[key].builder(_SIZES_M), epsilon=epsilon, public=here.public, seed=seed
    )
    counts = Counts.of(release.model)
    if counts is not None and not counts.snapped:
        return counts
    return Counts.rounded(release.model, _MOST_CELLS, 1 / (_UNITS * float(release.epsilon)))


def _told(here: _City, methods: tuple[str, ...], layers: list[Counts]) -> bytes:
    """Return the data of a story from its releases."""
    side, truth = here.region.side_m, Surface(*_truth(here, 50.0))
    names = [METHODS[key].title for key in methods]
    styles = method_styles(names)
    arrays: dict[str, NDArray] = {}
    shown = []
    for k, layer in enumerate(layers):
        fields, more = layer.described(f"r{k}", side)
        arrays |= more
        shown.append(fields | _measured(here, layer))
    order = np.lexsort((here.records.xy[:, 1], here.records.xy[:, 0]))
    x, y = here.records.xy[order].astype(np.int64).T
    arrays |= {"dx": np.diff(x, prepend=0), "y": y}
    window = min(_WINDOW_M, side)
    west, south = _crowded(here, window)
    box_m = 300.0
    bx, by = _crowded(here, box_m)
    header = {
        "title": here.title,
        "side": side,
        "n": len(here.records),
        "stops": STOPS,
        "methods": [
            {"key": key, "title": name, "about": METHODS[key].about, "colour": styles[name].colour}
            for key, name in zip(methods, names, strict=True)
        ],
        "layers": shown,
        "bands": list(here.asked),
        "busy": _BUSY,
        "top": ColourScale.shared([truth]).top,
        "window": [west, south, window],
        "box": [bx, by, box_m, box_m],
        **ground(here.region),
    }
    return packed(header, arrays)


def _truth(here: _City, cell_m: float) -> tuple[Grid, NDArray]:
    grid = Grid.of_width(here.region, cell_m)
    return grid, grid.count(here.records).counts


def _measured(here: _City, layer: Counts) -> dict[str, Any]:
    """Return the errors of a release, and how many of the busiest squares it finds."""
    model = layer.model(here.region)
    blocks = Grid.of_width(here.region, _BLOCK_M).boxes()
    found = np.intersect1d(_busiest(model.answer(blocks)), here.busy)
    errors = {
        name: asked.absolute_error(answers) if name == "anywhere" else asked.relative_error(answers)
        for name, asked in here.asked.items()
        for answers in (model.answer(asked.boxes),)
    }
    return {"errors": [float(f"{e:.4g}") for e in errors.values()], "found": len(found)}


def _crowded(here: _City, window: float) -> tuple[float, float]:
    """Return the lower-left corner of the square of this side that holds most records."""
    step = max(10.0, window / 10)
    grid, counts = _truth(here, step)
    across = min(grid.m, max(1, round(window / grid.cell_m)))
    sums = np.lib.stride_tricks.sliding_window_view(counts, (across, across)).sum(axis=(2, 3))
    i, j = np.unravel_index(int(sums.argmax()), sums.shape)
    corner = np.minimum(np.array([i, j]) * grid.cell_m, here.region.side_m - window)
    return float(np.rint(corner[0])), float(np.rint(corner[1]))
