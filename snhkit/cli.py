"""The command line: compare, release, answer, cities, explore."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from snhkit.cli_types import Epsilons, LatLon, Methods, Range
from snhkit.errors import SnhkitError
from snhkit.files import write_whole

if TYPE_CHECKING:
    from snhkit.geometry import Points, Region

__all__ = ["app", "main"]

_FILE = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="snhkit")
def app() -> None:
    """Range counts over private locations, under differential privacy."""


def _records_options(command):
    """Options that say which records, where."""
    options = [
        click.option("--data", type=_FILE, help="Private records: .npy, .csv, .parquet, ..."),
        click.option("--center", type=LatLon(), help="Centre of the region, with --data."),
        click.option("--side-km", type=float, help="Side of the region, with --data."),
        click.option("--public", type=_FILE, help="Public points: where queries are expected."),
        click.option("--lat", help="Column of latitude in --data, if not an usual name."),
        click.option("--lon", help="Column of longitude in --data, if not an usual name."),
        click.option("--cell-m", type=float, help="Cell width in metres [default: from n, E]."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@app.command()
@click.option("--city", default="milwaukee", help="A synthetic city, without --data.")
@_records_options
@click.option("--epsilon", type=Epsilons(), default="0.2", show_default=True)
@click.option("--methods", type=Methods(), default="ug,identity,snh", show_default=True)
@click.option("--queries", type=click.IntRange(1, 10_000_000), default=5000, show_default=True)
@click.option("--side-m", type=Range(), default="25,100", show_default=True, help="Query sizes.")
@click.option("--seed", type=click.IntRange(0), help="Repeat all of it, the noise too.")
@click.option("--json", "json_path", type=_FILE, help="Write the table here, as JSON.")
@click.option("--report", type=_FILE, default=Path("snhkit-report.html"), show_default=True)
def compare(
    city, data, epsilon, methods, queries, side_m, seed, json_path, report, **where
) -> None:
    """Build several methods and show how wrong, how slow and how large each is.

    The errors are computed from the true records: for their owner, not to be published.
    """
    from snhkit.experiment import OWNER_ONLY
    from snhkit.experiment.run import Plan, run
    from snhkit.geometry import RangeQueries
    from snhkit.viz.report import report_html, table_for_people

    records, public, title, about = _records(city, data, **_kept(where, "cell_m"))
    boxes = RangeQueries.sample(records, queries, side_m, seed=seed or 0)
    plan = Plan(methods, epsilon, side_m, where["cell_m"], seed)
    found = run(records, public, boxes, plan)
    about += f" {queries:,} squares of {side_m[0]:g} to {side_m[1]:g} m, centred on records."
    page = report_html(found, title=title, about=about)
    rows = found.table.assign(warning=OWNER_ONLY).to_dict("records")
    if json_path is not None:
        write_whole(json_path, json.dumps(rows, indent=1) + "\n")
    write_whole(report, page)
    click.echo(f"{title}. {about}\n")
    click.echo(table_for_people(found.table).to_string(index=False))
    click.echo(f"\n{OWNER_ONLY}\nReport: {report}\nGo on with: snhkit explore")


@app.command()
@_records_options
@click.option("--method", type=Methods(), required=True, help="One method's short name.")
@click.option("--epsilon", type=Epsilons(), required=True)
@click.option("--size-m", type=Range(), default="25,100", show_default=True, help="Query sizes.")
@click.option("--n-public", is_flag=True, help="The number of records may be known.")
@click.option("--user", help="Column of users: hide all records of one, not one record.")
@click.option("--max-per-user", type=click.IntRange(1), help="With --user: records kept of each.")
@click.option("--out", type=_FILE, required=True, help="The file to publish.")
def release(
    data, method, epsilon, size_m, n_public, user, max_per_user, cell_m, out, **where
) -> None:
    """Spend epsilon on one release, and write the file that may be published."""
    from snhkit.dataset import PrivateDataset
    from snhkit.experiment.methods import METHODS

    for values, option in ((method, "--method"), (epsilon, "--epsilon")):
        if len(values) != 1:
            raise click.UsageError(f"{option} takes one value here, not {len(values)}.")
    if data is None:
        raise click.UsageError("Missing option '--data'.")
    records, public, _, _ = _records(None, data, user=user, **where)
    dataset = PrivateDataset(
        records,
        epsilon[0],
        unit="record" if user is None else "user",
        max_per_user=max_per_user,
        n="public" if n_public else "private",
    )
    builder = METHODS[method[0]].builder(sizes_m=size_m, cell_m=cell_m)
    made = dataset.release(builder, epsilon=epsilon[0], public=public)
    made.save(out)
    click.echo(f"{made}\nWritten to {out}", err=True)


@app.command()
@click.argument("file", type=_FILE)
@click.option("--boxes", type=_FILE, required=True, help="CSV (south,west,north,east) or GeoJSON.")
@click.option("--out", type=_FILE, help="Where to [default: standard output].")
def answer(file, boxes, out) -> None:
    """Answer boxes from a released file; costs no privacy."""
    from snhkit.data.boxes import answered, read_boxes
    from snhkit.release_file import load

    made = load(file)
    queries, rows = read_boxes(boxes, made.region)
    kind = boxes.suffix if out is None else out.suffix
    text = answered(rows, made.answer(queries), kind.lower())
    if out is None:
        click.echo(text)
    else:
        write_whole(out, text + "\n")


@app.command()
def cities() -> None:
    """List the twelve cities of the paper, which compare and explore know as synthetic ones."""
    from snhkit.data import CITIES

    for key, place in CITIES.items():
        click.echo(
            f"{key:14} {place.name:16} {place.lat:8.3f} {place.lon:9.3f}  "
            f"{place.side_m / 1000:5.2f} km  {place.density} density"
        )


@app.command()
@click.option("--folder", type=_FILE, default=Path("snhkit-notebooks"), show_default=True)
@click.option("--app", "as_app", is_flag=True, help="The explorer alone, without code (Voila).")
@click.option("--browser/--no-browser", default=True, help="Open a browser.")
def explore(folder, as_app, browser) -> None:
    """Open the notebooks in Jupyter, on a copy that can be changed."""
    from snhkit.launch import explore_in_jupyter

    sys.exit(explore_in_jupyter(folder, app=as_app, browser=browser))


def _kept(options: dict, *left_out: str) -> dict:
    return {name: value for name, value in options.items() if name not in left_out}


def _records(
    city: str | None,
    data: Path | None,
    *,
    center: tuple[float, float] | None,
    side_km: float | None,
    public: Path | None,
    lat: str | None,
    lon: str | None,
    user: str | None = None,
) -> "tuple[Points, Points | None, str, str]":
    """Private records, public points, a title and a sentence on where they come from."""
    from snhkit.data import city as city_of
    from snhkit.data import read_points, synthetic_points
    from snhkit.geometry import Region

    if data is None:
        if center or side_km or public or lat or lon:
            raise click.UsageError("--center, --side-km, --public, --lat and --lon go with --data.")
        place = city_of(city or "")
        return (
            synthetic_points(place),
            synthetic_points(place, world="public"),
            f"{place.name}, synthetic",
            "Streets, venues and people are invented; only the place on the map is real.",
        )
    if center is None or side_km is None:
        raise click.UsageError("--data needs --center LAT,LON and --side-km KM: the region.")
    region = Region.around(*center, side_m=1000 * side_km)
    tell = lambda report: click.echo(report, err=True)  # noqa: E731
    records = read_points(data, region, lat=lat, lon=lon, user=user, report=tell)
    known = None if public is None else read_points(public, region, report=tell)
    return records, known, data.name, _region_sentence(region)


def _region_sentence(region: "Region") -> str:
    side = f"{region.side_m / 1000:g} km"
    return f"Records of a file, in the {side} square around {region.lat:g}, {region.lon:g}."


def main() -> None:
    """Run the command line; a mistake ends in one line and exit code 2."""
    try:
        app.main(prog_name="snhkit", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"snhkit: {error.format_message()}", err=True)
        sys.exit(2)
    except SnhkitError as error:
        click.echo(f"snhkit: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("snhkit: interrupted; nothing was written.", err=True)
        sys.exit(130)
