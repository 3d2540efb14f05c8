import base64
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

import snhkit as snh
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models import GridModel
from snhkit.viz.maps import surface
from snhkit.viz.maps.surface import (
    ColourScale,
    Surface,
    cell_outlines,
    display_cell_m,
    pictures,
    surface_overlay,
)


def pixels(overlay) -> np.ndarray:
    head, _, body = overlay["image"].partition(",")
    assert head == "data:image/png;base64"
    return np.round(imread(io.BytesIO(base64.b64decode(body)), format="png") * 255).astype(int)


def test_a_surface_is_what_the_release_says_of_each_cell(told, city):
    values = np.arange(25).reshape(5, 5)
    assert Surface.of(told(city, values), 200).counts == pytest.approx(values)
    # Half the width: a quarter of the count, the same density.
    finer = Surface.of(told(city, values), 100)
    assert finer.counts[:2, :2].sum() == pytest.approx(values[0, 0])
    assert finer.density[8, 3] == pytest.approx(values[4, 1] / 4)


def test_a_picture_has_the_density_at_the_centre_of_each_of_its_cells(city):
    values = np.random.default_rng(3).normal(size=(5, 5))
    model = GridModel(Grid(city, 5), values)
    at = ((np.arange(7) + 0.5) / 7 * 5).astype(int)
    drawn = Surface.drawn(model, 1_000 / 7)
    assert drawn.density == pytest.approx(values[np.ix_(at, at)] / 4, rel=1e-4)
    wider = Surface.drawn(model, 1_000 / 3)
    assert wider.counts == pytest.approx(Surface.of(model, 1_000 / 3).counts)


def test_counts_must_fit_the_grid(city):
    with pytest.raises(InputError, match=r"\(3, 3\), not \(3, 2\)"):
        Surface(Grid(city, 3), np.zeros((3, 2)))


@given(st.floats(1, 200_000))
def test_shown_cells_are_round_and_neither_few_nor_many(side_m):
    cell = display_cell_m(Region.around(lat=10, lon=10, side_m=side_m))
    assert f"{cell:.9e}"[0] in "125"
    assert 59 < side_m / cell < 150.001


@pytest.mark.parametrize(
    "region",
    [
        Region.around(lat=37.76, lon=-122.43, side_m=13_200),
        Region.around(lat=-68, lon=20, side_m=200_000),
        Region.around(lat=60, lon=180, side_m=100_000),
    ],
    ids=["city", "far south", "antimeridian"],
)
def test_each_pixel_shows_the_cell_it_lies_in(region):
    """Leaflet stretches a picture evenly in Web Mercator between its corners."""
    grid = Grid(region, 120)
    counts = np.zeros((120, 120))
    hot = [(0, 0), (119, 0), (50, 70), (119, 119)]
    for i, j in hot:
        counts[i, j] = 100
    overlay = surface_overlay(Surface(grid, counts), ColourScale(1e-3), "hot")
    picture = pixels(overlay)
    south, west, north, east = overlay["bounds"]

    def mercator(lat):
        return np.log(np.tan(np.pi / 4 + np.radians(lat) / 2))

    for i, j in hot:
        cell = RangeQueries(
            region, [i * grid.cell_m], [j * grid.cell_m], [grid.cell_m], [grid.cell_m]
        )
        (lat, lon) = cell.corners_in_degrees()[0].mean(axis=0)
        column = (lon - west) / (east - west) * len(picture)
        row = (mercator(north) - mercator(lat)) / (mercator(north) - mercator(south)) * len(picture)
        # The yellow patch around the cell's middle is the cell, give or take a pixel.
        yellow = (picture[..., 0] > 200) & (picture[..., 3] == 255)
        rows, columns = np.nonzero(yellow)
        near = (abs(rows - row) < 5) & (abs(columns - column) < 5)
        assert rows[near].mean() + 0.5 == pytest.approx(row, abs=1)
        assert columns[near].mean() + 0.5 == pytest.approx(column, abs=1)
    clear = picture[..., 3] == 0  # outside the region, whose edges are not quite axis-parallel
    assert clear.any() == (region.side_m > 50_000)
    assert not picture[clear].any()


def test_pictures_have_east_at_the_right_and_north_at_the_top(city):
    counts = np.zeros((3, 3))
    counts[2, 0] = 9  # south-east
    drawn, _ = pictures({"": Surface(Grid(city, 3), counts)})
    row, column = np.unravel_index(pixels({"image": drawn[""]})[..., 0].argmax(), (3, 3))
    assert (row, column) == (2, 2)


def test_one_scale_for_all_and_brighter_means_more(told, city):
    low, high = (Surface.of(told(city, np.full((5, 5), v)), 200) for v in (10, 300))
    scale = ColourScale.shared([low, high])
    assert scale == ColourScale.shared([high, low])
    assert scale.top == 80  # 75 a hectare, made round
    counts = np.zeros((32, 32))
    for cells, top in ((2, 1), (5, 1_000)):  # 0.2 % and 0.5 % of the cells
        counts[0, :cells] = 1_000 * (1_000 / 32) ** 2 / 10_000
        assert ColourScale.shared([Surface(Grid(city, 32), counts)]).top == top
    weights = [0.2126, 0.7152, 0.0722]
    shades = scale.palette[scale.levels(np.linspace(0, scale.top, 50))] @ weights
    assert (np.diff(shades) > 0).all()
    assert scale.levels(np.array([-5.0, 0.0, scale.top, 1e9])).tolist() == [1, 1, 255, 255]


def test_a_scale_of_nothing_still_has_a_top():
    assert ColourScale.shared([]).top == 1
    grid = Grid(Region.around(lat=0, lon=0, side_m=10), 1)
    assert ColourScale.shared([Surface(grid, np.array([[-4.0]]))]).top == 1


def test_the_legend_names_title_unit_and_ticks(told, city):
    overlay = surface_overlay(
        Surface.of(told(city, np.zeros((2, 2))), 500), ColourScale(8), "Uniform grid"
    )
    legend = overlay["legend"]
    assert (legend["title"], legend["unit"]) == ("Uniform grid", "records per hectare")
    assert legend["ticks"] == ["≤ 0", "2", "≥ 8"]
    assert legend["colours"][0] == "#440154"
    assert all(math.isfinite(edge) for edge in overlay["bounds"])


@pytest.fixture(scope="module")
def data():
    return snh.PrivateDataset(
        snh.synthetic_points("fargo", 2_000), budget=9, unit="record", n_public=True
    )


def corners(drawn) -> np.ndarray:
    boxes = np.reshape(drawn["corners"], (-1, 4)) * drawn["unit"]
    return boxes + np.tile(drawn["origin"], 2)


@pytest.mark.parametrize("builder", [snh.Identity(cell_m=1_243), snh.PrivTree()])
def test_outlines_are_the_cells_in_degrees(data, builder):
    release = data.release(builder, epsilon=1)
    drawn, note = cell_outlines(release)
    wanted = release.cells().geometry.bounds[["miny", "minx", "maxy", "maxx"]].to_numpy()
    assert corners(drawn) == pytest.approx(
        wanted, abs=2e-4
    )  # 20 m: the edges are not quite straight
    assert note.startswith(f"{len(wanted):,} ")


def test_too_many_are_only_counted(data, monkeypatch):
    monkeypatch.setattr(surface, "_MAX_CELLS", 99)
    drawn, note = cell_outlines(data.release(snh.Identity(cell_m=1_243), epsilon=1))
    assert drawn is None
    assert note == "100 equal cells of 1,243 m: too many to outline"
