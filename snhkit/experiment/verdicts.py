"""Functions that test whether a measured figure agrees with a finding of the paper.

Each function takes the points of a figure, a table with the columns ``data``, ``line``, ``x``,
``epsilon`` and ``value``, and returns whether they agree and a sentence with the numbers.
"""

from typing import Any

import numpy as np

from snhkit.experiment.methods import title

__all__ = [
    "PAPERS_NETWORK",
    "cheap",
    "deeper_helps",
    "falls",
    "falls_and_snh_least",
    "no_matter_at_large_k",
    "paramselect_wins",
    "rises",
    "snh_least",
    "snh_wins",
    "u_shape",
]


PAPERS_NETWORK = "Paper's network, short training"
"""The name of the plotted line of SNH with the paper's fully connected network."""

_OTHERS = [title(key) for key in ("ug", "ag", "privtree", "dawa")]


def snh_wins(table: Any) -> tuple[bool, str]:
    """Return whether SNH's error is below those of UG, AG, PrivTree and DAWA at every point."""
    wide = table.pivot_table(index=["data", "x"], columns="line", values="value")
    others = wide[_OTHERS].min(axis=1)
    below = wide["SNH"] < others
    plain = (wide["SNH"] < wide["Identity"]).sum()
    return bool(below.all()), (
        f"SNH is below UG, AG, PrivTree and DAWA in {int(below.sum())} of {len(below)} cases "
        f"(geometric mean of the ratio to the best of them {_ratio(wide['SNH'], others):.2f}), and "
        f"below a plain grid in {int(plain)}. The denoised grid is at "
        f"{_ratio(wide['Denoised grid'], others):.2f} of the best of the four, the paper's network "
        f"after its short training at {_ratio(wide[PAPERS_NETWORK], others):.2f}."
    )


def _ratio(one, other) -> float:
    return float(np.exp(np.mean(np.log(np.asarray(one) / np.asarray(other)))))


def falls(table: Any) -> tuple[bool, str]:
    """Return whether each line's last value is below its first value, and the numbers."""
    ordered = table.sort_values("x").groupby("line", sort=False)["value"]
    falls = ordered.last() < ordered.first()
    told = ", ".join(f"{k} {a:.3f} to {b:.3f}" for (k, a), b in
                     zip(ordered.first().items(), ordered.last(), strict=True))  # fmt: skip
    return bool(falls.all()), f"From the smallest to the largest number: {told}."


def falls_and_snh_least(table: Any) -> tuple[bool, str]:
    """Return whether each line falls and SNH is below UG, AG, PrivTree and DAWA everywhere."""
    wide = table.pivot_table(index="x", columns="line", values="value")
    below = wide["SNH"] < wide[_OTHERS].min(axis=1)
    agrees, told = falls(table)
    return agrees and bool(below.all()), (
        f"{told} SNH is below UG, AG, PrivTree and DAWA at {int(below.sum())} of {len(below)} n."
    )


def rises(table: Any) -> tuple[bool, str]:
    """Return whether each line's last value is above its first value, and the numbers."""
    told = falls(table)[1]
    ordered = table.sort_values("x").groupby("line", sort=False)["value"]
    return bool((ordered.last() > ordered.first()).all()), told


def snh_least(table: Any) -> tuple[bool, str]:
    """Return whether SNH has the least error everywhere, with a smaller lead at large epsilon.

    The lead is the ratio of SNH's error to that of ``Identity@ParamSelect``.
    """
    wide = table.pivot_table(index="x", columns="line", values="value")
    ratios = {line: (wide["SNH"] / wide[line]).round(2) for line in wide.columns if line != "SNH"}
    told = "; ".join(
        f"SNH over {line}: " + ", ".join(f"{value:.2f} at {x:g}" for x, value in ratio.items())
        for line, ratio in ratios.items()
    )
    plain = ratios["Identity@ParamSelect"]
    below = all((ratio < 1).all() for ratio in ratios.values())
    return bool(below and plain.iloc[-1] >= plain.iloc[0]), f"{told}."


def no_matter_at_large_k(table: Any) -> tuple[bool, str]:
    """Return whether SNH+QS is within a tenth of SNH at the largest k, and the numbers."""
    wide = table.pivot_table(index="x", columns="line", values="value")
    ratio = wide["SNH+QS"] / wide["SNH"]
    told = ", ".join(f"{value:.2f} at k = {x:g}" for x, value in ratio.items())
    return bool(abs(ratio.iloc[-1] - 1) < 0.1), f"SNH+QS over SNH: {told}."


def paramselect_wins(table: Any) -> tuple[bool, str]:
    """Return whether SNH has a smaller error with ParamSelect's cell width than with UG's."""
    wide = table.pivot_table(index="x", columns="line", values="value")
    ratio = wide["SNH@ParamSelect"] / wide["SNH@UG"]
    told = ", ".join(f"{value:.2f} at {x:g}" for x, value in ratio.items())
    return bool((ratio < 1).all()), f"SNH@ParamSelect over SNH@UG: {told}."


def u_shape(table: Any) -> tuple[bool, str]:
    """Return whether the error is smallest at a middle width, and near it at ParamSelect's width.

    Near means at most a tenth above the smallest error.
    """
    told, agree = [], True
    for epsilon, part in table.groupby("epsilon"):
        chosen = part.line.str.startswith("ParamSelect")
        line = part[~chosen].sort_values("x")["value"].to_numpy()
        agree &= 0 < int(line.argmin()) < len(line) - 1
        value = float(part[chosen]["value"].iloc[0])
        agree &= value <= 1.1 * line.min()
        told.append(f"epsilon {epsilon:g}: ends {line[0]:.3f} and {line[-1]:.3f}, least "
                    f"{line.min():.3f}, at ParamSelect's width {value:.3f}")  # fmt: skip
    return agree, "; ".join(told) + "."


def deeper_helps(table: Any) -> tuple[bool, str]:
    """Return whether more layers help, but the most layers do not give the least error."""
    told, agree = [], True
    for line, part in table.groupby("line", sort=False):
        ordered = part.sort_values("x")
        values = ordered["value"].to_numpy()
        agree &= bool(values[0] > values[1:].min() and values.argmin() < len(values) - 1)
        told.append(f"{line}: " + ", ".join(
            f"{v:.3f} at {x:g}" for x, v in zip(ordered["x"], values, strict=True)))  # fmt: skip
    return agree, f"Error by depth: {'; '.join(told)}."


def cheap(table: Any) -> tuple[bool, str]:
    """Return whether SNH needs less time and space than in the paper, and the numbers."""
    told = [
        f"{line}: {part.value.iloc[0]:.1f} s to build, {part.value.iloc[1]:.1f} µs a query, "
        f"{part.value.iloc[2]:.2f} MB"
        for line, part in table.groupby("line", sort=False)
    ]
    snh = table[table.line == "SNH"].value.to_numpy()
    return bool(snh[0] < 1200 and snh[1] < 329 and snh[2] < 4.06), "; ".join(told) + "."
