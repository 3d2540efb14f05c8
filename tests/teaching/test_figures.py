"""Figures of the lectures show the numbers that they are given."""

import numpy as np
import pandas as pd

import snhkit as snh
from snhkit.teaching import figures

TABLE = pd.DataFrame({"one": [4.0, 1.0, 2.0], "other": [1.0, 2.0, 3.0]}, index=[1, 10, 1_000])


def test_curves_show_each_column_with_ticks_at_the_index_and_a_star_at_the_minimum():
    (axis,) = figures.curves(TABLE, log="x", stars=["one"], lines={"most": 5}, xlabel="n").axes
    first, star, second, most = axis.lines
    assert np.array_equal(first.get_ydata(), TABLE["one"])
    assert np.array_equal(second.get_ydata(), TABLE["other"])
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (10, 1)
    assert most.get_ydata()[0] == 5
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "10", "1,000"]
    assert (axis.get_xscale(), axis.get_yscale(), axis.get_xlabel()) == ("log", "linear", "n")


def test_curves_have_a_panel_for_each_table_and_bands_between_their_ends():
    figure = figures.curves({"a": TABLE, "b": 2 * TABLE}, bands=(TABLE - 1, TABLE + 1))
    assert [axis.get_title() for axis in figure.axes] == ["a", "b"]
    heights = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 5)


def test_curves_of_many_values_have_no_marks_and_shares_are_percent():
    long = pd.DataFrame({"share": np.linspace(0, 0.25, 40)})
    figure = figures.curves(long, percent=True)
    figure.canvas.draw()
    (axis,) = figure.axes
    assert axis.lines[0].get_marker() == "None"
    assert "25 %" in [text.get_text() for text in axis.get_yticklabels()]


def test_a_curve_joins_the_values_that_are_known():
    table = pd.DataFrame({"few": [1, None, 3] * 10, "fewer": [None, 2, None] * 10}, dtype=float)
    first, second = figures.curves(table).axes[0].lines
    assert np.array_equal(first.get_ydata(), [1, 3] * 10)
    assert (len(second.get_xdata()), second.get_xdata()[1]) == (10, 4)


def test_histograms_count_values_between_edges_and_draw_lines():
    (axis,) = figures.histograms({"a": [0, 0, 1]}, [0, 1, 2], lines={"true": 1.5}).axes
    assert axis.patches[0].get_xy()[:, 1].max() == 2
    assert axis.lines[0].get_xdata()[0] == 1.5


def test_dots_show_records_a_star_and_boxes_or_cells():
    records = snh.synthetic_points("fargo", 100)
    box = snh.RangeQueries.squares(records.region, [[500, 700]], 200)
    figure = figures.dots(records, {"box": box, "cells": 1_000}, (50, 60), window_m=(0, 0, 3_000))
    first, second = figure.axes
    dots, star = first.lines
    assert np.array_equal(dots.get_xydata(), records.xy)
    assert star.get_xydata().tolist() == [[50, 60]]
    assert (first.patches[0].get_xy(), first.get_xlim()) == ((400, 600), (0, 3_000))
    assert not list(second.patches)
    assert np.diff(second.get_xticks()).tolist() == [1_000] * (len(second.get_xticks()) - 1)


def test_pictures_put_cell_i_j_to_the_east_and_north_and_cross_out_what_is_wrong():
    cells = np.array([[0.1, 2], [3, 4], [5, 6]])  # three to the east, two to the north
    figure = figures.pictures({"a": cells, "b": cells}, wrong={"b": cells == 6}, log=True)
    pictures = [axis for axis in figure.axes if axis.get_title()]
    assert np.array_equal(pictures[0].images[0].get_array(), cells.T)
    assert pictures[0].images[0].origin == "lower"
    assert not list(pictures[0].lines)
    assert pictures[1].lines[0].get_xydata().tolist() == [[2, 1]]
