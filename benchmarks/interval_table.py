"""The table behind ``Release.interval``: python benchmarks/interval_table.py [--help].

Needs the folder of public data sets. Measures errors of squares of 25 m to 5 km, around records and
anywhere, on public cities with all records and with samples of them. Results of finished methods
are stored in files. With ``--out``, writes quantiles of the errors by method, side, number of cells
and answer; quantiles of methods that were not measured remain in the file. Prints, as Markdown, how
often 90 % intervals contain the true count on cities that were not used for the quantiles.
"""

import argparse
import itertools
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client
from joblib import Parallel, delayed, parallel_config
from public_cities import CALIBRATION, HELD_OUT, TRAINED_ON, places
from tqdm.auto import tqdm

import snhkit as snh
from snhkit.builders.cell_width import default_cell_width
from snhkit.experiment import Place, thinned
from snhkit.experiment.evaluation import SizeBand
from snhkit.methods import METHODS
from snhkit.metrics import SIZE_BANDS_M, band_name
from snhkit.release.intervals import LEVELS, Counted, bins_of, cells_in_boxes, scales

EPSILONS = ("0.05", "0.2", "0.8")
SIZES = (None, 10_000)
WIDTHS = {"identity": (0.5, 1, 2, 4), "hb2d": (1, 3)}
"""Factors of the default cell width, for methods that are given widths."""

SAMPLED = (
    "ug", "identity", "ag", "privtree", "quadtree", "hb2d", "privelet", "hdmm", "dawa", "snh",
    "htf",
)  # fmt: skip
WHOLE = ("pgm", "denoised")  # measured with all records only, not with samples of them
BOXES = 250
LEAST = 120  # the least number of boxes in a bin
ANY = ("ug", "identity", "ag", "privtree", "hb2d")  # used for methods that were not measured


def errors_of(name: str, towns: dict[str, Place]) -> pd.DataFrame:
    """Return a row for each box: its town, kind, size band, bin, and error in noise scales.

    joblib builds the releases, in the processes or on the cluster that the caller chose.
    """
    sizes = SIZES[:1] if name in WHOLE else SIZES
    jobs = [
        (place, town, n, epsilon, factor)
        for (town, place), n, epsilon in itertools.product(towns.items(), sizes, EPSILONS)
        if n is None or n < len(place.records)
        if not (name == "denoised" and town.startswith(TRAINED_ON))
        for factor in WIDTHS.get(name, (None,))
    ]
    calls = (delayed(errors_at)(name, *job, seed) for seed, job in enumerate(jobs))
    frames: Any = Parallel(return_as="generator")(calls)
    return pd.concat(list(tqdm(frames, name, len(jobs), unit="build")), ignore_index=True)


def errors_at(
    name: str, place: Place, town: str, n: int | None, epsilon: str, factor: float | None, seed: int
) -> pd.DataFrame:
    """Build one release, and return its rows of errors."""
    records = place.records if n is None else thinned(place.records, n)
    data = snh.PrivateDataset(records, 10**9, unit="record", n_public=True)
    usual = default_cell_width(len(records), float(epsilon))
    builder = METHODS[name].builder(cell_m=None if factor is None else usual * factor)
    release = data.release(builder, epsilon=epsilon, public=place.public, seed=seed)
    rows = []
    for band in SIZE_BANDS_M:
        drawn = SizeBand.of(records, band, BOXES, seed)
        for kind, boxes in (("around", drawn.around), ("anywhere", drawn.anywhere)):
            inside = boxes.boxes.clipped()
            asked = Counted(
                release.answer(boxes.boxes),
                release.model.noise_variance(boxes.boxes),
                inside.width * inside.height,
                cells_in_boxes(release.model, boxes.boxes),
                float(epsilon),
            )
            rows.append(
                pd.DataFrame(
                    {
                        "town": town,
                        "kind": kind,
                        "band": band_name(band),
                        "epsilon": epsilon,
                        "bin": bins_of(asked),
                        "z": (boxes.counts - asked.answers) / scales(asked),
                        "slack": asked.answers / scales(asked),
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def quantiles(table: pd.DataFrame) -> dict[str, list[float]]:
    """Return quantiles of errors by bin; boxes around records and anywhere have equal weights."""
    found = {}
    for number, part in table.groupby("bin"):
        if len(part) < LEAST:
            continue
        share = part.kind.map(part.kind.value_counts(normalize=True)).to_numpy(float)
        weight = np.maximum(share, 0.3) / share
        order = np.argsort(part.z.to_numpy(), kind="stable")
        upto = np.cumsum(weight[order]) / weight.sum()
        z = part.z.to_numpy()[order]
        # As in conformal prediction, the next error farther from the median is taken.
        below = np.searchsorted(upto, LEVELS, side="left") - np.array([p < 0.5 for p in LEVELS])
        found[str(number)] = z[np.clip(below, 0, len(z) - 1)].round(3).tolist()
    return found


def covered(table: pd.DataFrame, known: dict[str, list[float]]) -> np.ndarray:
    """Return whether the 90 % interval of each row contains the true count."""
    from snhkit.release.intervals import SHAPE, _filled

    full = np.full((int(np.prod(SHAPE)), len(LEVELS)), np.nan)
    for number, values in known.items():
        full[int(number)] = values
    low, high = _filled(full)[table.bin.to_numpy()][:, [LEVELS.index(0.05), LEVELS.index(0.95)]].T
    z, slack = table.z.to_numpy(), table.slack.to_numpy()
    # Lower bounds below a count of 0 are replaced by 0, where z is -slack.
    return (z >= np.maximum(low, -slack) - 1e-9) & (z <= np.maximum(high, -slack) + 1e-9)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The table behind Release.interval.")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"))
    parser.add_argument("--files", type=Path, default=Path(), help="folder for results of methods")
    parser.add_argument("--methods", nargs="+", default=[*SAMPLED, *WHOLE])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--scheduler", help="address of a Dask cluster that measures instead")
    parser.add_argument("--out", type=Path, help="where to write the table")
    given = parser.parse_args()
    if given.scheduler is None:
        parallel_config(n_jobs=given.processes)
    else:
        parallel_config("dask", client=Client(given.scheduler))
    measured, kept = {}, {}
    for name in given.methods:
        for part, sources in (("calibration", CALIBRATION), ("held_out", HELD_OUT)):
            file = given.files / f"interval_{name}_{part}.parquet"
            if not file.exists():
                errors_of(name, places(sources, given.folder)).to_parquet(file)
            measured[name, part] = pd.read_parquet(file)
        kept[name] = quantiles(measured[name, "calibration"])
    bands = [band_name(band) for band in SIZE_BANDS_M]
    print("| method | squares |", " | ".join(bands), "| all |\n" + "|---" * (3 + len(bands)) + "|")
    for name in given.methods:
        table = measured[name, "held_out"]
        table["held"] = covered(table, kept[name])
        for kind, part in table.groupby("kind", sort=False):
            shares = [f"{100 * part.held[part.band == band].mean():.0f}" for band in bands]
            title = METHODS[name].title
            print(
                f"| {title} | {kind} |", " | ".join([*shares, f"{100 * part.held.mean():.0f}"]), "|"
            )
    if given.out is not None:
        before = json.loads(given.out.read_text()) if given.out.exists() else {}
        days = before.get("provenance", {}).get("measured", {})
        pooled = [measured[name, "calibration"] for name in ANY if name in given.methods]
        classes = {name: type(METHODS[name].builder()).__name__ for name in given.methods}
        told = {
            "provenance": {
                "command": "python benchmarks/interval_table.py --out "
                "snhkit/release/interval_table.json",
                "date": str(date.today()),
                "measured": days | dict.fromkeys(classes.values(), str(date.today())),
                "snhkit": version("snhkit"),
                "cities": list(CALIBRATION),
                "held_out": list(HELD_OUT),
            },
            "levels": list(LEVELS),
            "quantiles": before.get("quantiles", {})
            | {classes[name]: kept[name] for name in given.methods}
            # Computed from all methods of ANY, or left unchanged if some were not measured.
            | ({"any": quantiles(pd.concat(pooled))} if len(pooled) == len(ANY) else {}),
        }
        given.out.write_text(json.dumps(told) + "\n")
