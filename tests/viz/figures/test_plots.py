import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.viz.figures.plots import surface_figure
from snhkit.viz.maps.surface import Surface


def saved(figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


def test_surfaces_stand_side_by_side_on_one_scale(two_releases):
    figure = surface_figure(two_releases, cell_m=100)
    maps = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title() for axis in maps] == ["Exact", "Twice"]
    first, second = (axis.images[0] for axis in maps)
    assert first.norm.vmax == second.norm.vmax
    # Row 0 of the picture is the south: x runs along columns.
    np.testing.assert_allclose(first.get_array(), two_releases["Exact"].values.T)
    assert first.origin == "lower"
    assert first.get_extent() == [0, 1, 0, 1]  # in kilometres
    assert figure.axes[-1].get_ylabel() == "records per hectare"
    assert saved(figure)


@pytest.mark.parametrize("columns", [1, 2])
def test_maps_in_a_row_and_their_colours_can_be_chosen(two_releases, columns):
    figure = surface_figure(two_releases, columns=columns, colours="cividis")
    maps = [axis for axis in figure.axes if axis.images]
    assert {axis.images[0].cmap.name for axis in maps} == {"cividis"}
    assert maps[0].get_subplotspec().get_gridspec().get_geometry() == (2 // columns, columns)


def test_names_are_no_formulas(two_releases):
    name = "$5 to $\\foo{"
    figure = surface_figure({name: two_releases["Exact"]}, cell_m=100)
    assert figure.axes[0].get_title() == name
    assert saved(figure)


def test_a_surface_is_shown_in_its_own_cells(two_releases, city):
    ours = Surface(Grid(city, 4), np.arange(16).reshape(4, 4))
    figure = surface_figure({"ours": ours, "Exact": two_releases["Exact"]}, cell_m=100)
    ours_drawn, asked = (axis.images[0].get_array() for axis in figure.axes[:2])
    np.testing.assert_allclose(ours_drawn, ours.density.T)
    assert asked.shape == (10, 10)


def test_boxes_are_outlined_on_every_map_in_its_unit(two_releases, city):
    boxes = RangeQueries(city, [100, 500], [200, 600], [300, 50], [400, 70])
    figure = surface_figure(two_releases, boxes)
    maps = [axis for axis in figure.axes if axis.images]
    assert len(maps) == 2
    for axis in maps:
        drawn = [(*box.get_xy(), box.get_width(), box.get_height()) for box in axis.patches]
        assert drawn == [(0.1, 0.2, 0.3, 0.4), (0.5, 0.6, 0.05, 0.07)]


def test_unfilled_places_are_empty(two_releases):
    four = {**two_releases, "a": two_releases["Exact"], "b": two_releases["Exact"]}
    figure = surface_figure(four)
    assert len(figure.axes) == 6 + 1
    assert sum(axis.axison for axis in figure.axes) == 4 + 1


def test_nothing_to_show():
    with pytest.raises(InputError, match="no release"):
        surface_figure({})


def test_no_global_state_of_matplotlib_is_touched(two_releases):
    before = plt.get_fignums()
    surface_figure(two_releases)
    assert plt.get_fignums() == before
