"""What the prior is trained on: pieces of public cities with noise, and boxes in them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import snhkit as snh
from snhkit.builders.width.cell_width import chosen_grid
from snhkit.geometry import Grid
from snhkit.geometry.counts import count_in_boxes
from snhkit.neural.denoiser.denoiser import peaks
from snhkit.privacy import PrivacyUnit, ReplayableEntropy, exact

SIDE_M = 13_200.0
CELLS, BOXES = 96, 768
PLACES = {
    "chicago_assaults.parquet": [(41.88, -87.70), (41.75, -87.62)],
    "london_road_accidents.csv.gz": [(51.51, -0.12), (51.45, -0.2), (51.56, 0.0)],
    "minneapolis_stops_2017.csv.gz": [(44.97, -93.27)],
    "st_louis_incidents.csv.gz": [(38.63, -90.24)],
    "houston_incidents_2010.csv.gz": [(29.747, -95.365), (29.72, -95.5)],
    "miami_foursquare_checkins.csv.gz": [(25.78, -80.2)],
    "houston_foursquare_checkins.csv.gz": [(29.75, -95.4)],
    "chicago_foursquare_checkins.csv.gz": [(41.89, -87.64)],
}


@dataclass(frozen=True)
class Stage:
    """A part of the training: its steps, how fast it learns, and on what.

    Parameters
    ----------
    steps, cosine : int
        How many, and after how many the rate would be 0.
    rate : float
        Of Adam, at the start.
    synthetic : tuple of str
        Cities of ``synthetic_points`` beside the real ones.
    root : float
        The weight of each in the draw.
    roots : (float, float)
        That of a real one is the root of its size, but at least and at most these.
    checkins : float
        That of real check-ins, at least.
    least : int
        Cities are thinned to so few records.
    blurred, blur_m : float
        How often places are blurred, and how far at most.
    blurred_checkins : float
        How often those of check-ins are, which are at venues.
    large, anywhere : float
        Shares of boxes of any shape, and of squares that are not centred on a record.
    width_m : callable
        From records, n, epsilon and a generator to a cell width.
    """

    steps: int
    cosine: int
    rate: float
    synthetic: tuple[str, ...]
    root: float
    roots: tuple[float, float]
    checkins: float
    least: int
    blurred: float
    blurred_checkins: float
    blur_m: float
    large: float
    anywhere: float
    width_m: Callable[[NDArray[np.float64], int, float, np.random.Generator], float]


def by_n(_: object, n: int, epsilon: float, rng: np.random.Generator) -> float:
    """A width by n epsilon, more or less."""
    return 1_830 * (n * epsilon) ** -0.387 * np.exp(rng.normal(-0.15, 0.4))


def inside(xy: NDArray[np.float64]) -> snh.Points:
    """Those in the city's square of places in metres around its middle."""
    kept = xy[np.abs(xy).max(axis=1) < SIDE_M / 2]
    return snh.Points(snh.Region.around(0, 0, SIDE_M), kept + SIDE_M / 2)


def by_evenness(xy: NDArray[np.float64], n: int, epsilon: float, rng: np.random.Generator) -> float:
    """About the width that would be bought; ``xy`` is in metres around the middle."""
    records = inside(xy)
    entropy = ReplayableEntropy(int(rng.integers(2**32)))
    terms = snh.builders.Terms(exact(epsilon), PrivacyUnit.of("record"), entropy, n)
    return chosen_grid(records, terms, "bought")[0].cell_m * np.exp(rng.normal(-0.04, 0.3))


_THREE = ("tulsa", "phoenix", "chicago")
_SIX = (*_THREE, "salt_lake", "houston", "miami")
_FIRST = Stage(
    steps=5_550,
    cosine=7_600,
    rate=1.2e-3,
    synthetic=_THREE,
    root=150,
    roots=(150, np.inf),
    checkins=150,
    least=2_000,
    blurred=0.35,
    blurred_checkins=0.35,
    blur_m=25,
    large=1 / 6,
    anywhere=0.1,
    width_m=by_n,
)
_SECOND = replace(
    _FIRST,
    steps=2_150,
    cosine=4_300,
    rate=7e-4,
    synthetic=_SIX,
    root=115,
    blurred=0.5,
    blurred_checkins=0.5,
    blur_m=40,
)
_THIRD = replace(_SECOND, steps=3_590, cosine=3_590, rate=1e-3, large=0, anywhere=0.04)
_FOURTH = replace(
    _THIRD,
    steps=4_500,
    cosine=4_500,
    rate=7e-4,
    root=150,
    roots=(150, 400),
    checkins=240,
    blurred=0.4,
    blurred_checkins=0.4,
    width_m=by_evenness,
)
_FIFTH = replace(_FOURTH, steps=7_000, cosine=7_000, rate=1e-3, checkins=260, least=1_200)
_SIXTH = replace(_FIFTH, steps=5_000, cosine=5_000, rate=8e-4, roots=(160, 480))
_SEVENTH = replace(_SIXTH, steps=22_300, cosine=22_300, rate=1e-3)
_EIGHTH = replace(_SEVENTH, steps=4_000, cosine=12_000)
_NINTH = replace(_SEVENTH, steps=7_000, cosine=7_000, checkins=450, blurred_checkins=0.1)
STAGES = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH)


class City(NamedTuple):
    """A place to cut crops out of."""

    xy: NDArray[np.float64]
    """In metres around its centre, sorted by x."""
    weight: float
    """In the draw."""
    blurred: float
    """How often."""


class Crop(NamedTuple):
    """A training example; lengths in cells, counts in units of the noise."""

    noisy: Any
    about: Any
    low: Any
    high: Any
    truth: Any
    floor: Any


def cities(folder: Path, stage: Stage) -> list[City]:
    """All places of a stage."""
    found = []
    for file, centres in PLACES.items():
        for lat, lon in centres:
            points = snh.read_points(folder / file, snh.Region.around(lat, lon, SIDE_M))
            weight = float(np.clip(np.sqrt(len(points)), *stage.roots))
            if "checkins" in file:
                found.append((points, max(weight, stage.checkins), stage.blurred_checkins))
            else:
                found.append((points, weight, stage.blurred))
    for name in stage.synthetic:
        found.append((snh.synthetic_points(name, 100_000, seed=1), stage.root, stage.blurred))
    middled = [(points.xy - points.region.side_m / 2, *others) for points, *others in found]
    return [City(xy[np.argsort(xy[:, 0])], *others) for xy, *others in middled]


def crops(places: list[City], stage: Stage, seed: int) -> Iterator[Crop]:
    """Examples without end."""
    rng = np.random.default_rng(seed)
    weights = np.array([place.weight for place in places])
    while True:
        place = places[rng.choice(len(places), p=weights / weights.sum())]
        found = crop(rng, place, stage)
        if found is not None:
            yield found


def crop(rng: np.random.Generator, place: City, stage: Stage) -> Crop | None:
    """One example, or None if this piece of the city holds too little."""
    city = place.xy
    n = int(np.exp(rng.uniform(np.log(min(stage.least, len(city) * 0.6)), np.log(len(city)))))
    epsilon = float(np.exp(rng.uniform(np.log(0.03), np.log(1.5))))
    city = city[rng.random(len(city)) < n / len(city)]
    blur_m = rng.uniform(3, stage.blur_m) if rng.random() < place.blurred else 0.0
    blurred = city + rng.normal(0, blur_m, city.shape) if blur_m else city
    cell_m = float(np.clip(stage.width_m(blurred, n, epsilon, rng), 6, 350))
    zoom = 1.0 if rng.random() < 0.6 else np.exp(rng.uniform(np.log(0.5), np.log(4)))
    bounds_m, cell_m = np.array([25.0, 100.0]) * zoom, cell_m * np.sqrt(zoom)
    if cell_m * CELLS / 4 > SIDE_M:
        return None
    low, high = borders(rng)
    points = piece(rng, city, cell_m, blur_m)
    points = points[((points >= low) & (points < high)).all(axis=1)]
    if len(points) < 10:
        return None
    boxes = boxes_in(rng, points, low, high, bounds_m / cell_m, stage)
    if boxes is None:
        return None
    corner, side = boxes
    truth = count_in_boxes(points, *corner.T, *(corner + side).T)
    if not truth.any():
        return None
    counts = np.histogram2d(*points.T, bins=CELLS, range=[[0, CELLS]] * 2)[0]
    stop = 1 - np.exp(-epsilon)  # public data: plain noise will do
    noise = rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
    outside = np.ones_like(counts)
    (i, j), (k, m) = low.astype(int), high.astype(int)
    outside[i:k, j:m] = 0
    smoothing = max(0.001 * n, 1.0)
    high_up = peaks(epsilon * noisy_city(rng, blurred, cell_m, stop), smoothing * epsilon)
    floor = np.full(BOXES, smoothing)
    # A large box is judged by what the noise of its cells allows.
    large = slice(BOXES - int(BOXES * stage.large), None)
    floor[large] += 0.42 * np.sqrt(side[large].prod(axis=1)) / epsilon
    return Crop(
        (counts + noise) * (1 - outside) * epsilon,
        [
            *np.log([smoothing * epsilon, cell_m / 40, bounds_m.mean() / cell_m, 1 / epsilon]),
            high_up,
        ],
        corner,
        corner + side,
        truth * epsilon,
        floor * epsilon,
    )


def noisy_city(
    rng: np.random.Generator, xy: NDArray[np.float64], cell_m: float, stop: float
) -> NDArray[np.int64]:
    """Noisy counts of cells; noise alone hardly stands out, so empty ones are left out."""
    records = inside(xy)
    counts = Grid.of_width(records.region, cell_m).count(records).counts
    counts = counts[counts > 0]
    return counts + rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts))


def borders(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the region lies in the crop: often it ends on one side."""
    low, high = np.zeros(2), np.full(2, float(CELLS))
    if rng.random() < 0.4:
        axis, beyond = rng.integers(2), rng.integers(1, int(0.4 * CELLS))
        if rng.random() < 0.5:
            low[axis] = beyond
        else:
            high[axis] = CELLS - beyond
    return low, high


def piece(
    rng: np.random.Generator, city: NDArray[np.float64], cell_m: float, blur_m: float
) -> NDArray[np.float64]:
    """The surroundings of one record of a changed city, in cells of the crop."""
    turn = rng.uniform(0, 2 * np.pi) if rng.random() < 0.5 else rng.integers(4) * np.pi / 2
    zoom = np.exp(rng.uniform(-0.3, 0.3)) if rng.random() < 0.2 else 1.0
    reach = 1.2 * CELLS * cell_m / zoom
    middle = city[rng.integers(len(city))]
    first, last = np.searchsorted(city[:, 0], [middle[0] - reach, middle[0] + reach])
    near = city[first:last]
    near = near[np.abs(near[:, 1] - middle[1]) < reach]
    near = near - middle
    near = near + rng.normal(0, blur_m, near.shape) if blur_m else near
    near = near[:, ::-1] if rng.random() < 0.5 else near
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return near @ rotation * (zoom / cell_m) + rng.uniform(0.1, 0.9, 2) * CELLS


def boxes_in(
    rng: np.random.Generator,
    points: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    bounds: NDArray[np.float64],
    stage: Stage,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Corners and sides of boxes: squares of the wanted sizes, mostly on records; then others."""
    large, many = int(BOXES * stage.large), 3 * BOXES
    side = rng.uniform(bounds[0], bounds[1], many)
    centre = points[rng.integers(0, len(points), many)]
    anywhere = rng.random(many) < stage.anywhere
    centre[anywhere] = rng.uniform(low, high, (anywhere.sum(), 2))
    corner = centre - side[:, None] / 2
    fit = ((corner >= low) & (corner + side[:, None] < high)).all(axis=1)
    if fit.sum() < 50:
        return None
    kept = rng.choice(np.flatnonzero(fit), BOXES - large)
    shape = np.exp(rng.uniform(np.log(2), np.log(0.6 * CELLS), (large, 2)))
    spread = low + rng.uniform(size=(large, 2)) * (high - low - shape)
    sides = np.concatenate([np.stack([side[kept]] * 2, axis=1), shape])
    return np.concatenate([corner[kept], spread]), sides
