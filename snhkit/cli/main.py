"""The commands of the command line."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from snhkit.cli import compile_cache
from snhkit.cli.districts import districts_options, tessellation
from snhkit.cli.output import STANDARD_OUTPUT, say, write
from snhkit.cli.records import read, records_options, refuse_same_file, region_sentence, synthetic
from snhkit.cli.types import INPUT_FILE, Epsilons, Methods, OutputFile, Range
from snhkit.defaults import DEFAULT_EPSILON, DEFAULT_METHODS, DEFAULT_SIZES_M
from snhkit.errors import SnhkitError

if TYPE_CHECKING:
    pass

__all__ = ["app", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="snhkit")
def app() -> None:
    """Count private locations in boxes, under differential privacy."""


@app.command()
@click.option("--city", help="A synthetic city, instead of --data [default: milwaukee].")
@records_options
@districts_options
@click.option("--epsilon", type=Epsilons(), default=str(DEFAULT_EPSILON), show_default=True)
@click.option(
    "--methods",
    type=Methods(),
    default=",".join(DEFAULT_METHODS),
    show_default=True,
    help="Short names of methods, or all; all leaves out snh-paper, which is slow.",
)
@click.option(
    "--queries",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    default=5000,
    show_default=True,
    help="Number of square queries.",
)
@click.option(
    "--sizes-m",
    type=Range(),
    default=DEFAULT_SIZES_M,
    show_default="25,100",
    help="Smallest and largest side of the squares, in metres.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="S",
    help="Repeat the comparison exactly, noise included; for research, not to publish.",
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
    city, data, districts, label, epsilon, methods, queries, sizes_m, seed, json_path, report,
    **where,
) -> None:  # fmt: skip
    """Build several methods and measure their errors against the true records.

    The errors are for the owner of the records and must not be published.

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
        write(json_path, json.dumps(found.rows(), indent=1) + "\n")
    write(report, page)
    err = STANDARD_OUTPUT in (json_path, report)  # keeps text out of the data
    say(f"{title}. {about}\n", err=err)
    say(terminal_tables(found), err=err)
    for caution in found.cautions:
        say(f"\n{caution}", err=err)
    if seed is not None:
        say("\nThe noise came from --seed: whoever knows it can take the noise away.", err=err)
    say(f"\n{OWNER_ONLY}\nReport: {report}\nNext: snhkit explore", err=err)


@app.command()
@records_options
@click.option("--method", type=Methods(), metavar="M", help="Short name of the method.")
@districts_options
@click.option(
    "--epsilon", type=Epsilons(), metavar="E", required=True, help="Epsilon of the release."
)
@click.option(
    "--sizes-m",
    type=Range(),
    default=DEFAULT_SIZES_M,
    show_default="25,100",
    help="Smallest and largest side of the boxes to prepare for, in metres.",
)
@click.option(
    "--n-public",
    is_flag=True,
    help="Declare the number of records public; otherwise a method that needs it buys it.",
)
@click.option(
    "--user",
    metavar="COLUMN",
    help="Column of user ids: hide all records of a user, not one record.",
)
@click.option(
    "--max-per-user",
    type=click.IntRange(1),
    metavar="N",
    help="With --user: number of records kept of each user, chosen at random.",
)
@click.option(
    "--budget",
    type=Epsilons(),
    metavar="E",
    help="All the epsilon that may ever be spent on these records; needed once.",
)
@click.option(
    "--ledger",
    type=OutputFile(),
    help="The account of these records [default: the path of --data, with .ledger added].",
)
@click.option(
    "--out", type=OutputFile(), required=True, help="The file to publish; - is standard output."
)
@click.option(
    "--force", is_flag=True, help="Replace an existing --out, which may be an earlier release."
)
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
        raise click.UsageError("give either --method M or --districts FILE.")
    for values, option in ((method, "--method"), (epsilon, "--epsilon"), (budget, "--budget")):
        if values is not None and len(values) != 1:
            raise click.UsageError(f"{option} takes one value here, not {len(values)}.")
    if data is None:
        raise click.UsageError("Missing option '--data'.")
    if (user is None) != (max_per_user is None):
        raise click.UsageError("--user and --max-per-user go together.")
    if ledger == STANDARD_OUTPUT:
        raise click.UsageError("--ledger is read again later; it cannot be standard output.")
    ledger = ledger or data.with_name(data.name + ".ledger")
    refuse_same_file(data=data, public=where["public"], districts=districts, out=out, ledger=ledger)
    from snhkit.dataset import PrivateDataset
    from snhkit.experiment.methods import METHODS

    key = "" if method is None else method[0]
    if key and METHODS[key].demonstration:
        raise click.UsageError(
            f"{key} is a demonstration, not to publish: its noise is in floating point. "
            "Nothing was spent. See it in snhkit compare."
        )
    if budget is None and not ledger.exists():
        raise click.UsageError(
            f"The ledger {str(ledger)!r} does not exist yet. Set its total with --budget E: the "
            "most epsilon that all releases of these records may spend."
        )
    if out.is_file() and not force:
        raise click.UsageError(f"{str(out)!r} exists; --force replaces it. Nothing was spent.")
    builder = tessellation(districts, label) or METHODS[key].builder(sizes_m, cell_m)
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
    write(out, made.to_bytes())
    say(f"{made}\nWritten to {out}\nLedger {ledger}: {dataset.ledger.summary}", err=True)


@app.command("ledger")
@click.argument("file", type=INPUT_FILE)
def show_ledger(file) -> None:
    """Show the spends of a dataset and the budget that is left.

    \b
    Example:
      snhkit ledger trips.csv.ledger
    """
    from snhkit.privacy import read_ledger

    say(repr(read_ledger(file)))


@app.command()
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--boxes",
    type=INPUT_FILE,
    required=True,
    help="CSV with columns south,west,north,east in degrees, or GeoJSON of boxes or polygons.",
)
@click.option("--out", type=OutputFile(), help="File to write; - is standard output, the default.")
def answer(file, boxes, out) -> None:
    """Count boxes or polygons with a released file; costs no privacy.

    The rows are written again with a column count. The columns of a CSV file may be separated by
    a comma, a semicolon, a | or a tab.

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
        say(
            f"{past:,} of {len(queries):,} boxes or polygons reach outside the region; the part "
            "outside counts as 0.",
            err=True,
        )
    write(STANDARD_OUTPUT if out is None else out, text + "\n")


@app.command()
def cities() -> None:
    """List the twelve cities of the paper.

    compare and explore offer a synthetic city in place of each.
    """
    from snhkit.data import CITIES

    for key, place in CITIES.items():
        say(
            f"{key:14} {place.name:16} {place.lat:8.3f} {place.lon:9.3f}  "
            f"{place.side_m / 1000:5.2f} km  {place.density} density"
        )


@app.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("snhkit-notebooks"),
    show_default=True,
    help="Folder for the copy; existing notebooks in it are kept. Not for --app.",
)
@click.option(
    "--app", "as_app", is_flag=True, help="Open the explorer alone, as an app without code (Voila)."
)
@click.option("--browser/--no-browser", default=True, help="Open a browser [default: yes].")
def explore(folder, as_app, browser) -> None:
    """Open the notebooks in JupyterLab, or the explorer as an app.

    The notebooks are a copy that you can change. The server accepts connections from this machine
    only, prints its address, and ends on Ctrl-C.
    """
    from snhkit.cli.launch import explore_in_jupyter, explore_in_voila

    if as_app:
        explore_in_voila(browser=browser)
    else:
        explore_in_jupyter(folder, browser=browser)


def _without(options: dict, left_out: str) -> dict:
    return {name: value for name, value in options.items() if name != left_out}


def main() -> None:
    """Run the command line; a mistake ends in one line on standard error and exit code 2."""
    compile_cache.switch_on()
    try:
        app.main(sys.argv[1:] or ["--help"], prog_name="snhkit", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message())
    except SnhkitError as error:
        _fail(str(error))
    except OSError as error:  # such as a full disk behind a redirected --help
        _fail(f"{error.filename or 'standard output'}: {error.strerror}.")
    except (KeyboardInterrupt, click.Abort):
        click.echo("snhkit: interrupted; no file is left half-written.", err=True)
        sys.exit(130)


def _fail(message: str) -> NoReturn:
    click.echo(f"snhkit: {message}", err=True)
    sys.exit(2)
