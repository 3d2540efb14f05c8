"""The answers of several releases to boxes, as a table and as the text of a file."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from snhkit.geometry import RangeQueries
from snhkit.release import Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["answers_csv", "answers_frame", "answers_geojson"]

Degrees = Sequence[Sequence[float]]
"""One (south, west, north, east) for each box: its bounds in degrees."""


def answers_frame(
    degrees: Degrees, boxes: RangeQueries, releases: Mapping[str, Release]
) -> "pd.DataFrame":
    """Return a table with the bounds and the sides of boxes, and their counts from each release.

    Parameters
    ----------
    degrees : sequence of (south, west, north, east)
        The bounds of the q boxes, in degrees.
    boxes : RangeQueries
        The same boxes in metres.
    releases : mapping of name to Release
        The releases that answer the boxes. For a release named NAME, the table has the columns
        ``NAME_epsilon``, ``NAME_count``, ``NAME_standard_error`` (of the noise in the count),
        ``NAME_low`` and ``NAME_high`` (bounds of a 90 % interval for the true count). Counts,
        standard errors and bounds are in records. Unknown standard errors and bounds are nan.

    Returns
    -------
    DataFrame
        One row for each of the q boxes. Saved as a file, the table can be given to ``snhkit
        answer``, which reads the bounds.

    Examples
    --------
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("fargo", 1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> drawn = [(46.87, -96.80, 46.88, -96.78)]
    >>> boxes = snh.RangeQueries.from_degrees(data.region, *zip(*drawn))
    >>> answers = answers_frame(drawn, boxes, {"UG": data.release(snh.UniformGrid(), epsilon=1)})
    >>> list(answers.columns[-5:])
    ['UG_epsilon', 'UG_count', 'UG_standard_error', 'UG_low', 'UG_high']
    """
    import pandas as pd

    south, west, north, east = np.reshape(np.asarray(degrees, float), (-1, 4)).T
    columns = {
        "box": range(1, len(south) + 1),
        "south": south,
        "west": west,
        "north": north,
        "east": east,
        "width_m": boxes.width.round(1),
        "height_m": boxes.height.round(1),
    }
    for name, release in releases.items():
        columns[f"{name}_epsilon"] = float(release.epsilon)
        columns[f"{name}_count"] = release.answer(boxes).round(3) + 0.0  # no -0.0
        columns[f"{name}_standard_error"] = release.standard_error(boxes).round(3)
        columns[f"{name}_low"], columns[f"{name}_high"] = release.interval(boxes).round(3).T
    return pd.DataFrame(columns)


def answers_csv(degrees: Degrees, boxes: RangeQueries, releases: Mapping[str, Release]) -> str:
    """Return the table of ``answers_frame`` as the text of a CSV file; nan becomes empty."""
    return answers_frame(degrees, boxes, releases).to_csv(index=False, lineterminator="\n")


def answers_geojson(degrees: Degrees, boxes: RangeQueries, releases: Mapping[str, Release]) -> str:
    """Return the table of ``answers_frame`` as the text of a GeoJSON file; nan becomes null."""
    rows = json.loads(str(answers_frame(degrees, boxes, releases).to_json(orient="records")))
    features = [{"type": "Feature", "geometry": _polygon(row), "properties": row} for row in rows]
    return json.dumps({"type": "FeatureCollection", "features": features})


def _polygon(row: dict[str, float]) -> dict:
    """Remove the bounds of a box from a row of the table, and return a GeoJSON polygon of them."""
    south, west, north, east = (row.pop(side) for side in ("south", "west", "north", "east"))
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}
