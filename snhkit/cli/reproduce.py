"""The command that measures the figures of the paper's evaluation again."""

from datetime import date
from io import BytesIO
from pathlib import Path

import click

from snhkit.cli.output import say
from snhkit.cli.records import declared_region, read_file
from snhkit.cli.types import INPUT_FILE, LatLon
from snhkit.files import write_whole

__all__ = ["reproduce"]

_CABS = ("sf_cabs.npy", "san_francisco_gowalla_checkins.csv.gz", (37.7637, -122.4337))
_GW = ("milwaukee_foursquare_checkins.csv.gz", None, (43.038, -87.91))
_SIDE_M = 13_200.0
_QUICK = (
    "One seed, at most 60,000 records of each data set, and short training of the paper's network."
)


@click.command()
@click.option("--figure", "names", multiple=True, metavar="NAME", help="Only this figure.")
@click.option("--quick", is_flag=True, help="Measure less: minutes instead of hours.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with the public data sets; without it synthetic cities stand in.",
)
@click.option(
    "--records",
    type=INPUT_FILE,
    help="Your own records as the first data set, in place of the paper's "
    "proprietary ones. The tables show true errors of these records: do not "
    "publish them.",
)
@click.option("--center", type=LatLon(), help="Centre of the region of --records, in degrees.")
@click.option(
    "--side-km",
    type=click.FloatRange(0, min_open=True),
    metavar="KM",
    help="Side of the region of --records, in kilometres.",
)
@click.option("--public", type=INPUT_FILE, help="Public points in the region of --records.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="A folder for reproduction.md, tables and figures.",
)
def reproduce(names, quick, data, records, center, side_km, public, out) -> None:
    """Measure the figures of the paper's evaluation (Sec. 6) again.

    Each figure is written as a table and a picture, with what the paper found and whether this run
    agrees. An interrupted run goes on where it was: the folder "points" keeps measured points.

    \b
    Examples:
      snhkit reproduce --quick
      snhkit reproduce --figure rho --data FOLDER
      snhkit reproduce --records trips.csv --center 37.76,-122.43 --side-km 13.2
    """
    from snhkit.experiment import Place
    from snhkit.experiment.reproduction import FIGURES, figure
    from snhkit.viz.figures.reproduction import reproduction_figure

    if (records is None) != (center is None) or (records is None) != (side_km is None):
        raise click.UsageError("--records, --center and --side-km must be given together.")
    if public is not None and records is None:
        raise click.UsageError("--public needs --records.")
    places = {}
    if records is not None:
        region = declared_region(center, side_km)
        beside = None if public is None else read_file(public, region)
        places[records.name] = Place(read_file(records, region), beside)
    places |= _places(data)
    for folder in ("figures", "points"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for name in names or FIGURES:
        file = out / f"{name}.csv"
        say(f"{name} ...", err=True)
        kept = out / "points" / f"{name}-{'quick' if quick else 'full'}.jsonl"
        table = figure(name, places, quick=quick, out=kept)
        write_whole(file, table.to_csv(index=False, lineterminator="\n"))
        drawn = BytesIO()
        reproduction_figure(FIGURES[name], table).savefig(drawn, format="png", dpi=90)
        write_whole(out / "figures" / f"{name}.png", drawn.getvalue())
        write_whole(out / "reproduction.md", _page(out, quick, list(places)))
    say(f"{out / 'reproduction.md'}")


def _places(folder: Path | None) -> dict:
    """Return the data sets by their names in tables, synthetic ones if a folder lacks the files."""
    from snhkit.data import read_points, stay_points, synthetic_points, synthetic_trace
    from snhkit.experiment import Place
    from snhkit.geometry import Region

    found = {}
    for title, (file, public, centre) in (("CABS", _CABS), ("Milwaukee, check-ins", _GW)):
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


def _page(out: Path, quick: bool, names: list[str]) -> str:
    """Return a Markdown page on all measured figures, made from their tables."""
    import pandas as pd

    from snhkit.experiment.reproduction import FIGURES

    command = "snhkit reproduce" + (" --quick" if quick else "")
    lines = [
        "# The paper's evaluation, measured again",
        "",
        f"`{command}`, {date.today()}. Data sets: {'; '.join(names)}. Of the paper's data, Veraset "
        "is proprietary; synthetic data stand in where a name says so. Squares of 25 to 100 m "
        "around records unless the axis says otherwise. "
        + (_QUICK if quick else "Means of three seeds."),
        "",
        "| figure | the paper found | this run | agrees |",
        "|---|---|---|---|",
    ]
    details, missing = [], []
    for name, told in FIGURES.items():
        file = out / f"{name}.csv"
        if not file.is_file():
            missing.append(name)
            continue
        table = pd.read_csv(file)
        agrees, found = told.judge(table)
        lines.append(
            f"| {told.heading} | {told.said} | {found} | {'yes' if agrees else '**no**'} |"
        )
        wide = table.pivot_table(index=["data", "line"], columns="x", values="value", sort=False)
        head = " | ".join(f"{x:g}" for x in wide.columns)
        rows = [
            f"| {data} | {line} | "
            + " | ".join("" if pd.isna(v) else f"{v:.3f}" for v in row)
            + " |"
            for (data, line), row in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        details += ["", f"## {told.heading}", "", f"![{told.heading}](figures/{name}.png)", "",
                    f"Columns: {told.axis}; values: {told.value}.", "",
                    f"| data | line | {head} |", "|---" * (2 + len(wide.columns)) + "|",
                    *rows]  # fmt: skip
    if missing:
        lines += ["", f"Not measured in this run: {', '.join(missing)}."]
    return "\n".join([*lines, *details]) + "\n"
