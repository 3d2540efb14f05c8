"""The command that compares methods on one dataset."""

import json

import click

from snhkit.cli.output import STANDARD_OUTPUT, say, write
from snhkit.cli.records import (
    counted,
    districts_options,
    records_options,
    refuse_same_file,
    region_sentence,
    sizes_option,
    synthetic,
    tessellation,
)
from snhkit.cli.types import Epsilons, Methods, OutputFile, Whole
from snhkit.defaults import DEFAULT_EPSILON, DEFAULT_METHODS


@click.command()
@click.option(
    "--city", help="Use the invented records of this city instead of --data [default: milwaukee]."
)
@records_options
@districts_options
@click.option(
    "--epsilon",
    type=Epsilons(),
    default=str(DEFAULT_EPSILON),
    show_default=True,
    help="Epsilon of each release, one value or several.",
)
@click.option(
    "--methods",
    type=Methods(),
    default=",".join(DEFAULT_METHODS),
    show_default=True,
    help="Short names of methods, or the word all for every method but snh-paper, which is slow.",
)
@click.option(
    "--n",
    type=Whole(1),
    metavar="N",
    help="Use only N of the records, chosen at random; N is public [default: all].",
)
@click.option(
    "--queries",
    type=Whole(1, 10_000_000),
    metavar="N",
    default=5000,
    show_default=True,
    help="Number of squares whose counts are estimated.",
)
@sizes_option("squares")
@click.option(
    "--seed",
    type=Whole(0),
    metavar="S",
    help="Seed of the noise and the queries, to repeat a comparison exactly; for research only.",
)
@click.option(
    "--json",
    "json_path",
    type=OutputFile(),
    help="Where to write the table as JSON; - is standard output.",
)
@click.option(
    "--report",
    type=OutputFile(),
    default="snhkit-report.html",
    show_default=True,
    help="Where to write an HTML page with map, plot and table.",
)
def compare(
    city, data, districts, label, epsilon, methods, n, queries, sizes_m, seed, json_path, report,
    **where,
) -> None:  # fmt: skip
    """Make a release with each of several methods, and measure the errors of its answers.

    The errors are computed from the true records. Therefore, they are for the owner of the records
    and must not be published.

    \b
    Examples:
      snhkit compare
      snhkit compare --city chicago --methods ug,identity --epsilon 0.1,1
      snhkit compare --data trips.csv --center 37.76,-122.43 --side-km 13
    """
    refuse_same_file(
        data=data, public=where["public"], districts=districts, json=json_path, report=report
    )
    if data is not None and city is not None:
        raise click.UsageError(
            "--city selects a synthetic city; leave --city out when --data is given."
        )
    if data is None and any(where[name] for name in ("center", "side_km", "public", "lat", "lon")):
        raise click.UsageError("--center, --side-km, --public, --lat and --lon need --data.")
    from snhkit.experiment import OWNER_ONLY, thinned
    from snhkit.experiment.compare import Plan, run
    from snhkit.geometry import Points, RangeQueries
    from snhkit.viz.reports.report import report_html, terminal_tables

    cell_m = where.pop("cell_m")
    if data is None:
        records, public, title, about = synthetic(city or "milwaukee")
    else:
        records, public = counted(data, **where)
        title, about = "Comparison of methods", region_sentence(records.region)
    if n is not None:
        if not isinstance(records, Points):
            raise click.UsageError(
                f"--n: {data} is too large for memory, so its records are counted as they are "
                "read, and all are used; leave --n out."
            )
        records = thinned(records, n, seed or 0)
        about += f" Thinned to {n:,} records."
    near = records if isinstance(records, Points) else records.some
    boxes = RangeQueries.sample(near, queries, sizes_m, seed=seed or 0)
    builder = tessellation(districts, label)
    builders = {} if builder is None else {"Districts": builder}
    plan = Plan(methods, epsilon, sizes_m, cell_m, seed, builders)
    found = run(records, public, boxes, plan)
    about += f" {queries:,} squares of {sizes_m[0]:g} to {sizes_m[1]:g} m, centred on records."
    page = report_html(found, title=title, about=about)
    if json_path is not None:
        write(json_path, json.dumps(found.rows(), indent=1) + "\n")
    write(report, page)
    err = STANDARD_OUTPUT in (json_path, report)  # no text among the data on standard output
    say(f"{title}. {about}\n", err=err)
    say(terminal_tables(found), err=err)
    for caution in found.cautions:
        say(f"\n{caution}", err=err)
    if seed is not None:
        say(
            "\nThe noise came from --seed: anyone who knows the seed can remove the noise.", err=err
        )
    following = "snhkit explore" if data is None else _explored(data, **where)
    say(f"\n{OWNER_ONLY}\nReport: {report}\nNext: {following}", err=err)


def _explored(data, *, center, side_km, public, lat, lon) -> str:
    """Return the command that opens the same file in the explorer."""
    from snhkit.widgets.own_file import OwnFile

    columns = tuple((k, name) for k, name in (("lat", lat), ("lon", lon)) if name is not None)
    where = {"lat": center[0], "lon": center[1], "side_m": 1000 * side_km}
    public = None if public is None else str(public)
    return OwnFile(str(data), **where, public=public, columns=columns).command
