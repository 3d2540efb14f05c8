"""The rule for the cell widths of plain grids and of SNH: python benchmarks/widths.py [--help].

Simulates noisy grids of twelve cell widths on the public cities of ``public_cities.CALIBRATION``,
with all records and with samples of them, and on synthetic and evenly spread points. Prints the
coefficients of ``narrowing`` that give the least errors, and the regret: the error at the width
that ``Identity`` chooses, divided by the error at the best of the twelve widths. Writes the table
from which ``ParamSelect.pretrained("snh")`` learns, of real cities only. With ``--snh``, also
measures SNH at widths around the best one of ``Identity``, and prints how its errors change with
narrower cells, and its regret; this takes an hour, and after an interruption, the next run
continues. With ``--public``, compares the rule with the widths that ``ParamSelect`` predicts.
"""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from denoised_widths import falling, smoothed
from numpy.typing import NDArray
from public_cities import CALIBRATION, HELD_OUT, place
from scipy.optimize import minimize
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders.cell_width import _cap, default_cell_width
from snhkit.geometry import Grid, SummedArea
from snhkit.metrics import relative_errors
from snhkit.select import entropy

Frame = Any  # type checkers cannot follow the operators of pandas

WIDTHS_M = (12.0, 16.0, 21.0, 28.0, 37.0, 50.0, 66.0, 88.0, 117.0, 156.0, 210.0, 280.0)
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8)
SAMPLES = (3_000, 20_000)
SIDE_M = 13_200.0
DRAWS = 2
FACTORS = (0.9, 0.8, 0.7, 0.6)
LEAST_M = 12.5
"""The least width that is chosen, half the side of the smallest squares."""


def datasets(folder: Path) -> Iterator[tuple[str, str, snh.Points]]:
    """Yield the name, the city and the records of each data set."""
    for name, source in (CALIBRATION | HELD_OUT).items():
        records = place(source, folder).records
        yield name, name, records
        order = np.random.default_rng(0).permutation(len(records))
        for n in (n for n in SAMPLES if n < 0.6 * len(records)):
            yield f"{name} ({n})", name, snh.Points(records.region, records.xy[order[:n]])
    for city in ("tulsa", "phoenix", "chicago"):
        for n in (100_000, SAMPLES[0]):
            points = snh.synthetic_points(city, n, seed=5)
            yield f"synthetic {city} ({n})", f"synthetic {city}", points
    region = snh.Region.around(lat=45, lon=7, side_m=SIDE_M)
    for n in (30_000, SAMPLES[0]):
        xy = np.random.default_rng(1).uniform(0, SIDE_M, (n, 2))
        yield f"uniform ({n})", "uniform", snh.Points(region, xy)


def evenness_of(public: snh.Points, grid: Grid, n: int, epsilon: float) -> float:
    """Return the evenness that n records spread like the public points would have."""
    counts = grid.count(public).counts * (n / max(len(public), 1))
    return float(np.minimum(counts, _cap(grid, n, epsilon)).sum() / max(n, 1))


class Exam:
    """Squares around the records of a data set, and simulated errors of noisy grids."""

    def __init__(self, records: snh.Points) -> None:
        self.records = records
        self.boxes = snh.RangeQueries.sample(records, 2_000, seed=1)
        self.truth = snh.exact_counts(records, self.boxes)

    def errors(self, grid: Grid, epsilons: list[float]) -> list[float]:
        """Return the mean relative error of a noisy grid at each epsilon.

        Noise of scale 1 is drawn once and divided by each epsilon.
        """
        counts = SummedArea(grid, grid.count(self.records).counts.reshape(grid.m, grid.m))
        exact, rng, found = counts.sums(self.boxes), np.random.default_rng(7), []
        for _ in range(DRAWS):
            noise = SummedArea(grid, rng.laplace(size=(grid.m, grid.m))).sums(self.boxes)
            answers = (exact + noise / epsilon for epsilon in epsilons)
            n = len(self.records)
            found.append([relative_errors(a, self.truth, n).mean() for a in answers])
        return np.mean(found, axis=0).tolist()

    def release(self, builder, epsilon: float) -> snh.Release:
        """Return a release of the records."""
        data = snh.PrivateDataset(self.records, budget=10_000, unit="record", n_public=True)
        return data.release(builder, epsilon=epsilon, seed=0)


def measured(name: str, city: str, records: snh.Points) -> Iterator[dict]:
    """Yield a row for each epsilon: what the rule is told, and errors by width."""
    exam, n = Exam(records), len(records)
    grids = [Grid.of_width(records.region, width) for width in WIDTHS_M]
    table = np.array([exam.errors(grid, list(EPSILONS)) for grid in grids]).T
    for epsilon, errors in zip(EPSILONS, table, strict=True):
        usual = default_cell_width(n, epsilon)
        half = Grid.of_width(records.region, usual / 2)
        release = exam.release(snh.Identity(), epsilon)
        left = float(release.spends[-1].epsilon)
        grid: Any = release.model.cells()
        yield {
            "dataset": name,
            "city": city,
            "n": n,
            "epsilon": epsilon,
            "entropy": round(entropy(records), 4),
            "evenness": evenness_of(records, half, n, epsilon),
            "errors": errors.tolist(),
            "chosen_m": grid.cell_m,
            "chosen_error": exam.errors(grid, [left])[0],
        }


def losses(rows: Frame) -> NDArray[np.float64]:
    """Return the logarithm of error / least error by row and width, smoothed over widths."""
    logs = smoothed(np.array(rows["errors"].tolist()))
    return logs - logs.min(axis=1, keepdims=True)


def rule(rows: Frame) -> None:
    """Print the coefficients of ``narrowing`` and their errors. All cities weigh the same."""
    lost_at, even = losses(rows), rows["evenness"].to_numpy(float)
    known = np.log(rows["n"] * rows["epsilon"]).to_numpy(float)
    usual = [default_cell_width(n, e) for n, e in zip(rows["n"], rows["epsilon"], strict=True)]
    share = 1 / rows["city"].map(rows["city"].value_counts()).to_numpy(float)
    held = rows["city"].isin(list(HELD_OUT)).to_numpy()

    def lost(b: NDArray[np.float64]) -> NDArray[np.float64]:
        at = np.log(usual) + b[0] + (1 - even) * (b[1] + b[2] * known)
        at = np.maximum(at, math.log(LEAST_M))
        pairs = zip(at, lost_at, strict=True)
        return np.array([np.interp(x, np.log(WIDTHS_M), row) for x, row in pairs])

    def best(where: NDArray[np.bool_]) -> NDArray[np.float64]:
        def mean(b: NDArray[np.float64]) -> float:
            off = lost(b)[where]
            return float(share[where] @ (off + 0.3 * np.maximum(off - 0.1, 0)))

        return minimize(mean, [0.9, -4.0, 0.2], method="Nelder-Mead").x

    b = best(~held)
    print(f"log factor: {b[0]:.3f} + (1 - evenness) ({b[1]:.3f} + {b[2]:.3f} log(n epsilon))")
    for words, where in (("cities of the fit", ~held), ("cities held out", held)):
        off = lost(b)[where]
        mean = math.exp(np.average(off, weights=share[where]))
        print(f"error / least error, {words}: mean {mean:.3f}, worst {math.exp(off.max()):.2f}")


def labels(rows: Frame) -> snh.ParamSelect:
    """Return a ParamSelect from the best widths on the real cities of the fit."""
    real, found = rows[rows["city"].isin(list(CALIBRATION))], []
    for _, part in real.groupby("dataset", sort=False):
        told = part[["dataset", "n", "epsilon", "entropy"]]
        widths = np.array(WIDTHS_M)[falling(losses(part))]
        found.append(told.assign(dataset=told["dataset"].str.replace(",", ""), cell_m=widths))
    return snh.ParamSelect(pd.concat(found))


def regret(rows: Frame, method: str) -> None:
    """Print, by city and epsilon, the error at the chosen width / the error at the best width."""
    ratio = rows["chosen_error"] / rows["errors"].map(min)
    table = rows.assign(ratio=ratio).pivot_table(index="city", columns="epsilon", values="ratio")
    print(f"\n{method}: error at the chosen width / error at the best of these widths")
    print("| city |", " | ".join(map(str, table.columns)), "|")
    print("|---" * (len(table.columns) + 1) + "|")
    for city, line in table.iterrows():
        print(f"| {city} |", " | ".join("" if x != x else f"{x:.2f}" for x in line), "|")
    mean = math.exp(np.log(ratio).mean())
    print(f"\n{len(rows)} cases: geometric mean {mean:.3f}, worst {ratio.max():.2f}")


def with_public(folder: Path) -> None:
    """Print the error of Identity with ParamSelect's width, divided by that with its own rule."""
    ratios = []
    for name, source in (CALIBRATION | HELD_OUT).items():
        town = place(source, folder)
        if town.public is None:
            continue
        exam = Exam(town.records)
        data = snh.PrivateDataset(town.records, budget=10_000, unit="record", n_public=True)
        for epsilon in EPSILONS[::2]:
            errors = []
            for cell_m in ("auto", None):
                releases = (
                    data.release(snh.Identity(cell_m), epsilon=epsilon, public=town.public)
                    for _ in range(DRAWS)
                )
                answers = [release.answer(exam.boxes) for release in releases]
                n = len(town.records)
                errors.append(np.mean([relative_errors(a, exam.truth, n).mean() for a in answers]))
            ratios.append(errors[0] / errors[1])
            print(f"| {name} | {epsilon} | {ratios[-1]:.2f} |")
    mean = math.exp(np.log(ratios).mean())
    print(f"geometric mean {mean:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


def of_snh(rows: Frame, folder: Path, file: Path, epsilons: list[float]) -> Frame:
    """Return errors of SNH at its chosen width and around the best width of ``Identity``.

    The first width and error are those that SNH chooses. Errors anywhere are those of squares at
    uniformly random places.
    """
    done = [json.loads(line) for line in file.open()] if file.exists() else []
    known = {(row["city"], row["epsilon"]) for row in done}
    whole = rows[(rows["dataset"] == rows["city"]) & rows["epsilon"].isin(epsilons)]
    with file.open("a") as stream:
        for row in tqdm(whole[whole["city"].isin(list(CALIBRATION))].itertuples(), leave=False):
            if (row.city, row.epsilon) in known:
                continue
            records = place(CALIBRATION[row.city], folder).records
            exam, squares = Exam(records), snh.RangeQueries.sample(records.region, 2_000, seed=1)
            asked = [(exam.boxes, exam.truth), (squares, snh.exact_counts(records, squares))]
            middle = int(np.argmin(row.errors))
            near = WIDTHS_M[max(middle - 2, 0) : middle + 2]
            found = []
            for cell_m in (None, *near):
                answer = exam.release(snh.SNH(cell_m), row.epsilon).answer
                found.append(
                    [relative_errors(answer(b), truth, len(records)).mean() for b, truth in asked]
                )
            errors, anywhere = np.transpose(found).tolist()
            told = {"city": row.city, "epsilon": row.epsilon, "widths": [row.chosen_m, *near]}
            done.append(told | {"chosen_error": errors[0], "errors": errors, "anywhere": anywhere})
            stream.write(json.dumps(done[-1]) + "\n")
            stream.flush()
    return pd.DataFrame(done)


def narrower(rows: Frame) -> None:
    """Print by how much errors of SNH change with cells that are narrower than it chooses."""
    for kind in ("errors", "anywhere"):
        logs = []
        for widths, errors in zip(rows["widths"], rows[kind], strict=True):
            at = np.log(widths[0] * np.array((1.0, *FACTORS)))
            logs.append(np.interp(at, *np.log(sorted(zip(widths, errors, strict=True))).T))
        change = np.exp(np.mean(logs, axis=0)[1:] - np.mean(logs, axis=0)[0]).round(3)
        print(f"SNH, {kind}: {change} times as large at {FACTORS} of its width")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The rule for the cell widths of grids and SNH.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--file", type=Path, default=Path("widths.jsonl"), help="measured errors")
    parser.add_argument("--out", type=Path, default=Path("snhkit/select/snh.csv"))
    parser.add_argument("--snh", type=Path, metavar="FILE", help="measured errors of SNH")
    parser.add_argument("--public", action="store_true", help="only compare with ParamSelect")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS, help="for --snh")
    given = parser.parse_args()
    if given.public:
        with_public(given.folder)
        raise SystemExit
    if not given.file.exists():
        sets = tqdm(list(datasets(given.folder)), unit="data set", leave=False)
        found = [row for one in sets for row in measured(*one)]
        pd.DataFrame(found).to_json(given.file, orient="records", lines=True)
    rows = pd.read_json(given.file, orient="records", lines=True)
    rule(rows)
    print(labels(rows).save(given.out))
    whole = rows[rows["dataset"] == rows["city"]]
    for words, cities in (("cities of the fit", CALIBRATION), ("cities held out", HELD_OUT)):
        regret(whole[np.isin(whole["city"], list(cities))], f"Identity, {words}")
    if given.snh:
        found = of_snh(rows, given.folder, given.snh, list(given.epsilons))
        narrower(found)
        regret(found, "SNH")
