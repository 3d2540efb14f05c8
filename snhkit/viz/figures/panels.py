"""A figure that compares methods by a number, such as the error, at several epsilons."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from snhkit.viz.figures.curves import need_columns
from snhkit.viz.figures.style import method_styles

_GREY = "#808080"


def method_panels(
    table: pd.DataFrame,
    value: str,
    *,
    label: str,
    panel: str | None = None,
    right: float | None = None,
) -> Figure:
    """Draw a number for each method and epsilon: a row for each method, a mark for each epsilon.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``epsilon`` and the column named by ``value``. If its numbers were
        computed from the true records, the figure is for the owner of the records only.
    value : str
        The column of the numbers to show. The axis is logarithmic if all numbers are positive and
        the largest is more than 1.5 times the smallest.
    label : str
        The label below the axes: the name of the numbers, with their unit.
    panel : str, optional
        A column, such as the size of boxes, each value of which gets a panel of its own. By
        default, one panel shows the whole table.
    right : float, optional
        The number that a method without error would have, drawn as a vertical line.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Colours and markers are those of ``method_styles``; larger marks stand for a
        larger epsilon.

    Raises
    ------
    InputError
        If a column is missing or there is no row.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["UG"], "epsilon": [0.2], "adds_up": [1.01]})
    >>> figure = method_panels(table, "adds_up", label="sum of tiles / n", right=1.0)
    >>> figure.axes[0].get_xscale()
    'linear'
    """
    columns = {"method", "epsilon", value} | ({panel} if panel else set())
    need_columns("method_panels", table, *columns)
    methods = list(dict.fromkeys(table["method"]))
    styles = method_styles(map(str, methods))
    epsilons = sorted(set(table["epsilon"]))
    names = list(dict.fromkeys(table[panel])) if panel else [None]
    high = 1.3 + 0.3 * len(methods)
    figure = Figure(figsize=(1.8 + 2.2 * max(len(names), 2), high), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, names, strict=True):
        part = table if name is None else table.loc[table[panel] == name]
        if right is not None:
            axis.axvline(right, color=_GREY, lw=1)
        for row, method in enumerate(methods):
            mine = part.loc[part["method"] == method].sort_values(by="epsilon")
            sizes = [_mark_size(epsilons, epsilon) for epsilon in mine["epsilon"]]
            style = styles[str(method)]
            x = np.asarray(mine[value], float)
            axis.plot(x, np.full(len(x), row), color=style.colour, lw=1, alpha=0.6)
            axis.scatter(
                x, np.full(len(x), row), sizes, style.colour, marker=style.marker, zorder=3
            )
        axis.set_title(name or "", fontsize=10, parse_math=False)
        _scale(axis, np.append(part[value].to_numpy(float), [] if right is None else right))
    axes[0].set_yticks(range(len(methods)), methods)
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    for text in axes[0].get_yticklabels():
        text.set_parse_math(False)
    figure.supxlabel(label, fontsize=10)
    if len(epsilons) > 1:
        figure.legend(
            handles=[
                Line2D([], [], color=_GREY, marker="o", linestyle="", label=f"ε = {epsilon:g}",
                       markersize=_mark_size(epsilons, epsilon) ** 0.5)
                for epsilon in epsilons
            ],
            loc="outside upper right", ncols=len(epsilons), frameon=False, fontsize=9,
        )  # fmt: skip
    return figure


def _mark_size(epsilons: list[float], epsilon: float) -> float:
    """Return the area of a mark, which grows with the rank of epsilon."""
    if len(epsilons) == 1:
        return 45.0
    return 18.0 + 62.0 * epsilons.index(epsilon) / (len(epsilons) - 1)


def _scale(axis: Axes, values: np.ndarray) -> None:
    """Set the scale and the ticks of the axis of values."""
    shown = values[np.isfinite(values)]
    low, high = shown.min(initial=np.inf), shown.max(initial=-np.inf)
    if low > 0 and 1.5 * low < high < np.inf:
        axis.set_xscale("log")
        axis.set_xlim(low / 1.6, high * 1.6)
        digits = (1, 2, 5) if high < 10 * low else (1, 3) if high < 100 * low else (1,)
        axis.xaxis.set_major_locator(LogLocator(subs=digits))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
    axis.tick_params(axis="x", labelsize=8)
    axis.grid(axis="x", color=_GREY, alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
