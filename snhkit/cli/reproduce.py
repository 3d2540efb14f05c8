"""The command that repeats the experiments of the SNH paper's evaluation."""

from datetime import date
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from snhkit.cli.output import say
from snhkit.cli.records import read, region_options
from snhkit.files import write_whole

if TYPE_CHECKING:
    from snhkit.experiment import Place

_SAN_FRANCISCO = (37.7637, -122.4337)
_PUBLISHED = {
    "CABS": ("sf_cabs.npy", "san_francisco_gowalla_checkins.csv.gz", _SAN_FRANCISCO),
    "Milwaukee, check-ins": ("milwaukee_foursquare_checkins.csv.gz", None, (43.038, -87.91)),
    "Kansas City, Gowalla": ("kansas_city_gowalla_checkins.csv.gz", None, (39.09, -94.59)),
}
"""For each public data set: its file, the file of its public points, the centre of its region."""

_SIDE_M = 13_200.0
_QUICK = (
    "Each value is measured with one seed, on at most 60,000 records of each data set. The paper's "
    "network is smaller here, and trained for only {steps:,} steps of {batch:,} squares."
)
_FULL = (
    "Each value is the mean of three seeds, on all records. The paper's network is smaller here, "
    "and trained with one seed, for {steps:,} steps of {batch:,} squares."
)
_NAMES = (
    "X@ParamSelect is the method X with the cell width that ParamSelect chooses, and X@UG with the "
    "width of UG's cells. SNH+QS is SNH with the query size as an input of its networks."
)
_DONE = "points.jsonl"  # measured values, with which an interrupted run continues


@click.command()
@click.option(
    "--figure",
    "names",
    multiple=True,
    metavar="NAME",
    help="Short name of one of the paper's figures, such as rho; repeat the option for several "
    "[default: all].",
)
@click.option("--quick", is_flag=True, help="Measure fewer values, in minutes instead of hours.")
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    help="A folder with the public data sets, or a file of your own records [default: synthetic "
    "cities].",
)
@region_options
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder for reproduction.md, figures, tables, and measured values to continue from.",
)
def reproduce(names, quick, data, center, side_km, public, out) -> None:
    """Repeat the experiments behind the figures of the SNH paper (PVLDB 2022, Sec. 6).

    For each figure, the command writes a plot, a table, the paper's finding, and whether this run
    agrees. If a run is interrupted, give the command again to continue it. A --data file of your
    own needs --center and --side-km. The errors are for the owner of the records and must not be
    published, unless the records are public.

    \b
    Examples:
      snhkit reproduce --quick
      snhkit reproduce --figure rho --data FOLDER
      snhkit reproduce --data taxis.csv --center 37.7637,-122.4337 --side-km 13.2
    """
    from snhkit.experiment import Place
    from snhkit.reproduction.figures import FIGURES, figure, reproduction_figure

    own = False
    if data is not None and data.is_file():
        own = True
        records, beside = read(
            data, center=center, side_km=side_km, public=public, lat=None, lon=None
        )
        places = {data.name: Place(records, beside)}
    elif center is not None or side_km is not None or public is not None:
        raise click.UsageError("--center, --side-km and --public need --data with a file.")
    else:
        places = _public_places(data)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for name in names or FIGURES:
        say(f"{name} ...", err=True)
        table = figure(name, places, quick=quick, file=out / _DONE)
        write_whole(_table(out, name), table.to_csv(index=False, lineterminator="\n"))
        drawn = BytesIO()
        reproduction_figure(FIGURES[name], table).savefig(drawn, format="png", dpi=90)
        write_whole(out / _image(name), drawn.getvalue())
        write_whole(out / "reproduction.md", _page(out, quick, list(places), own=own))
    say(f"{out / 'reproduction.md'}")


def _image(name: str) -> str:
    return f"figures/reproduction_{name}.png"


def _table(out: Path, name: str) -> Path:
    return out / "figures" / f"reproduction_{name}.csv"


def _public_places(folder: Path | None) -> "dict[str, Place]":
    """Return the data sets by name; a synthetic one replaces a data set that ``folder`` lacks."""
    from snhkit.data import read_points, synthetic_points
    from snhkit.experiment import Place
    from snhkit.geometry import Region
    from snhkit.reproduction import stay_points, synthetic_trace

    found = {}
    for title, (file, public, centre) in _PUBLISHED.items():
        if folder is not None and (folder / file).is_file():
            region = Region.around(*centre, side_m=_SIDE_M)
            beside = None if public is None else read_points(folder / public, region)
            found[title] = Place(read_points(folder / file, region), beside)
    if not found:
        records = synthetic_points("san_francisco", 200_000)
        public = synthetic_points("san_francisco", 20_000, world="public")
        found["San Francisco (synthetic, for CABS)"] = Place(records, public)
    stays = stay_points(synthetic_trace("milwaukee", 20_000))
    public = synthetic_points("milwaukee", world="public")
    records = read_points(stays, public.region, user="user", report=lambda told: None)
    found["Milwaukee (synthetic stay points, for SPD-VS)"] = Place(records, public)
    return found


def _page(out: Path, quick: bool, names: list[str], *, own: bool = False) -> str:
    """Return a Markdown page about all figures that were measured so far."""
    import pandas as pd

    from snhkit.experiment.compare import OWNER_ONLY
    from snhkit.reproduction.figures import FIGURES, Effort

    command = "snhkit reproduce" + (" --quick" if quick else "")
    effort, seconds = Effort.of(quick), 0.0
    lines = [
        f"# The paper's evaluation, measured again: {'quick' if quick else 'full'} run",
        "",
        f"`{command}`, {date.today()}. Data sets: {'; '.join(names)}. "
        + (
            ""
            if own
            else "The paper's Veraset data are proprietary; synthetic data sets, which are "
            "named so, replace them. "
        )
        + "Errors are those of squares of 25 to 100 m around records, unless the axis of a figure "
        "has other sizes. "
        + (_QUICK if quick else _FULL).format(steps=effort.steps, batch=effort.batch),
        "",
        _NAMES,
        "",
        *([OWNER_ONLY, ""] if own else []),
        "| figure | the paper found | this run | agrees |",
        "|---|---|---|---|",
    ]
    details, missing = [], []
    for name, told in FIGURES.items():
        file = _table(out, name)
        if not file.is_file():
            missing.append(name)
            continue
        table = pd.read_csv(file)
        seconds += table["cpu_s"].sum()
        agrees, found = told.judge(table)
        lines.append(
            f"| {told.heading} | {told.said} | {found} | {'yes' if agrees else '**no**'} |"
        )
        axis = told.axis or ", ".join(f"{x} {part}" for x, part in enumerate(told.parts))
        values = (
            f"[The values]({file.relative_to(out).as_posix()}) (x: {axis}; value: {told.value})."
        )
        details += ["", f"## {told.heading}", "", f"![{told.heading}]({_image(name)})", "", values]
    lines += ["", f"The measurements took {seconds:,.0f} seconds of processor time."]
    if missing:
        lines += ["", f"Not measured in this run: {', '.join(missing)}."]
    return "\n".join([*lines, *details]) + "\n"
