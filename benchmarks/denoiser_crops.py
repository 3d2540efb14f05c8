"""Training examples of the denoiser: crops of public cities with noisy counts, and boxes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from denoiser_blocks import (
    CELLS,
    Sums,
    axis_blocks,
    estimated,
    held_by_blocks,
    laplace,
    noisy_parts,
)
from numpy.typing import NDArray

import snhkit as snh
from snhkit.builders.cell_width import chosen_grid, default_cell_width
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.geometry import Grid
from snhkit.geometry.counts import count_in_boxes
from snhkit.neural.denoiser.denoiser import peaks
from snhkit.neural.denoiser.levels import merged_groups
from snhkit.privacy import Measurements, PointSource, PrivacyUnit, ReplayableEntropy, Terms, exact

SIDE_M = 13_200.0
SMALL, LARGE = 26, 10  # blocks along a side of a crop, at most
GROUPED_FROM, OF_A_GROUP = 1_500.0, (0.2, 1.0)
"""n times epsilon from which cells are counted in groups, which is lower than in a release since
these cities have fewer records; and the least and the most records of a group, in scales of the
noise."""
GROUPS = {  # groups of boxes; errors are relative unless the name states records
    "small squares on records": 288,
    "small squares anywhere, in records": 128,
    "100 to 300 m": 160,
    "300 to 700 m anywhere, in records": 128,
    "800 m and more anywhere": 128,
}

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
SYNTHETIC = ("tulsa", "phoenix", "chicago", "salt_lake", "houston", "miami")
WEIGHTS = {"synthetic": 150.0, "least": 160.0, "most": 480.0, "checkins": 350.0}
"""The weights of kinds of cities when a random city is drawn."""

LEAST_RECORDS = 1_200
BLURRED, BLURRED_CHECKINS = 0.4, 0.15  # shares of crops whose positions are blurred
BLUR_M = (3.0, 40.0)
_LOW, _HIGH = np.array([-3.5, -2.0, -2.0, -0.4]), np.array([6.0, 2.8, 2.8, 3.5])


class City(NamedTuple):
    """The points of a public or synthetic city, from which crops are cut."""

    xy: NDArray[np.float64]  # metres around the centre, sorted by x
    weight: float  # the probability of a draw is in proportion to this weight
    blurred: float  # the share of crops whose positions are blurred


class Crop(NamedTuple):
    """A training example. Lengths are in cells, counts in units of the noise scale of a cell."""

    planes: Any  # inputs of each cell
    about: Any
    small: Any  # the small block of each column and of each row
    large: Any
    small_sums: Any
    small_variance: Any
    large_sums: Any
    large_variance: Any
    total: Any  # approximate number of records in the crop
    low: Any
    high: Any
    truth: Any
    floor: Any


def cities(folder: Path) -> list[City]:
    """Return all cities, with the weights by which a random city is drawn."""
    found = []
    for file, centres in PLACES.items():
        for lat, lon in centres:
            points = snh.read_points(folder / file, snh.Region.around(lat, lon, SIDE_M))
            weight = float(np.clip(np.sqrt(len(points)), WEIGHTS["least"], WEIGHTS["most"]))
            if "checkins" in file:
                found.append((points, max(weight, WEIGHTS["checkins"]), BLURRED_CHECKINS))
            else:
                found.append((points, weight, BLURRED))
    for name in SYNTHETIC:
        points = snh.synthetic_points(name, 100_000, seed=1)
        found.append((points, WEIGHTS["synthetic"], BLURRED))
    middled = [(points.xy - points.region.side_m / 2, *others) for points, *others in found]
    return [City(xy[np.argsort(xy[:, 0])], *others) for xy, *others in middled]


def crops(places: list[City], seed: int) -> Iterator[Crop]:
    """Yield training examples of random cities, without end."""
    rng = np.random.default_rng(seed)
    weights = np.array([place.weight for place in places])
    while True:
        place = places[rng.choice(len(places), p=weights / weights.sum())]
        found = crop(rng, place)
        if found is not None:
            yield found


def crop(rng: np.random.Generator, place: City) -> Crop | None:
    """Return a random training example of a city, or None if the crop holds too few records."""
    city = place.xy
    n = int(np.exp(rng.uniform(*np.log([min(LEAST_RECORDS, len(city) * 0.6), len(city)]))))
    epsilon = float(np.exp(rng.uniform(np.log(0.03), np.log(1.5))))
    city = city[rng.random(len(city)) < n / len(city)]
    blur_m = rng.uniform(*BLUR_M) if rng.random() < place.blurred else 0.0
    blurred = city + rng.normal(0, blur_m, city.shape) if blur_m else city
    share = 0.0 if rng.random() < 0.08 else rng.uniform(0.05, 0.42)
    of_large = rng.uniform(0.2, 0.75)
    left = epsilon * (1 - share)
    cell_m = width(blurred, n, left, rng)
    zoom = 1.0 if rng.random() < 0.65 else np.exp(rng.uniform(np.log(0.5), np.log(4)))
    bounds_m, cell_m = np.array(DEFAULT_SIZES_M) * zoom, cell_m * np.sqrt(zoom)
    if cell_m * CELLS / 4 > SIDE_M:
        return None
    low, high = borders(rng)
    points = piece(rng, city, cell_m, blur_m)
    points = points[((points >= low) & (points < high)).all(axis=1)]
    if rng.random() < 0.3:
        points = points[~sea(rng, points)]
    boxes = boxes_in(rng, points, low, high, bounds_m / cell_m, cell_m) if len(points) > 9 else None
    if boxes is None:
        return None
    corner, side = boxes
    truth = count_in_boxes(points, *corner.T, *(corner + side).T)
    if not truth[: next(iter(GROUPS.values()))].any():
        return None
    counts = np.histogram2d(*points.T, bins=CELLS, range=[[0, CELLS]] * 2)[0]
    inside = np.zeros_like(counts)
    (i, j), (k, m) = low.astype(int), high.astype(int)
    inside[i:k, j:m] = 1
    wide = float(np.clip(400 / cell_m * np.exp(rng.normal(0, 0.25)), 3.5, 40))
    (si, li), (sj, lj) = axis_blocks(rng, wide), axis_blocks(rng, wide)
    enough = 0.0
    if share and n * left > GROUPED_FROM and cell_m > 0.9 * default_cell_width(n, left):
        enough = np.exp(rng.uniform(*np.log(OF_A_GROUP)))
        # ``merged_groups`` expects blocks that begin at the same cells along both axes.
        sj, lj = si, li
    if max(si.max(), sj.max()) >= SMALL or max(li.max(), lj.max()) >= LARGE:
        return None
    small, large = Sums(si, sj, SMALL), Sums(li, lj, LARGE)
    bought = []
    for blocks, part in ((small, 1 - of_large), (large, of_large)):
        if share:
            paid = epsilon * share * part
            true = blocks.of(counts)
            counted = (true + laplace(rng, 1 / paid, true.shape)) * left
            bought.append((counted, 2 * (left / paid) ** 2))
    group = np.arange(CELLS**2).reshape(CELLS, CELLS)
    if enough:
        held = held_by_blocks(small, large, *bought)
        group = merged_groups(CELLS, np.unique(si, return_index=True)[1], held, enough)
    noisy, number = noisy_parts(rng, counts, inside, group, left)
    sums = estimated(noisy, number, small, large, *(bought or (None, None)))
    cells = small.of(inside), large.of(inside)
    known = [noisy]
    for blocks, many, (values, variance) in zip((small, large), cells, sums, strict=True):
        root = np.sqrt(np.where(many > 0, variance, 1))
        known += [blocks.spread(values / root), blocks.spread(values / np.maximum(many, 1))]
    psi = max(0.001 * n, 1.0) * left
    told = np.log([psi, cell_m / 40, bounds_m.mean() / cell_m, 1 / left])
    stands_out = peaks(left * noisy_city(rng, blurred, cell_m, 1 - np.exp(-left)), psi)
    gains = [
        0.5 * np.log(np.median(variance[many > 0] / (2 * many[many > 0])))
        for many, (_, variance) in zip(cells, sums, strict=True)
    ]
    return Crop(
        np.stack(known, -1) * inside[..., None],
        [*np.clip(told, _LOW, _HIGH), stands_out, *gains, np.log(wide / 10)],
        np.stack([si, sj]),
        np.stack([li, lj]),
        sums[0][0],
        np.where(cells[0] > 0, sums[0][1], 1),
        sums[1][0],
        np.where(cells[1] > 0, sums[1][1], 1),
        len(points) * np.exp(rng.normal(0, 0.03)) * left,
        corner,
        corner + side,
        truth * left,
        np.full(len(truth), psi),
    )


def width(xy: NDArray[np.float64], n: int, epsilon: float, rng: np.random.Generator) -> float:
    """Return a random cell width in metres, near the width that ``DenoisedGrid`` chooses."""
    entropy = ReplayableEntropy(int(rng.integers(2**32)))
    terms = Terms(exact(epsilon), PrivacyUnit("record"), n)
    private = Measurements(PointSource(inside_city(xy)), terms, entropy)
    bought = chosen_grid(private, None, labels="denoised").cell_m
    return float(np.clip(bought * np.exp(rng.normal(-0.04, 0.3)), 6, 350))


def inside_city(xy: NDArray[np.float64]) -> snh.Points:
    """Return the points inside the square of the city; ``xy`` is in metres from its centre."""
    kept = xy[np.abs(xy).max(axis=1) < SIDE_M / 2]
    return snh.Points(snh.Region.around(0, 0, SIDE_M), kept + SIDE_M / 2)


def sea(rng: np.random.Generator, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points lie beyond a random coastline inside the region, and so in the sea."""
    angle = rng.uniform(0, 2 * np.pi)
    out, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    coast = np.full(2, CELLS / 2) @ out + rng.uniform(-0.3, 0.3) * CELLS
    bays = rng.uniform(0, 6) * np.sin(points @ along / rng.uniform(4, 20) + angle)
    return points @ out > coast + bays


def noisy_city(
    rng: np.random.Generator, xy: NDArray[np.float64], cell_m: float, stop: float
) -> NDArray[np.int64]:
    """Return noisy counts of the cells of a city that hold points."""
    records = inside_city(xy)
    counts = Grid.of_width(records.region, cell_m).count(records).counts
    counts = counts[counts > 0]
    return counts + rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts))


def borders(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of the region inside the crop, whose border often crosses the crop."""
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
    """Return the points around a random position in cells, randomly rotated and zoomed."""
    turn = rng.uniform(0, 2 * np.pi) if rng.random() < 0.5 else rng.integers(4) * np.pi / 2
    zoom = np.exp(rng.uniform(-0.3, 0.3)) if rng.random() < 0.2 else 1.0
    reach = 1.2 * CELLS * cell_m / zoom
    middle = city[rng.integers(len(city))]
    if rng.random() < 0.25:
        middle = rng.uniform(-SIDE_M / 2, SIDE_M / 2, 2)
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
    cell_m: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return lower-left corners and sides of random squares of all groups, each of shape (q, 2)."""
    corners, sides = [], []
    span = (high - low).min()
    zoom = bounds.mean() * cell_m / 62.5

    def metres(least: float, most: float, many: int) -> NDArray[np.float64]:
        return rng.uniform(least, most, many) / cell_m

    first, second, third, fourth, fifth = GROUPS.values()
    usual, half = second * 3 // 4, third // 2
    tiny = np.exp(rng.uniform(np.log(10), np.log(100), second - usual)) * zoom / cell_m
    anywhere = np.concatenate([rng.uniform(bounds[0], bounds[1], usual), tiny])
    for wanted, on_records, count in (
        (rng.uniform(bounds[0], bounds[1], 3 * first), True, first),
        (anywhere, False, second),
        (metres(100, 300, 3 * half), True, half),
        (metres(100, 300, half), False, half),
        (metres(300, 700, fourth), False, fourth),
        (metres(800, 5_000, fifth), False, fifth),
    ):
        side = np.minimum(wanted, 0.9 * span)[:, None]
        if on_records:
            centre = points[rng.integers(0, len(points), len(side))]
        else:
            centre = rng.uniform(low + side / 2, high - side / 2)
        corner = centre - side / 2
        fit = np.flatnonzero(((corner >= low) & (corner + side < high)).all(axis=1))
        if len(fit) < count / 6:
            return None
        kept = rng.choice(fit, count, replace=len(fit) < count)
        corners.append(corner[kept])
        sides.append(np.repeat(side[kept], 2, axis=1))
    return np.concatenate(corners), np.concatenate(sides)
