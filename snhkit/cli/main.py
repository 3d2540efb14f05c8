"""The command line: compare, release, answer, cities, explore."""

import json
import sys
from pathlib import Path

import click

from snhkit.cli.districts import districts_options, tessellation
from snhkit.cli.records import read, records_options, refuse_same_file, region_sentence, synthetic
from snhkit.cli.types import Epsilons, InputFile, Methods, OutputFile, Range
from snhkit.defaults import DEFAULT_METHODS, DEFAULT_SIZES_M
from snhkit.errors import SnhkitError
from snhkit.files import write_whole

__all__ = ["app", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="snhkit")
def app() -> None:
    """Range counts over private locations, under differential privacy."""


@app.command()
@click.option("--city", help="A synthetic city [default: milwaukee]; not with --data.")
@records_options
@districts_options
@click.option("--epsilon", type=Epsilons(), default="0.2", show_default=True)
@click.option(
    "--methods",
    type=Methods(),
    default=",".join(DEFAULT_METHODS),
    show_default=True,
    help="Short names, or all; all leaves out snh-paper, which is slow.",
)
@click.option(
    "--queries",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    default=5000,
    show_default=True,
    help="How many squares to ask.",
)
@click.option(
    "--sizes-m",
    type=Range(),
    default=DEFAULT_SIZES_M,
    show_default="25,100",
    help="Their sides, in metres.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="S",
    help="Repeat all of it, the noise too; then nothing may be published.",
)
@click.option("--json", "json_path", type=OutputFile(), help="Write the table here, as JSON.")
@click.option(
    "--report",
    type=OutputFile(),
    default="snhkit-report.html",
    show_default=True,
    help="Write a page with map, plot and table here.",
)
def compare(
    city, data, districts, label, epsilon, methods, queries, sizes_m, seed, json_path, report,
    **where,
) -> None:  # fmt: skip
    """Build several methods and measure each against the true records.

    The errors are for the records' owner, and must not be published.

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
        raise click.UsageError("--city is a synthetic city; leave it out with --data.")
    if data is None and any(where[name] for name in ("center", "side_km", "public", "lat", "lon")):
        raise click.UsageError("--center, --side-km, --public, --lat and --lon go with --data.")
    from snhkit.experiment import OWNER_ONLY
    from snhkit.experiment.run import Plan, run
    from snhkit.geometry import RangeQueries
    from snhkit.viz.reports.report import report_html
    from snhkit.viz.reports.tables import terminal_tables

    where, cell_m = _without(where, "cell_m"), where["cell_m"]
    if data is None:
        records, public, title, about = synthetic(city or "milwaukee")
    else:
        records, public = read(data, **where)
        title, about = data.name, region_sentence(records.region)
    boxes = RangeQueries.sample(records, queries, sizes_m, seed=seed or 0)
    counted = tessellation(districts, label)
    builders = {} if counted is None else {"Districts": counted}
    plan = Plan(methods, epsilon, sizes_m, cell_m, seed, builders)
    found = run(records, public, boxes, plan)
    about += f" {queries:,} squares of {sizes_m[0]:g} to {sizes_m[1]:g} m, centred on records."
    page = report_html(found, title=title, about=about)
    if json_path is not None:
        write_whole(json_path, json.dumps(found.rows(), indent=1) + "\n")
    write_whole(report, page)
    click.echo(f"{title}. {about}\n")
    click.echo(terminal_tables(found))
    for caution in found.cautions:
        click.echo(f"\n{caution}")
    if seed is not None:
        click.echo("\nThe noise came from --seed: whoever knows it can take the noise away.")
    click.echo(f"\n{OWNER_ONLY}\nReport: {report}\nGo on with: snhkit explore")


@app.command()
@records_options
@click.option("--method", type=Methods(), metavar="M", help="One method's short name.")
@districts_options
@click.option(
    "--epsilon", type=Epsilons(), metavar="E", required=True, help="The price, all of it."
)
@click.option(
    "--sizes-m",
    type=Range(),
    default=DEFAULT_SIZES_M,
    show_default="25,100",
    help="Sides of the boxes to prepare for, in metres.",
)
@click.option(
    "--n-public",
    is_flag=True,
    help="The number of records may be known; otherwise a method that needs it buys it.",
)
@click.option(
    "--user", metavar="COLUMN", help="Column of users: hide all records of one, not one record."
)
@click.option(
    "--max-per-user",
    type=click.IntRange(1),
    metavar="N",
    help="With --user: records kept of each, chosen at random.",
)
@click.option(
    "--budget",
    type=Epsilons(),
    metavar="E",
    help="All the epsilon that may ever be spent on these records; said at the first release.",
)
@click.option(
    "--ledger",
    type=OutputFile(),
    help="The account of these records [default: beside --data, with .ledger added].",
)
@click.option("--out", type=OutputFile(), required=True, help="The file to publish.")
@click.option("--force", is_flag=True, help="Replace --out, which may be an earlier release.")
def release(
    data, method, districts, label, epsilon, sizes_m, n_public, user, max_per_user, cell_m, budget,
    ledger, out, force, **where,
) -> None:  # fmt: skip
    """Spend epsilon once and write the file that may be published.

    Each release of the same records adds its epsilon to what was spent before. The ledger, a file
    beside the records, keeps count and refuses what would exceed the budget.

    \b
    Example:
      snhkit release --data trips.csv --center 37.76,-122.43 --side-km 13 \\
          --method identity --epsilon 0.5 --budget 1 --out trips.snh
    """
    if (method is None) == (districts is None):
        raise click.UsageError("say either --method M or --districts FILE, whose method is known.")
    for values, option in ((method, "--method"), (epsilon, "--epsilon"), (budget, "--budget")):
        if values is not None and len(values) != 1:
            raise click.UsageError(f"{option} takes one value here, not {len(values)}.")
    if data is None:
        raise click.UsageError("Missing option '--data'.")
    if (user is None) != (max_per_user is None):
        raise click.UsageError("--user and --max-per-user go together.")
    ledger = ledger or data.with_name(data.name + ".ledger")
    refuse_same_file(data=data, public=where["public"], districts=districts, out=out, ledger=ledger)
    from snhkit.dataset import PrivateDataset
    from snhkit.experiment.methods import METHODS

    if method is not None and METHODS[method[0]].demonstration:
        raise click.UsageError(
            f"{method[0]} is a demonstration, not to publish: its noise is in floating point. "
            "Nothing was spent. See it in snhkit compare."
        )
    if budget is None and not ledger.exists():
        raise click.UsageError(
            f"there is no ledger {str(ledger)!r} yet: say --budget E, all the epsilon that may "
            "ever be spent on these records."
        )
    if out.exists() and not force:
        raise click.UsageError(f"{str(out)!r} exists; --force replaces it. Nothing was spent.")
    builder = tessellation(districts, label)
    if builder is None:
        builder = METHODS[method[0]].builder(sizes_m=sizes_m, cell_m=cell_m)
    records, public = read(data, user=user, **where)
    dataset = PrivateDataset(
        records,
        None if budget is None else budget[0],
        unit="record" if user is None else "user",
        max_per_user=max_per_user,
        n="public" if n_public else "private",
        ledger=ledger,
    )
    made = dataset.release(builder, epsilon=epsilon[0], public=public)
    made.save(out)
    click.echo(f"{made}\nWritten to {out}\nLedger {ledger}: {dataset.ledger.summary}", err=True)


@app.command("ledger")
@click.argument("file", type=InputFile())
def show_ledger(file) -> None:
    """Show what was spent on a dataset, and what is left.

    \b
    Example:
      snhkit ledger trips.csv.ledger
    """
    from snhkit.privacy import read_ledger

    click.echo(repr(read_ledger(file)))


@app.command()
@click.argument("file", type=InputFile())
@click.option(
    "--boxes",
    type=InputFile(),
    required=True,
    help="CSV with columns south,west,north,east in degrees, or GeoJSON of boxes or polygons.",
)
@click.option("--out", type=OutputFile(), help="Where to [default: standard output].")
def answer(file, boxes, out) -> None:
    """Answer boxes or polygons from a released file; costs no privacy.

    The same rows come back with a column count. Rows of a CSV may be divided by , ; | or tab.

    \b
    Example:
      snhkit answer trips.snh --boxes boxes.csv --out counts.csv
    """
    refuse_same_file(file=file, boxes=boxes, out=out)
    from snhkit.data.reading.boxes import answered, beyond, read_boxes
    from snhkit.loading import load

    made = load(file)
    queries, rows = read_boxes(boxes, made.region)
    kind = boxes.suffix if out is None or not out.suffix else out.suffix
    text = answered(rows, made.answer(queries), kind.lower())
    if past := int(beyond(queries, made.region).sum()):
        asked = f"Out of the region reach {past:,} of {len(queries):,} boxes or polygons"
        click.echo(f"{asked}; what lies out there counts as 0.", err=True)
    if out is None:
        click.echo(text)
    else:
        write_whole(out, text + "\n")


@app.command()
def cities() -> None:
    """List the twelve cities of the paper.

    compare and explore know a synthetic city in the place of each.
    """
    from snhkit.data import CITIES

    for key, place in CITIES.items():
        click.echo(
            f"{key:14} {place.name:16} {place.lat:8.3f} {place.lon:9.3f}  "
            f"{place.side_m / 1000:5.2f} km  {place.density} density"
        )


@app.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("snhkit-notebooks"),
    show_default=True,
    help="Where the copy goes; what is there already stays. Not for --app.",
)
@click.option("--app", "as_app", is_flag=True, help="The explorer alone, without code (Voila).")
@click.option("--browser/--no-browser", default=True, help="Open a browser [default: yes].")
def explore(folder, as_app, browser) -> None:
    """Open the notebooks in JupyterLab, or the explorer as an app.

    The notebooks are a copy that you can change. Both listen to this machine only, print their
    address, and end on Ctrl-C.
    """
    from snhkit.cli.launch import explore_in_jupyter, explore_in_voila

    if as_app:
        explore_in_voila(browser=browser)
    else:
        explore_in_jupyter(folder, browser=browser)


def _without(options: dict, left_out: str) -> dict:
    return {name: value for name, value in options.items() if name != left_out}


def main() -> None:
    """Run the command line; a mistake ends in one line and exit code 2."""
    try:
        app.main(sys.argv[1:] or ["--help"], prog_name="snhkit", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"snhkit: {error.format_message()}", err=True)
        sys.exit(2)
    except SnhkitError as error:
        click.echo(f"snhkit: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("snhkit: interrupted; no file is left half-written.", err=True)
        sys.exit(130)
