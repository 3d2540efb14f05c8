import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries
from snhkit.viz.figures.closeup import closeup_figure
from snhkit.viz.maps.surface import Surface


@pytest.fixture
def grid(city):
    return Grid(city, 10)  # cells of 100 m


def numbers(axis):
    """What is written, by the place it is written at."""
    return {text.get_position(): text.get_text() for text in axis.texts}


def test_each_cell_near_the_box_has_its_number_in_its_middle(grid):
    counts = np.arange(100).reshape(10, 10) - 34
    box = RangeQueries(grid.region, [310], [420], [80], [100])
    axis = closeup_figure({"noisy": Surface(grid, counts)}, box, margin_m=0).axes[0]
    # Column 3; rows 4 and 5: counts[3, 4] = 0, counts[3, 5] = 1.
    assert numbers(axis) == {(350, 450): "0", (350, 550): "1"}
    assert (axis.get_xlim(), axis.get_ylim()) == ((300, 400), (400, 600))


def test_the_margin_shows_whole_cells_and_stops_at_the_region(grid):
    counts = np.zeros((10, 10))
    box = RangeQueries(grid.region, [0], [850], [50], [60])
    axis = closeup_figure({"noisy": Surface(grid, counts)}, box, margin_m=120).axes[0]
    assert (axis.get_xlim(), axis.get_ylim()) == ((0, 200), (700, 1_000))
    assert len(axis.texts) == 2 * 3


def test_an_edge_on_a_cell_border_shows_no_cell_more(city):
    thirds = Grid(city, 3)
    third = thirds.cell_m
    box = RangeQueries(city, [third], [third], [third], [third])
    axis = closeup_figure({"one": Surface(thirds, np.ones((3, 3)))}, box, margin_m=0).axes[0]
    assert len(axis.texts) == 1


def test_finer_cells_beside_coarse_ones_show_the_same_ground(city):
    coarse, fine = (Surface(Grid(city, m), np.full((m, m), 2.5)) for m in (5, 10))
    box = RangeQueries(city, [250], [250], [100], [100])
    first, second = closeup_figure({"coarse": coarse, "fine": fine}, box, margin_m=0).axes
    assert first.get_xlim() == second.get_xlim() == (200, 400)
    assert (len(first.texts), len(second.texts)) == (1, 4)
    assert {text.get_text() for text in second.texts} == {"2.5"}


def test_a_count_below_nothing_has_a_minus_and_no_count_is_minus_nothing(grid):
    counts = np.full((10, 10), -0.0)
    counts[3, 4] = -7
    box = RangeQueries(grid.region, [310], [420], [80], [100])
    axis = closeup_figure({"noisy": Surface(grid, counts)}, box, margin_m=0).axes[0]
    assert list(numbers(axis).values()) == ["\u22127", "0"]


def test_numbers_can_be_read_on_their_ground(grid):
    counts = np.zeros((10, 10))
    counts[3, 4] = 1e6
    box = RangeQueries(grid.region, [310], [420], [80], [100])
    axis = closeup_figure({"noisy": Surface(grid, counts)}, box, margin_m=0).axes[0]
    assert [text.get_color() for text in axis.texts] == ["black", "white"]


def test_boxes_are_told_apart_without_colour(grid):
    boxes = RangeQueries(grid.region, [300] * 4, [400] * 4, [50, 100, 150, 200], [100] * 4)
    axis = closeup_figure({"noisy": Surface(grid, np.ones((10, 10)))}, boxes).axes[0]
    assert len({box.get_linestyle() for box in axis.patches}) == 4
    assert [box.get_width() for box in axis.patches] == [50, 100, 150, 200]


def test_more_cells_than_can_be_read(city):
    fine = Surface(Grid(city, 100), np.ones((100, 100)))
    box = RangeQueries(city, [0], [0], [500], [100])
    with pytest.raises(InputError, match="54 cells per side"):
        closeup_figure({"fine": fine}, box)


@pytest.mark.parametrize("boxes", [0, 1])
def test_nothing_to_show(grid, boxes):
    given = {} if boxes else {"noisy": Surface(grid, np.ones((10, 10)))}
    box = RangeQueries(grid.region, *([10.0] * boxes for _ in range(4)))
    with pytest.raises(InputError, match="at least one"):
        closeup_figure(given, box)
