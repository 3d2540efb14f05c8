import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from snhkit.builders import Identity, PrivTree
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Points, RangeQueries, Region
from snhkit.viz.figures.cell_figure import cells_figure


@pytest.fixture
def points(city):
    near = np.random.default_rng(4).normal([300, 700], 40, (400, 2))
    return Points(city, near.clip(0, 999))


@pytest.fixture
def releases(points):
    data = PrivateDataset(points, budget=4, unit="record", n_public=True)
    return {
        "grid": data.release(Identity(cell_m=250), epsilon=2, seed=1),
        "tree": data.release(PrivTree(), epsilon=2, seed=1),
    }


def polygons(axis) -> PolyCollection:
    (cells,) = axis.collections
    return cells


def test_each_release_is_drawn_in_its_own_cells_on_one_scale(releases):
    figure = cells_figure(releases)
    maps = figure.axes[:2]
    assert [axis.get_title() for axis in maps] == ["grid", "tree"]
    for axis, release in zip(maps, releases.values(), strict=True):
        boxes = release.model.cells().boxes()
        drawn = polygons(axis)
        assert len(drawn.get_paths()) == len(boxes)
        hectares = boxes.width * boxes.height / 10_000
        np.testing.assert_allclose(drawn.get_array() * hectares, release.answer(boxes))
        low = [path.vertices.min(axis=0) * 1000 for path in drawn.get_paths()]
        np.testing.assert_allclose(low, np.stack([boxes.x, boxes.y], axis=1))
    assert polygons(maps[0]).norm.vmax == polygons(maps[1]).norm.vmax
    assert figure.axes[2].get_ylabel() == "records per hectare"


def test_a_window_shows_the_cells_that_it_touches(releases):
    figure = cells_figure(releases, window_m=(260, 510, 300))
    axis = figure.axes[0]
    assert (*axis.get_xlim(), *axis.get_ylim()) == pytest.approx((0.26, 0.56, 0.51, 0.81))
    assert len(polygons(axis).get_paths()) == 4


def test_boxes_and_invented_records_lie_on_top(releases, points, city):
    box = RangeQueries(city, [280], [650], [100], [50])
    figure = cells_figure({"tree": releases["tree"]}, box, invented=points)
    (dots,), (outlined,) = figure.axes[0].lines, figure.axes[0].patches
    np.testing.assert_allclose(np.transpose(dots.get_data()) * 1000, points.xy)
    assert outlined.get_bbox().bounds == pytest.approx((0.28, 0.65, 0.1, 0.05))


def test_one_region_is_shown(releases):
    with pytest.raises(InputError, match="at least one release"):
        cells_figure({})
    elsewhere = Region.around(lat=0, lon=0, side_m=1_000)
    data = PrivateDataset(Points(elsewhere, [[1, 1]]), budget=1, unit="record", n_public=True)
    other = data.release(Identity(cell_m=500), epsilon=1, seed=1)
    with pytest.raises(InputError, match="one region"):
        cells_figure({**releases, "other": other})
