"""Loss curves of DP-SGD: ``python benchmarks/dpsgd.py`` draws docs/figures/dpsgd.png.

The records are synthetic, because losses are computed from true counts. Squares are 500 to 2,000 m
wide: a network this small learns nothing about squares of 25 to 100 m in so few steps, even without
noise.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import snhkit as snh
from snhkit.neural.dpsgd import INPUTS, descend
from snhkit.neural.networks.network import parameter_count
from snhkit.privacy import ReplayableEntropy, exact
from snhkit.privacy.gradients import NoisyGradients, gradient_noise

OUT = Path(__file__).parents[1] / "docs" / "figures" / "dpsgd.png"
BUILDER = snh.DPSGD(sizes_m=(500, 2000))
SEEDS = range(3)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
# By epsilon: a colour of Okabe and Ito, and a dash pattern, so that colours are not needed.
LINES = {
    None: ("without noise", "#000000", "-"),
    Fraction(10): ("epsilon = 10", "#0072B2", "--"),
    Fraction(1): ("epsilon = 1", "#E69F00", "-."),
    Fraction(1, 5): ("epsilon = 0.2", "#D55E00", ":"),
}


@cache
def city(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs of training squares, and their exact counts in units of the scale."""
    records = snh.synthetic_points("milwaukee", n=100_000)
    builder = replace(BUILDER, seed=seed)
    boxes, inputs, scale = builder.training_set(records.region, len(records))
    return inputs, snh.exact_counts(records, boxes) / scale


@cache
def noise(epsilon: Fraction | None, seed: int) -> np.ndarray:
    """Return the noise of the gradient for every step and parameter, shape (steps, parameters)."""
    shape = (BUILDER.steps, parameter_count(BUILDER.network, INPUTS))
    if epsilon is None:
        return np.zeros(shape, np.float32)
    delta, entropy = exact(BUILDER.delta), ReplayableEntropy(seed)
    sensitivity = 2 * BUILDER.batch * BUILDER.clip
    return gradient_noise(*shape, sensitivity, epsilon, delta, entropy)[0]


def losses(epsilon: Fraction | None, rate: float, seed: int) -> np.ndarray:
    """Return the loss before each step, shape (steps,), divided by the loss of a constant answer.

    The constant is the mean label.
    """
    inputs, labels = city(seed)
    found = []
    predict = jax.jit(
        lambda params: BUILDER.network.apply(params, jnp.asarray(inputs, jnp.float32))
    )
    descend(
        BUILDER.network,
        inputs,
        NoisyGradients(labels, noise(epsilon, seed), batch=BUILDER.batch, clip=BUILDER.clip),
        steps=BUILDER.steps,
        batch=BUILDER.batch,
        learning_rate=rate,
        seed=seed,
        watch=lambda params: found.append(np.mean((predict(params) - labels) ** 2)),
    )
    return np.array(found) / labels.var()


def main() -> None:
    """Print the last losses, and draw the loss curves."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.6), layout="constrained", gridspec_kw={"wspace": 0.05}
    )
    usual = BUILDER.learning_rate
    for epsilon, (name, colour, dash) in LINES.items():
        curves = {r: np.mean([losses(epsilon, r, s) for s in SEEDS], axis=0) for r in RATES}
        last = [curve[-1] for curve in curves.values()]
        print(f"{name:14}", *(f"{rate:g}: {v:.3g}" for rate, v in zip(RATES, last, strict=True)))
        style = {"color": colour, "linestyle": dash, "linewidth": 2}
        left.plot(curves[usual], label=name, **style)
        right.plot(RATES, last, marker="o", markersize=5, **style)
    for axes in (left, right):
        axes.axhline(1, color="#888888", linewidth=1, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
    left.set(xlabel="step", ylabel="loss (1: answering the mean)", ylim=(0, 1.4))
    left.set_title(f"at learning rate {usual:g}", fontsize=10)
    left.legend(frameon=False, loc="lower left")
    right.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="loss, on a log scale")
    right.set_title("after the last step, at any learning rate", fontsize=10)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT, dpi=110)
    print(OUT)


if __name__ == "__main__":
    main()
