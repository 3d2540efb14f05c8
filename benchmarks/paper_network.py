"""Error of the paper's network against training time: python benchmarks/paper_network.py [--help].

Needs a folder with sf_cabs.npy and san_francisco_gowalla_checkins.csv.gz. Trains k fully connected
networks on squares anywhere in one noisy grid of San Francisco's taxis, with cells of the default
width. During training, measures the mean relative error of 5,000 squares of 25 to 100 m around
records, and appends it to a csv file. The learning rate is the authors', a constant 0.001. With
``--steps``, the rate falls to 0 along a cosine from ``--rate``, and training ends after that number
of steps. ``--draw`` draws the figure docs/figures/paper_network.png from the file.
"""

import argparse
import contextlib
import csv
import time
from pathlib import Path

import numpy as np
from cabs import SMALL_M, Task, squares

import snhkit as snh
from snhkit.geometry import SummedArea
from snhkit.metrics import relative_errors, smoothing
from snhkit.models import GridModel
from snhkit.neural import MLP, Networks
from snhkit.neural.networks.model import SNHModel

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
CURVES = FIGURES / "paper_network.csv"
COLUMNS = ("depth", "width", "k", "batch", "rate", "epsilon", "steps", "seconds", "error")
SEED = 0


class Enough(Exception):  # noqa: N818 - not an error
    """Raised to end the training after a number of minutes."""


def error(release_or_model: snh.Release | SNHModel, task: Task) -> float:
    """Return the mean relative error of the answers to the task's squares."""
    answers = release_or_model.answer(task.boxes)
    return float(relative_errors(answers, task.truth, task.data.n).mean())


def follow(folder: Path, networks: Networks, epsilon: float, minutes: float) -> None:
    """Train, and append the error to the file after 25, 50, 100, 250, and every 500 steps."""
    task = squares(folder, SMALL_M)
    plain = task.data.release(snh.Identity(), epsilon=epsilon, seed=SEED)
    zero = relative_errors(0 * task.truth, task.truth, task.data.n).mean()
    print(f"Identity on the same noise {error(plain, task):.4f}, answering 0 {zero:.4f}")
    assert isinstance(plain.model, GridModel)
    grid = plain.model.grid
    network = networks.network
    assert isinstance(network, MLP)
    rate = f"{networks.learning_rate:g} {networks.schedule}"
    settings = (network.depth, network.width, networks.k, networks.batch, rate)
    start, paused = time.perf_counter(), 0.0

    def watch(steps: int, model: SNHModel) -> None:
        nonlocal paused
        spent = time.perf_counter() - start - paused
        over = spent > 60 * minutes
        if over or steps in (25, 50, 100, 250, networks.steps) or steps % 500 == 0:
            now = time.perf_counter()
            row = (*settings, epsilon, steps, round(spent, 1), round(error(model, task), 4))
            with CURVES.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(row)
            print(*row, flush=True)
            paused += time.perf_counter() - now
        if over:
            raise Enough

    with contextlib.suppress(Enough):
        networks.learn(
            SummedArea(grid, plain.model.values.astype(float)),
            SMALL_M,
            smoothing(task.data.n),
            1 / epsilon,
            task.public,
            watch,
        )


def draw(folder: Path) -> None:
    """Draw the errors in the csv file against time, with lines for Identity and for answering 0."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    task = squares(folder, SMALL_M)
    plain = task.data.release(snh.Identity(), epsilon=0.2, seed=SEED)
    identity = error(plain, task)
    zero = relative_errors(0 * task.truth, task.truth, task.data.n).mean()
    rows = list(csv.DictReader(CURVES.read_text().splitlines()))
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    names = list(dict.fromkeys(tuple(row[c] for c in COLUMNS[:6]) for row in rows))
    dashes = ("-", "--", "-.", ":")
    for i, key in enumerate(names):
        own = [row for row in rows if tuple(row[c] for c in COLUMNS[:6]) == key]
        steps, errors = (np.array([float(row[c]) for row in own]) for c in ("steps", "error"))
        trained = steps > 0
        label = f"{key[0]} layers of {key[1]}, k = {key[2]}, rate {key[4]}"
        style = dashes[i % len(dashes)]
        axes.plot(steps[trained], errors[trained], style, lw=2, label=label)
    for level, name in ((identity, "Identity on the same noise"), (zero, "answering 0")):
        axes.axhline(level, color="#888888", lw=1, zorder=0)
        axes.annotate(name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    axes.set(xscale="log", xlabel="Adam steps", ylabel="mean relative error", ylim=(0, 0.4))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.9))
    figure.savefig(CURVES.with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Error of the paper's network by time.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--depth", type=int, default=22, help="linear layers")
    parser.add_argument("--width", type=int, default=80)
    parser.add_argument("-k", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4_096)
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--steps", type=int, help="end of a falling rate [default: constant rate]")
    parser.add_argument("--epsilon", type=float, default=0.2)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--draw", action="store_true", help="draw the figure, without training")
    given = parser.parse_args()
    if given.draw:
        draw(given.folder)
    else:
        if not CURVES.exists():
            CURVES.write_text(",".join(COLUMNS) + "\n")
        networks = Networks.paper(
            k=given.k,
            network=MLP(given.depth, given.width),
            positions="scattered",
            batch=given.batch,
            steps=given.steps or 1_000_000,
            learning_rate=given.rate,
            schedule="cosine" if given.steps else "constant",
        )
        follow(given.folder, networks, given.epsilon, given.minutes)
