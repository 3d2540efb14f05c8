"""What each part of SNH is worth: python benchmarks/ablation.py [--help].

Needs a folder with sf_cabs.npy and san_francisco_gowalla_checkins.csv.gz. Prints, as Markdown, the
mean relative error of 5,000 squares of 25 to 100 m on San Francisco's taxis; all rows but the last
see the same noise, in cells of the default width. Networks are smaller, and trained for less time,
than the paper's. Ten minutes on two cores.
"""

import argparse
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from cabs import SMALL_M, header, mean_errors, row, squares
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders import PGM, Builder
from snhkit.neural import MLP, FeatureGrid, Networks, Prior


@dataclass(frozen=True)
class Effort:
    """How much is computed."""

    epsilons: tuple[float, ...] = (0.05, 0.2, 0.8)
    boxes: int = 5_000
    mlp: MLP = field(default_factory=lambda: MLP(depth=4, width=64))
    mlp_steps: int = 500
    mlp_batch: int = 1_024
    encoder: FeatureGrid = field(default_factory=FeatureGrid)
    encoder_steps: int = 200
    encoder_batch: int = 4_096
    turns: int = 8
    ks: tuple[int, ...] = (1, 2, 4, 8, 16)
    depths: tuple[int, ...] = (2, 5, 10, 20)


QUICK = Effort(
    epsilons=(0.2,),
    boxes=500,
    mlp=MLP(3, 8),
    mlp_steps=5,
    mlp_batch=64,
    encoder=FeatureGrid((16,), fine=64),
    encoder_steps=5,
    encoder_batch=64,
    turns=1,
    ks=(1, 8),
    depths=(2,),
)


def rows(effort: Effort) -> dict[str, Builder]:
    """What is compared."""
    paper = Networks.paper(
        network=effort.mlp, steps=effort.mlp_steps, batch=effort.mlp_batch, learning_rate=0.005
    )
    free = replace(paper, positions="scattered", workload_floor=0.5)
    encoder = Networks(
        network=effort.encoder, steps=effort.encoder_steps, batch=effort.encoder_batch
    )
    told = replace(encoder, scaling="learned")
    prior = Prior(effort.turns)
    learners = {
        f"the paper's, reduced: {effort.mlp}, k = 8": paper,
        "+ free positions": free,
        "+ encoder: the default `Networks`, k = 8": encoder,
        "+ query size as an input (SNH+QS)": told,
    }
    learners |= {f"encoder, k = {k}": replace(encoder, k=k) for k in effort.ks if k != 8}
    learners |= {f"encoder, SNH+QS, k = {k}": replace(told, k=k) for k in effort.ks if k < 8}
    shallow = replace(free, k=2)
    learners |= {
        f"the paper's, free positions, k = 2, depth {depth}": replace(
            shallow, network=replace(effort.mlp, depth=depth)
        )
        for depth in effort.depths
    }
    alone = {name: snh.SNH(None, networks=learner) for name, learner in learners.items()}
    cleaned = {
        "prior, then the encoder": snh.SNH(None, prior=prior, networks=encoder),
        "prior, then the encoder, SNH+QS": snh.SNH(None, prior=prior, networks=told),
        "prior alone": snh.DenoisedGrid(None, prior=prior),
        "and a bought width: the default `SNH`": snh.DenoisedGrid(prior=prior),
    }
    found: dict[str, Builder] = {"Identity": snh.Identity(), "PGM": PGM()}
    return found | alone | cleaned


def main(folder: Path, effort: Effort, draws: int) -> None:
    """Print the table."""
    start = time.perf_counter()
    task = squares(folder, SMALL_M, effort.boxes)
    print(f"\n{effort.boxes:,} squares of 25 to 100 m, {draws} draws\n")
    header(effort.epsilons)
    for name, builder in tqdm(rows(effort).items(), unit="row", leave=False):
        row(name, mean_errors(builder, task, range(draws), effort.epsilons))
    print(f"\n{(time.perf_counter() - start) / 60:.0f} minutes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What each part of SNH is worth.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="only see that it runs")
    given = parser.parse_args()
    main(given.folder, QUICK if given.quick else Effort(), given.draws)
