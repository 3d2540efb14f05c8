import pandas as pd
from matplotlib.colors import to_hex

from snhkit.experiment import METHODS
from snhkit.viz.figures import count_bars, error_bars, error_curves, method_style, method_styles

TITLES = [method.title for method in METHODS.values()]


def test_methods_are_told_apart_by_more_than_colour():
    styles = method_styles(TITLES)
    for part in ("marker", "hatch"):
        assert len({getattr(style, part) for style in styles.values()}) == len(TITLES)
    assert len({(style.colour, style.linestyle) for style in styles.values()}) == len(TITLES)
    assert styles["SNH"].colour != styles["Denoised grid"].colour


def test_a_style_does_not_depend_on_the_methods_beside_it():
    every = method_styles(["mine", *TITLES])
    assert all(method_styles([title])[title] == every[title] for title in TITLES)
    assert method_style("PrivTree") == every["PrivTree"].line


def test_other_names_differ_from_each_other_and_from_the_methods():
    styles = method_styles(["mine", "UG", "yours"])
    assert len({style.marker for style in styles.values()}) == 3


def test_a_method_has_one_colour_in_every_figure():
    names = ["PrivTree", "UG", "SNH"]
    numbers = {"epsilon": 1.0, "rel_error": 0.1, "box": 1, "count": 5.0, "low": 4.0, "high": 7.0}
    table = pd.DataFrame({"method": names, **numbers})
    bars = {
        b.get_label(): to_hex(b[0].get_facecolor()) for b in error_bars(table).axes[0].containers
    }
    curves = error_curves(table, "epsilon", label="epsilon").axes[0].lines
    lines = {line.get_label(): to_hex(line.get_color()) for line in curves}
    points = {
        line.get_label(): to_hex(line.get_color())
        for line in count_bars(table).axes[0].lines
        if line.get_label() in names
    }
    wanted = {name: method_style(name)["color"].lower() for name in names}
    assert bars == lines == points == wanted
