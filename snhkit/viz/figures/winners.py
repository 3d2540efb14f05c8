"""A coloured table of the methods with the smallest errors, by city and box size."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from snhkit.errors import InputError
from snhkit.viz.figures.style import method_styles


def winners_figure(errors: pd.DataFrame) -> Figure:
    """Draw a table of the methods with the smallest errors, for example by city and box size.

    The table has a row for each case, such as a city or a city with an epsilon, and a column for
    each box size. Each field shows the name and the error of the method with the smallest error,
    on the method's colour.

    Parameters
    ----------
    errors : DataFrame
        Mean relative errors (1 is 100 %), with one column for each method, named by the method's
        title. The last level of the row index is the box size; the other levels name the case. The
        errors are computed from the true records, so the figure is for the owner of the records
        only.

    Raises
    ------
    InputError
        If there is no row, the index has fewer than two levels, or an error is missing.

    Examples
    --------
    >>> index = pd.MultiIndex.from_tuples([("Miami", "100 m"), ("Miami", "1 km")])
    >>> figure = winners_figure(pd.DataFrame({"UG": [0.5, 0.1], "AG": [0.4, 0.2]}, index=index))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['AG\\n40.0%', 'UG\\n10.0%']
    """
    if errors.empty or errors.index.nlevels < 2:
        raise InputError(
            "winners_figure: the table must have rows, and a row index of at least two levels, "
            f"of which the last is the box size; there are {len(errors)} rows and "
            f"{errors.index.nlevels} levels."
        )
    if errors.isna().any(axis=None):
        raise InputError(
            "winners_figure: the table has missing values (nan); leave out their rows or methods."
        )
    best, who = errors.min(axis=1), errors.idxmin(axis=1)
    styles = method_styles(errors.columns)
    cases = list(dict.fromkeys(key[:-1] for key in errors.index))
    sizes = list(dict.fromkeys(key[-1] for key in errors.index))
    figure = Figure(figsize=(2.2 + 1.9 * len(sizes), 1.2 + 0.62 * len(cases)), layout="constrained")
    axis = figure.subplots()
    for key in errors.index:
        column, row = sizes.index(key[-1]), cases.index(key[:-1])
        axis.add_patch(
            Rectangle((column, row), 1, 1, color=styles[str(who[key])].colour, alpha=0.45)
        )
        axis.text(
            column + 0.5,
            row + 0.5,
            f"{who[key]}\n{best[key]:.1%}",
            ha="center",
            va="center",
            fontsize=11,
        )
    axis.set_xlim(0, len(sizes))
    axis.set_ylim(len(cases), 0)
    axis.set_xticks([k + 0.5 for k in range(len(sizes))], sizes)
    axis.set_yticks(
        [k + 0.5 for k in range(len(cases))], [", ".join(map(str, case)) for case in cases]
    )
    axis.set_xlabel("sides of the boxes")
    axis.set_title("least mean relative error", fontsize=12)
    axis.tick_params(length=0)
    axis.set_frame_on(False)
    for k in range(1, len(sizes)):
        axis.axvline(k, color="white", linewidth=3)
    for k in range(1, len(cases)):
        axis.axhline(k, color="white", linewidth=3)
    return figure
