"""Errors of SNH without each of its parts: python benchmarks/ablation.py [--help].

Needs a folder with sf_cabs.npy and san_francisco_gowalla_checkins.csv.gz. Prints, as Markdown, the
mean relative error of 5,000 squares of 25 to 100 m around records of San Francisco's taxis, and the
sum of the answers to all 25 m squares divided by n. All rows of networks have the same noise. The
paper's networks are reduced: 10 layers instead of 22, k = 2 and 500 steps. They are trained at one
epsilon only, for about a minute a row on two idle cores. benchmarks/paper_network.py trains
networks of full depth for an hour.
"""

import argparse
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from cabs import SMALL_M, Task, mean_errors, squares
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import Builder
from snhkit.geometry import Grid
from snhkit.neural import MLP, Networks, Prior


@dataclass(frozen=True)
class Effort:
    """Sizes of the experiments: epsilons, boxes, networks and training steps."""

    epsilons: tuple[float, ...] = (0.05, 0.2, 0.8)
    boxes: int = 5_000
    mlp: MLP = field(default_factory=lambda: MLP(depth=10))
    mlp_steps: int = 500
    mlp_batch: int = 4_096
    steps: int = 200
    turns: int = 8
    ks: tuple[int, ...] = (1, 4)


QUICK = Effort(
    epsilons=(0.2,), boxes=500, mlp=MLP(3, 8), mlp_steps=5, mlp_batch=64, steps=5, turns=1, ks=(1,)
)


def rows(effort: Effort) -> dict[str, Builder]:
    """Return the compared builders, by the label of their row."""
    paper = Networks.paper(
        k=2,
        network=effort.mlp,
        steps=effort.mlp_steps,
        batch=effort.mlp_batch,
        positions="scattered",
    )
    encoder = Networks(steps=effort.steps)
    prior = Prior(effort.turns)
    reduced = f"the paper's, reduced: {effort.mlp.depth} layers, k = 2, {effort.mlp_steps:,} steps"
    learners = {
        reduced: paper,
        "the same, squares on the corners of cells only": replace(paper, positions="aligned"),
        "the same, coordinates in [-1, 1]": replace(paper, network=replace(effort.mlp, span=2)),
        "the same, coordinates in [-5, 5]": replace(paper, network=replace(effort.mlp, span=10)),
        "the same, squares without workload kept": replace(paper, workload_floor=0.5),
        "encoder: the default `SNH`": encoder,
        "encoder, not trained (no SNH: the start of its map)": replace(
            encoder, steps=1, learning_rate=1e-9
        ),
        "encoder, squares without workload kept": replace(encoder, workload_floor=0.5),
        "encoder, negative labels kept": replace(encoder, clip_labels=False),
    }
    learners |= {f"encoder, k = {k}": replace(encoder, k=k) for k in effort.ks}
    alone = {name: snh.SNH(networks=learner) for name, learner in learners.items()}
    cleaned = {
        "not SNH: the encoder on a denoised grid": snh.SNH(prior=prior, networks=encoder),
        "not SNH: `DenoisedGrid`": snh.DenoisedGrid(prior=prior),
    }
    found: dict[str, Builder] = {"Identity": snh.Identity()}
    return found | alone | cleaned


def sums(builder: Builder, task: Task, seed: int, epsilon: float) -> float:
    """Return the sum of the answers to all 25 m squares of the region, divided by n."""
    release = task.data.release(builder, epsilon=epsilon, public=task.public, seed=seed)
    tiles = Grid.of_width(release.model.region, SMALL_M[0]).boxes()
    return float(release.answer(tiles).sum() / task.data.n)


def main(folder: Path, effort: Effort, draws: int, containing: str) -> None:
    """Print the table of errors, with the rows whose labels contain a text."""
    start = time.perf_counter()
    task = squares(folder, SMALL_M, effort.boxes)
    print(f"\n{effort.boxes:,} squares of 25 to 100 m, {draws} draws\n")
    middle = effort.epsilons[len(effort.epsilons) // 2]
    names = (*map(str, effort.epsilons), f"25 m tiles over n, at {middle}")
    print("| epsilon |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|", flush=True)
    chosen = {name: builder for name, builder in rows(effort).items() if containing in name}
    for name, builder in tqdm(chosen.items(), unit="row", leave=False):
        slow = isinstance(builder, snh.SNH) and isinstance(builder.networks.network, MLP)
        asked = (middle,) if slow else effort.epsilons
        errors = dict(zip(asked, mean_errors(builder, task, range(draws), asked), strict=True))
        found = [f"{errors[e]:.3f}" if e in errors else "" for e in effort.epsilons]
        tqdm.write(f"| {name} | {' | '.join(found)} | {sums(builder, task, 0, middle):.2f} |")
    print(f"\n{(time.perf_counter() - start) / 60:.0f} minutes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Errors of SNH without each part.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="few boxes and steps, as a test")
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows that contain TEXT")
    given = parser.parse_args()
    main(given.folder, QUICK if given.quick else Effort(), given.draws, given.rows)
