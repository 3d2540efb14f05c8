"""Figures of what releases say and how wrong they are, in a notebook's own colours."""

import html
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.spines import Spine
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from snhkit.errors import InputError
from snhkit.experiment.methods import METHODS
from snhkit.viz.maps.surface import COLOURS

__all__ = ["against_truth", "count_bars", "error_curves", "method_style", "theme_svg"]

# Okabe and Ito's colours but yellow, which is lost on white, and black, which is lost on black.
_COLOURS = (*COLOURS[:6], "#808080")
_MARKERS = "osD^vP*Xdph<>H8"
_INK = "#010203"  # stands for the page's own text colour
_SIZE = (7.2, 3.1)


def method_style(title: str) -> dict[str, Any]:
    """Colour, marker and line of a method, the same in every figure.

    Examples
    --------
    >>> method_style("SNH")
    {'color': '#0072B2', 'marker': 'o', 'linestyle': '-'}
    """
    # The last ones share a colour with the first, and are dashed.
    titles = sorted(
        (method.title for method in METHODS.values()),
        key=lambda t: t not in ("SNH", "Denoised grid"),
    )
    k = titles.index(title) if title in titles else len(titles)
    return {
        "color": _COLOURS[k % len(_COLOURS)],
        "marker": _MARKERS[k % len(_MARKERS)],
        "linestyle": "--" if k >= len(_COLOURS) else "-",
    }


def count_bars(table: pd.DataFrame) -> Figure:
    """Released counts of a few boxes with their error bars, and the truth if it is given.

    Parameters
    ----------
    table : DataFrame
        Columns ``box`` (its number), ``method``, ``count``, ``error`` (one standard deviation, nan
        where not known) and, if it may be shown, ``truth``.
    """
    _need("count_bars", table, "box", "method", "count", "error")
    figure, axis = _figure()
    boxes, methods = list(dict.fromkeys(table["box"])), list(dict.fromkeys(table["method"]))
    step = 0.7 / len(methods)
    for k, name in enumerate(methods):
        rows = table[table["method"] == name]
        at = np.array([boxes.index(box) for box in rows["box"]]) + (k + 0.5) * step - 0.35
        style = {**method_style(name), "linestyle": ""}
        bars = np.nan_to_num(np.asarray(rows["error"], float))
        axis.errorbar(at, np.asarray(rows["count"], float), bars, capsize=3, **style)
        axis.plot([], [], label=name, **style)
    if "truth" in table:
        true = np.asarray(table.drop_duplicates("box")["truth"], float)
        at = np.arange(len(boxes))
        axis.hlines(true, at - 0.42, at + 0.42, colors=_INK, linestyles=":", label="truth")
    axis.set_xticks(range(len(boxes)), [f"box {box}" for box in boxes])
    axis.set_ylabel("records")
    _finish(axis)
    return figure


def error_curves(
    table: pd.DataFrame, against: str, *, label: str, band: tuple[float, float] | None = None
) -> Figure:
    """Mean relative error of each method, against epsilon or against the boxes' size.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``rel_error`` (1 is 100 %) and ``against``. Such errors are computed
        from the true records: the figure is for their owner.
    against : str
        A column of positive numbers.
    label : str
        What it is called on the axis.
    band : (float, float), optional
        A part of the axis to shade.
    """
    _need("error_curves", table, "method", "rel_error", against)
    figure, axis = _figure()
    if band is not None:
        axis.axvspan(*band, color="#808080", alpha=0.2, lw=0, label="your box sizes")
    means = table.pivot_table(index=against, columns="method", values="rel_error", sort=False)
    for name in means.columns:
        curve = means[name].dropna().sort_index()
        axis.plot(np.asarray(curve.index), np.asarray(curve), label=name, **method_style(name))
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = sorted(set(table[against]))
    axis.set_xticks(_few(ticks), [f"{tick:,.4g}" for tick in _few(ticks)])
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
    axis.set_xlabel(label)
    axis.set_ylabel("mean relative error")
    _finish(axis)
    return figure


def against_truth(table: pd.DataFrame) -> Figure:
    """Released counts against true ones, a panel for each method.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``count`` and ``truth``, which is for the owner's eyes.
    """
    _need("against_truth", table, "method", "count", "truth")
    names = list(dict.fromkeys(table["method"]))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    high = max(2.6, 1.8 * rows) + 0.4
    figure = Figure(figsize=(_SIZE[0], high))
    figure.subplots_adjust(0.1, 0.55 / high, 0.98, 1 - 0.25 / high, hspace=0.3, wspace=0.12)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    top = max(float(np.max(table["truth"])), 1.0)
    near = max(top / 100, 1)  # what lies below is drawn evenly: noise makes counts negative
    ticks = [0, *(10**k for k in range(10) if 2 * near < 10**k <= top)]
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes, names, strict=False):
        part = table[table["method"] == name]
        axis.plot([0, top], [0, top], color=_INK, lw=0.8, ls=":")
        style = {**method_style(name), "linestyle": ""}
        axis.plot(part["truth"], part["count"], ms=3, alpha=0.5, mew=0, rasterized=True, **style)
        axis.set_title(name, fontsize=10)
        for scale, set_ticks in (
            (axis.set_xscale, axis.set_xticks),
            (axis.set_yscale, axis.set_yticks),
        ):
            scale("symlog", linthresh=near)
            set_ticks(ticks, [f"{tick:,}" for tick in ticks])
            set_ticks([], minor=True)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("true count", fontsize=10)
    figure.supylabel("released count", fontsize=10)
    return figure


def theme_svg(figure: Figure, label: str) -> str:
    """A figure as SVG for a page: no background, and lines and letters in the page's text colour.

    Parameters
    ----------
    figure : Figure
        Its texts, frames and ticks are recoloured.
    label : str
        What a screen reader says of it.
    """
    for text in figure.findobj(Text):
        text.set_color(_INK)  # pyright: ignore[reportAttributeAccessIssue]
    for spine in figure.findobj(Spine):
        spine.set_edgecolor(_INK)  # pyright: ignore[reportAttributeAccessIssue]
    for axis in figure.axes:
        axis.tick_params(which="both", colors=_INK)
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, dpi=144, metadata={"Date": None})
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(_INK, "currentColor")
    drawn = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", drawn, count=1)
    width = f'role="img" aria-label="{html.escape(label)}" width="{figure.get_figwidth() * 96:.0f}"'
    return re.sub(r' width="[^"]*"', f" {width}", drawn, count=1)


def _few(ticks: Sequence[float], most: int = 8) -> list[float]:
    return list(ticks[:: -(-len(ticks) // most)])


def _need(who: str, table: pd.DataFrame, *columns: str) -> None:
    if missing := set(columns) - set(table.columns):
        raise InputError(f"{who}: the table has no column {', '.join(sorted(missing))}.")
    if table.empty:
        raise InputError(f"{who}: the table has no row.")


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SIZE)  # laid out by hand: an engine takes as long as the drawing
    figure.subplots_adjust(left=0.1, right=0.79, bottom=0.17, top=0.97)
    return figure, figure.subplots()


def _finish(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#808080", alpha=0.25)
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
