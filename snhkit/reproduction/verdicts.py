"""Functions that test whether a measured figure agrees with a finding of the paper.

The argument of each function is a table of the figure's points, with the columns ``data``,
``line``, ``x``, ``epsilon`` and ``value``. The result is whether the points agree with the finding,
and a sentence with the numbers.
"""

from typing import Any

import numpy as np

from snhkit.methods import title

PAPERS_NETWORK = "Paper's network, short training"
"""The name of the line of a figure that shows SNH with the paper's fully connected network."""

_OTHERS = [title(key) for key in ("ug", "ag", "privtree", "dawa")]


def snh_wins(table: Any) -> tuple[bool, str]:
    """Return whether SNH has a smaller error than UG, AG, PrivTree and DAWA at every point."""
    wide = table.pivot_table(index=["data", "x"], columns="line", values="value")
    others = wide[_OTHERS].min(axis=1)
    below = wide["SNH"] < others
    plain = (wide["SNH"] < wide["Identity"]).sum()
    above = ", ".join(f"{data} at {x:g}" for data, x in below.index[~below])
    return bool(below.all()), (
        f"The error of SNH is smaller than those of UG, AG, PrivTree and DAWA in "
        f"{int(below.sum())} of {len(below)} cases{f' (not {above})' if above else ''}, and "
        f"smaller than that of Identity in {int(plain)}. Geometric means of the ratio to the "
        f"smallest error of the four: SNH {_ratio(wide['SNH'], others):.2f}, denoised grid "
        f"{_ratio(wide['Denoised grid'], others):.2f}, the paper's network after short training "
        f"{_ratio(wide[PAPERS_NETWORK], others):.2f}. DAWA has a "
        "first stage of its own here, so its errors are not those in the paper."
    )


def _ratio(one, other) -> float:
    return float(np.exp(np.mean(np.log(np.asarray(one) / np.asarray(other)))))


def falls(table: Any) -> tuple[bool, str]:
    """Return whether, on each line, the error at the largest x is below that at the smallest x."""
    ordered = table.sort_values("x").groupby("line", sort=False)["value"]
    falls = ordered.last() < ordered.first()
    told = ", ".join(f"{k} {a:.3f} and {b:.3f}" for (k, a), b in
                     zip(ordered.first().items(), ordered.last(), strict=True))  # fmt: skip
    return bool(falls.all()), f"Errors at the left and the right end of the axis: {told}."


def more_networks_help(table: Any) -> tuple[bool, str]:
    """Return whether many networks take a tenth off the error at the largest epsilon."""
    fall, told = falls(table)
    ordered = table[table["epsilon"] == table["epsilon"].max()].sort_values("x")["value"]
    agrees = fall and bool(ordered.iloc[-1] <= 0.9 * ordered.iloc[0])
    why = " The default networks share one map of counts, so more of them change little."
    return agrees, told if agrees else told + why


def falls_and_snh_least(table: Any) -> tuple[bool, str]:
    """Return whether all lines fall, and SNH is below UG, AG, PrivTree and DAWA at every x."""
    wide = table.pivot_table(index="x", columns="line", values="value")
    below = wide["SNH"] < wide[_OTHERS].min(axis=1)
    agrees, told = falls(table)
    return agrees and bool(below.all()), (
        f"{told} The error of SNH is smaller than those of UG, AG, PrivTree and DAWA at "
        f"{int(below.sum())} of {len(below)} numbers of records."
    )


def rises(table: Any) -> tuple[bool, str]:
    """Return whether, on each line, the error at the largest x is above that at the smallest x."""
    told = falls(table)[1]
    ordered = table.sort_values("x").groupby("line", sort=False)["value"]
    agrees = bool((ordered.last() > ordered.first()).all())
    why = (
        " A larger square holds more records and more noisy cells; where records share few places, "
        "as in invented cities, the counts grow faster than the noise."
    )
    return agrees, told if agrees else told + why


def snh_least(table: Any) -> tuple[bool, str]:
    """Return whether SNH has the least error at all epsilons, with a lead that does not grow."""
    wide = table.pivot_table(index="x", columns="line", values="value")
    ratios = {line: (wide["SNH"] / wide[line]).round(2) for line in wide.columns if line != "SNH"}
    told = "; ".join(
        f"error of SNH divided by that of {line}: "
        + ", ".join(f"{value:.2f} at {x:g}" for x, value in ratio.items())
        for line, ratio in ratios.items()
    )
    plain = ratios["Identity@ParamSelect"]
    below = all((ratio < 1).all() for ratio in ratios.values())
    agrees = bool(below and plain.iloc[-1] >= plain.iloc[0])
    why = " At equal width, SNH keeps the noisy counts of dense cells and smooths the others."
    return agrees, f"By epsilon: {told}.{'' if agrees else why}"


def no_matter_at_large_k(table: Any) -> tuple[bool, str]:
    """Return whether SNH+QS and SNH differ by less than a tenth at the largest k."""
    ratio, told = _divided(table, "SNH+QS", "SNH", "k =")
    return bool(abs(ratio.iloc[-1] - 1) < 0.1), told


def paramselect_wins(table: Any) -> tuple[bool, str]:
    """Return whether SNH has a smaller error with ParamSelect's width at each epsilon."""
    ratio, told = _divided(table, "SNH@ParamSelect", "SNH@UG", "epsilon")
    return bool((ratio < 1).all()), told


def _divided(table: Any, one: str, other: str, axis: str) -> tuple[Any, str]:
    """Return the ratio of two lines by x, and a sentence with it."""
    wide = table.pivot_table(index="x", columns="line", values="value")
    ratio = wide[one] / wide[other]
    told = ", ".join(f"{value:.2f} at {axis} {x:g}" for x, value in ratio.items())
    return ratio, f"Error of {one} divided by that of {other}: {told}."


def u_shape(table: Any) -> tuple[bool, str]:
    """Return whether the best width is inside, and ParamSelect's error within a tenth of it."""
    told, agree = [], True
    for epsilon, part in table.groupby("epsilon"):
        chosen = part.line.str.startswith("ParamSelect")
        line = part[~chosen].sort_values("x")["value"].to_numpy()
        agree &= 0 < int(line.argmin()) < len(line) - 1
        value = float(part[chosen]["value"].iloc[0])
        agree &= value <= 1.1 * line.min()
        told.append(f"at epsilon {epsilon:g}, {line[0]:.3f} with the narrowest cells, "
                    f"{line[-1]:.3f} with the widest, {line.min():.3f} with the best, and "
                    f"{value:.3f} with ParamSelect's")  # fmt: skip
    why = (
        " ParamSelect knows only n, epsilon and public points; where the records are more or less "
        "concentrated than these suggest, another width is better."
    )
    return bool(agree), f"Error {'; '.join(told)}.{'' if agree else why}"


def deeper_helps(table: Any) -> tuple[bool, str]:
    """Return whether, on each line, neither the fewest nor the most layers have the least error."""
    told, agree = [], True
    for line, part in table.groupby("line", sort=False):
        ordered = part.sort_values("x")
        values = ordered["value"].to_numpy()
        agree &= bool(values[0] > values[1:].min() and values.argmin() < len(values) - 1)
        told.append(f"{line}: " + ", ".join(
            f"{v:.3f} at {x:g}" for x, v in zip(ordered["x"], values, strict=True)))  # fmt: skip
    why = (
        "" if agree else " Networks are trained for few steps here, in which depth matters little."
    )
    return agree, f"Error by number of layers: {'; '.join(told)}.{why}"


def cheap(table: Any) -> tuple[bool, str]:
    """Return whether builds, queries and files of SNH cost less than in the paper."""
    told = [
        f"{line}: {part.value.iloc[0]:.1f} s to build, {part.value.iloc[1]:.1f} µs per query, "
        f"{part.value.iloc[2]:.2f} MB"
        for line, part in table.groupby("line", sort=False)
    ]
    snh = table[table.line == "SNH"].value.to_numpy()
    return bool(snh[0] < 1200 and snh[1] < 329 and snh[2] < 4.06), "; ".join(told) + "."
