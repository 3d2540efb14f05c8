"""Measurements of the points of a figure, each of which is stored in a file when finished."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from snhkit.experiment.done import DoneCells
from snhkit.experiment.places import Place
from snhkit.reproduction.effort import Effort

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Job", "finished"]


@dataclass(frozen=True)
class Job:
    """One point of a plotted figure, with the function that measures the point's value."""

    data: str
    line: str
    x: float
    epsilon: str
    measure: Callable[[], float]


def finished(
    jobs: Sequence[Job],
    name: str,
    places: Mapping[str, Place],
    effort: Effort,
    file: str | os.PathLike[str] | None,
) -> "pd.DataFrame":
    """Return all points of a figure; points that are not in the file yet are measured first."""
    import pandas as pd

    measures = ["value", "cpu_s"]
    settings = {"bands_m": [[0, 0]], "measures": measures, "snhkit": version("snhkit")}
    done = DoneCells.open(file, settings)
    digests = {data: places[data].digest for data in {job.data for job in jobs}}
    rows = []
    for job in tqdm(jobs, name, unit="build", leave=False):
        point = {"data": job.data, "line": job.line, "x": float(job.x), "epsilon": job.epsilon}
        key = json.dumps({"figure": name, **point, "effort": asdict(effort)})
        digest = digests[job.data]
        if (key, digest) not in done.rows:
            start = time.process_time()
            value = float(job.measure())
            done.add(key, digest, [[value, round(time.process_time() - start, 2)]])
        found = dict(zip(measures, done.rows[key, digest][0], strict=True))
        rows.append(point | {"epsilon": float(job.epsilon)} | found)
    return pd.DataFrame(rows)
