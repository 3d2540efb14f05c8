"""The command that estimates the counts of boxes and polygons from a release."""

import json
import warnings

import click

from snhkit.cli.output import STANDARD_OUTPUT, say, write
from snhkit.cli.records import refuse_same_file
from snhkit.cli.types import INPUT_FILE, OutputFile
from snhkit.errors import OutsideWarning

__all__ = ["answer"]


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--boxes",
    type=INPUT_FILE,
    required=True,
    help="CSV with columns south,west,north,east in degrees, or GeoJSON of boxes or polygons.",
)
@click.option(
    "--out", type=OutputFile(), help="File to write [default: -, which is standard output]."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write JSON: a list with one object for each row of --boxes.",
)
def answer(file, boxes, out, as_json) -> None:
    """Estimate the counts of boxes or polygons from a release, at no cost in privacy.

    The output has the rows of --boxes with four more columns: count, the estimate; low and high,
    between which the true count lies in about 90 % of cases (estimated from errors on public
    cities); and standard_error, the standard deviation of the noise alone. Unknown values are left
    empty. In a CSV file of boxes, columns may be separated by a comma, a semicolon, a | or a tab.

    \b
    Example:
      snhkit answer trips.snh --boxes boxes.csv --out counts.csv
    """
    refuse_same_file(file=file, boxes=boxes, out=out)
    import numpy as np

    from snhkit.data.reading.boxes import answered, beyond, read_boxes
    from snhkit.loading import load
    from snhkit.release.intervals import unmeasured

    made = load(file)
    with warnings.catch_warnings(record=True) as outside:
        warnings.simplefilter("always", OutsideWarning)
        queries, rows = read_boxes(boxes, made.region)
        counts = made.answer(queries)
        bounds = made.interval(queries)
        errors = made.standard_error(queries)
    found = {"low": bounds[:, 0], "high": bounds[:, 1], "standard_error": errors}
    kind = boxes.suffix if out is None or not out.suffix else out.suffix
    for warning in outside:
        say(f"{boxes}: {warning.message}", err=True)
    if as_json:
        told = {name: values.round(3) + 0.0 for name, values in ({"count": counts} | found).items()}
        text = json.dumps(
            [
                {"row": k + 1}
                | {name: None if np.isnan(of[k]) else float(of[k]) for name, of in told.items()}
                for k in range(len(counts))
            ],
            indent=1,
        )
    else:
        text = answered(rows, counts, kind.lower(), found)
    if reason := unmeasured(made):
        say(reason, err=True)
    if past := int(beyond(queries, made.region).sum()):
        say(
            f"{past:,} of {len(queries):,} boxes or polygons reach outside the region; the part "
            "outside counts as 0.",
            err=True,
        )
    write(STANDARD_OUTPUT if out is None else out, text + "\n")
