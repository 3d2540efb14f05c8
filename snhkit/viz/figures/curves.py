"""Figures of released counts and of errors, and their conversion to SVG in a page's colours."""

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
from snhkit.viz.figures.style import EPSILON, method_styles

_INK = "#010203"  # replaced by the text colour of the page
_SIZE = (7.2, 3.1)
_NEAR = 10.0  # the scale of counts is linear up to this many records, and logarithmic above


def count_bars(table: pd.DataFrame) -> Figure:
    """Draw the released counts of a few boxes with error bars, and the true counts if given.

    The table has a row for each ``box`` and ``method`` with ``count``, ``low``, ``high`` (nan if
    unknown) and perhaps ``truth``; the figure is then for the owner of the records only.
    """
    need_columns("count_bars", table, "box", "method", "count", "low", "high")
    figure, axis = _figure()
    boxes, methods = list(dict.fromkeys(table["box"])), list(dict.fromkeys(table["method"]))
    styles = method_styles(methods)
    step = 0.7 / len(methods)
    for k, name in enumerate(methods):
        rows = table[table["method"] == name]
        at = np.array([boxes.index(box) for box in rows["box"]]) + (k + 0.5) * step - 0.35
        style = {**styles[name].line, "linestyle": ""}
        counts, low, high = (np.asarray(rows[of], float) for of in ("count", "low", "high"))
        # A count can lie outside its interval, since intervals do not reach below 0.
        known = np.nan_to_num(np.maximum([counts - low, high - counts], 0))
        axis.errorbar(at, counts, known, capsize=3, **style)
        axis.plot([], [], label=name, **style)
    if "truth" in table:
        true = np.asarray(table.drop_duplicates("box")["truth"], float)
        at = np.arange(len(boxes))
        axis.hlines(true, at - 0.42, at + 0.42, colors=_INK, linestyles=":", label="truth")
    axis.set_xticks(range(len(boxes)), [f"box {box}" for box in boxes])
    axis.set_ylabel("records")
    _small_and_large(axis, np.asarray(table["count"], float))
    _finish(axis)
    return figure


def error_curves(
    table: pd.DataFrame, against: str, *, label: str, band: tuple[float, float] | None = None
) -> Figure:
    """Draw the mean relative error of each method against epsilon or the size of the boxes.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``rel_error`` (1 is 100 %) and the column named by ``against``. The
        errors are computed from the true records, so the figure is for the owner of the records
        only.
    against : str
        The column of positive numbers for the horizontal axis, such as "epsilon".
    label : str
        The label of the horizontal axis.
    band : (float, float), optional
        The ends of an interval to shade on the horizontal axis.

    Raises
    ------
    InputError
        If a column is missing or there is no row.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["UG", "UG"], "rel_error": [0.4, 0.2], "epsilon": [0.1, 1]})
    >>> error_curves(table, "epsilon", label="epsilon").axes[0].get_ylabel()
    'mean relative error'
    """
    need_columns("error_curves", table, "method", "rel_error", against)
    figure, axis = _figure()
    if band is not None:
        axis.axvspan(*band, color="#808080", alpha=0.2, lw=0, label="chosen box sizes")
    means = table.pivot_table(index=against, columns="method", values="rel_error", sort=False)
    styles = method_styles(means.columns)
    for name in means.columns:
        curve = means[name].dropna().sort_index()
        axis.plot(np.asarray(curve.index), np.asarray(curve), label=name, **styles[name].line)
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


def against_truth(table: pd.DataFrame, top: float | None = None) -> Figure:
    """Draw counts against true counts, for their owner only, one panel for each ``method``.

    Axes are logarithmic above a hundredth of the largest; up to ``top``, if given, they are linear.
    """
    need_columns("against_truth", table, "method", "count", "truth")
    names = list(dict.fromkeys(table["method"]))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    high = max(2.6, 1.8 * rows) + 0.4
    figure = Figure(figsize=(_SIZE[0], high))
    title = 0.18 * (1 + any(EPSILON in name for name in names))  # inches; epsilon has a line
    top_edge = 1 - (0.08 + title) / high
    figure.subplots_adjust(0.1, 0.55 / high, 0.98, top_edge, hspace=0.12 + title, wspace=0.12)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    linear = top is not None
    top = max(float(np.max(table["truth"])) if top is None else top, 1.0)
    near = max(top / 100, 1)  # the axes are linear up to this count, since counts can be negative
    ticks = [0, *(10**k for k in range(10) if 2 * near < 10**k <= top)]
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    styles = method_styles(names)
    for axis, name in zip(axes, names, strict=False):
        part = table[table["method"] == name]
        axis.plot([0, top], [0, top], color=_INK, lw=0.8, ls=":")
        style = {**styles[name].line, "linestyle": ""}
        edge = 0.6 if styles[name].hollow else 0  # a hollow marker is its edge
        axis.plot(part["truth"], part["count"], ms=3, alpha=0.5, mew=edge, rasterized=True, **style)
        axis.set_title(name.replace(EPSILON, f"\n{EPSILON[2:]}"), fontsize=9, parse_math=False)
        if linear:
            axis.set(xlim=(-0.05 * top, 1.05 * top), ylim=(-0.25 * top, 1.25 * top))
        else:
            _on_both(axis, near, ticks)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("true count", fontsize=10)
    figure.supylabel("released count", fontsize=10)
    return figure


def _on_both(axis: Axes, near: float, ticks: Sequence[float]) -> None:
    """Make the scales of both axes linear up to ``near`` and logarithmic beyond."""
    for scale, set_ticks in (
        (axis.set_xscale, axis.set_xticks),
        (axis.set_yscale, axis.set_yticks),
    ):
        scale("symlog", linthresh=near)
        set_ticks(ticks, [f"{tick:,}" for tick in ticks])
        set_ticks([], minor=True)


def theme_svg(figure: Figure, label: str) -> str:
    """Return a figure as SVG without background, in the text colour of the page that shows it."""
    for text in figure.findobj(Text):
        text.set_color(_INK)  # pyright: ignore[reportAttributeAccessIssue]
    for spine in figure.findobj(Spine):
        spine.set_edgecolor(_INK)  # pyright: ignore[reportAttributeAccessIssue]
    for axis in figure.axes:
        axis.tick_params(which="both", colors=_INK)
    file = io.StringIO()
    # A tight box, since the names in a legend may be wider than the margin.
    options: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.03}
    figure.savefig(
        file, format="svg", transparent=True, dpi=144, metadata={"Date": None}, **options
    )
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(_INK, "currentColor")
    drawn = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", drawn, count=1)
    width = f'role="img" aria-label="{html.escape(label)}" width="{figure.get_figwidth() * 96:.0f}"'
    return re.sub(r' width="[^"]*"', f" {width}", drawn, count=1)


def _small_and_large(axis: Axes, values: np.ndarray) -> None:
    """Make the vertical scale linear near 0 and logarithmic beyond, so that small counts show."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), _NEAR)
    axis.set_yscale("symlog", linthresh=_NEAR)
    powers = [10.0**k for k in range(1, 10)]
    ticks = [*(-p for p in powers[::-1] if -p >= low), 0.0, *(p for p in powers if p <= high)]
    axis.set_yticks(ticks, [f"{tick:,.0f}".replace("-", "\u2212") for tick in ticks])
    axis.set_yticks([], minor=True)


def _few(ticks: Sequence[float], most: int = 8) -> list[float]:
    return list(ticks[:: -(-len(ticks) // most)])


def need_columns(who: str, table: pd.DataFrame, *columns: str) -> None:
    """Raise InputError, in the name of ``who``, if a table lacks a column or has no rows."""
    if missing := set(columns) - set(table.columns):
        raise InputError(f"{who}: the table lacks the column {', '.join(sorted(missing))}.")
    if table.empty:
        raise InputError(f"{who}: the table has no rows; give at least one.")


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SIZE)  # fixed margins, since a layout engine is slow
    figure.subplots_adjust(left=0.1, right=0.74, bottom=0.17, top=0.97)
    return figure, figure.subplots()


def _finish(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#808080", alpha=0.25)
    legend = axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)
