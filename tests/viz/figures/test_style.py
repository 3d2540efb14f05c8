from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex, to_rgb

from snhkit.methods import METHODS
from snhkit.viz.figures import error_curves, method_panels, method_styles
from snhkit.viz.figures.curves import count_bars

TITLES = [method.title for method in METHODS.values()]


def test_methods_are_told_apart_by_more_than_colour():
    styles = method_styles(TITLES)
    for part in ("marker", "hatch"):
        assert len({getattr(style, part) for style in styles.values()}) == len(TITLES)
    assert len({(style.colour, style.linestyle) for style in styles.values()}) == len(TITLES)
    assert styles["SNH"].colour != styles["Denoised grid"].colour


def test_methods_of_other_packages_are_told_apart_as_well():
    """Colours and lines differ among 28 methods; a marker repeats with another colour and line."""
    styles = list(method_styles([*TITLES, *map(str, range(28 - len(TITLES)))]).values())
    assert len({(style.colour, style.linestyle) for style in styles}) == 28
    assert len({(style.colour, style.linestyle, style.marker) for style in styles}) == 28
    assert len({(style.colour, style.hatch) for style in styles}) == 28


def luminance(colour: str) -> float:
    """The relative luminance of a colour as WCAG 2.2 defines it: its grey, from 0 to 1."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_in_grey_methods_are_seen_on_both_pages_and_alike_ones_differ_in_form():
    styles = method_styles(TITLES)
    grey = {title: luminance(style.colour) for title, style in styles.items()}
    for title, seen in grey.items():
        assert contrast(seen, luminance("#ffffff")) > 2, title
        assert contrast(seen, luminance("#111111")) > 3, title  # JupyterLab's dark theme
    pairs = combinations(TITLES, 2)
    alike = [(one, other) for one, other in pairs if contrast(grey[one], grey[other]) < 1.5]
    assert alike  # more than five greys cannot be told apart
    for one, other in alike:
        assert styles[one].marker != styles[other].marker, (one, other)
        assert styles[one].hatch != styles[other].hatch, (one, other)


def test_a_style_does_not_depend_on_the_methods_beside_it():
    every = method_styles(["mine", *TITLES])
    assert all(method_styles([title])[title] == every[title] for title in TITLES)


def test_a_method_has_one_colour_in_every_figure():
    names = ["PrivTree", "UG", "SNH"]
    numbers = {"epsilon": 1.0, "rel_error": 0.1, "box": 1, "count": 5.0, "low": 4.0, "high": 7.0}
    table = pd.DataFrame({"method": names, **numbers})
    (axis,) = method_panels(table, "rel_error", label="error").axes
    marks = [to_hex(one.get_facecolor()[0]) for one in axis.collections]
    curves = error_curves(table, "epsilon", label="epsilon").axes[0].lines
    lines = {line.get_label(): to_hex(line.get_color()) for line in curves}
    points = {
        line.get_label(): to_hex(line.get_color())
        for line in count_bars(table).axes[0].lines
        if line.get_label() in names
    }
    wanted = {name: style.colour.lower() for name, style in method_styles(names).items()}
    assert dict(zip(names, marks, strict=True)) == lines == points == wanted
