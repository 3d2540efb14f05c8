"""A figure of the paper's evaluation, drawn again from new measurements."""

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from snhkit.reproduction.figures import PaperFigure
from snhkit.viz.figures.style import MethodStyle, method_styles

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["reproduction_figure"]

_MOST_TICKS = 6


def reproduction_figure(told: PaperFigure, table: "pd.DataFrame") -> Figure:
    """Draw a figure of the paper again: lines by data set, or bars if ``told`` has parts."""
    if told.parts:
        return _bars(told, table)
    names = list(dict.fromkeys(table["data"]))
    styles = _styles(table)
    drawn = Figure(figsize=(4.6 * len(names) + 1.6, 3.6), layout="constrained")
    axes = drawn.subplots(1, len(names), squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        part = table[table["data"] == name]
        lines: Any = part.groupby("line", sort=False)
        for line, unordered in lines:
            points = unordered.sort_values("x")
            style = dict(styles[str(line)].line)
            axis.plot(points["x"], points["value"], label=str(line), **style)
        if told.axis in ("epsilon", "n", "k", "layers"):
            axis.set_xscale("log")
        ticks = sorted(set(part["x"]))
        if len(ticks) <= _MOST_TICKS:
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=30)
            axis.minorticks_off()
        axis.set(title=name, xlabel=told.axis, ylabel=told.value)
        axis.set_ylim(0, 1.05 * part["value"].max())
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    drawn.suptitle(told.heading)
    return drawn


def _styles(table: "pd.DataFrame") -> dict[str, MethodStyle]:
    """Return the style of each line; PGM@ParamSelect has PGM's if no other line has it."""
    lines = [str(line) for line in dict.fromkeys(table["line"])]
    methods = [line.partition("@")[0] for line in lines]
    if len(set(methods)) < len(lines):
        methods = lines
    styles = method_styles(methods)
    return {line: styles[method] for line, method in zip(lines, methods, strict=True)}


def _bars(told: PaperFigure, table: "pd.DataFrame") -> Figure:
    """Return a figure with a bar for each line, one panel for each position in ``told.parts``."""
    drawn = Figure(figsize=(3.4 * len(told.parts), 2.8), layout="constrained")
    axes = drawn.subplots(1, len(told.parts), squeeze=False)[0]
    styles = _styles(table)
    for x, (axis, name) in enumerate(zip(axes, told.parts, strict=True)):
        for _, row in table[table["x"] == x].iterrows():
            bar = axis.bar(str(row["line"]), row["value"], **styles[str(row["line"])].bar)
            axis.bar_label(bar, fmt="%.3g")
        axis.margins(y=0.15)
        axis.set_title(name)
        axis.tick_params(axis="x", labelrotation=20)
    drawn.suptitle(f"{told.heading}: {table['data'].iloc[0]}")
    return drawn
