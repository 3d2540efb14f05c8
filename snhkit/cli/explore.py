"""The command that opens the notebooks or the explorer, for invented or private records."""

from pathlib import Path

import click

from snhkit.cli.output import say
from snhkit.cli.records import (
    account_options,
    districts_options,
    people_options,
    place_options,
    refuse_new_account,
    refuse_same_file,
    refuse_unasked_people,
    tz_option,
)


@click.command()
@place_options
@districts_options
@people_options
@click.option(
    "--time", metavar="COLUMN", help="Column of times; maps by hour or weekday are then offered."
)
@tz_option
@click.option("--title", help="Title of pages and files that you publish; never the file's name.")
@account_options
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("snhkit-notebooks"),
    show_default=True,
    help="Folder for the copy of the notebooks; existing files are kept. Not used with --app.",
)
@click.option(
    "--app", "as_app", is_flag=True, help="Open the explorer alone, as an app without code (Voila)."
)
@click.option(
    "--class",
    "as_class",
    is_flag=True,
    help="With --app: a server for a class. Each visitor gets an invented city and a budget of "
    "their own, and cannot open files of this machine.",
)
@click.option(
    "--tiles",
    metavar="URL|FILE",
    help="With --app: a background for maps, a local .mbtiles file or the address of a tile "
    "server with {z}, {x} and {y}. A tile server sees where you look [default: none].",
)
@click.option("--attr", metavar="TEXT", help="With --tiles: whom the map must name as its source.")
@click.option("--browser/--no-browser", default=True, help="Open a browser [default: yes].")
def explore(folder, as_app, as_class, browser, tiles, attr, **own) -> None:
    """Open the notebooks in JupyterLab, or the explorer as an app.

    The explorer is an interactive page that makes releases and shows them on a map. Without --data,
    the records are invented. With --data, the explorer opens your file. The square of --center and
    --side-km is public. Each release is charged to the ledger file, and a later start of the
    explorer continues the same ledger.

    The notebooks are a copy that you can change. The server accepts connections from this machine
    only, prints its address, and ends on Ctrl-C.

    \b
    Examples:
      snhkit explore --app
      snhkit explore --app --data trips.csv --center 37.76,-122.43 --side-km 13 \\
          --budget 1
    """
    from snhkit.cli.launch import explore_in_jupyter, explore_in_voila

    if as_class and not as_app:
        raise click.UsageError("--class needs --app.")
    if (tiles is not None and not as_app) or (attr is not None and tiles is None):
        raise click.UsageError("--tiles needs --app, and --attr needs --tiles.")
    if tiles is not None and Path(tiles).is_file():
        tiles = str(Path(tiles).resolve())
    background = {k: v for k, v in (("tiles", tiles), ("attr", attr)) if v is not None}
    if as_class and own["data"] is not None:
        raise click.UsageError(
            "--class shows invented cities only, because visitors would share the budget of "
            "--data; leave --data out."
        )
    file = _file(**own)
    if file is not None:
        file.session(report=lambda told: say(str(told), err=True))  # an error ends the command
    if as_app:
        explore_in_voila(browser=browser, file=file, visitors=as_class, background=background)
    else:
        explore_in_jupyter(folder, browser=browser, file=file)


def _file(
    data, center, side_km, public, lat, lon, user, max_per_user, unit, n_public, districts, label,
    budget, ledger, title, time, tz,
):  # fmt: skip
    """Return the options as an ``OwnFile``, a file of private records; None without --data."""
    others = {
        "--center": center, "--side-km": side_km, "--public": public, "--lat": lat, "--lon": lon,
        "--user": user, "--max-per-user": max_per_user, "--unit": unit,
        "--n-public": n_public or None, "--districts": districts, "--label": label,
        "--budget": budget, "--ledger": ledger, "--title": title, "--time": time, "--tz": tz,
    }  # fmt: skip
    if data is None:
        for option, value in others.items():
            if value is not None:
                raise click.UsageError(f"{option} needs --data FILE.")
        return None
    if center is None or side_km is None:
        raise click.UsageError("--data needs --center LAT,LON and --side-km KM (the region).")
    if (user is None) != (max_per_user is None):
        raise click.UsageError("--user and --max-per-user must be given together.")
    if tz is not None and time is None:
        raise click.UsageError("--tz needs --time.")
    if label is not None and districts is None:
        raise click.UsageError("--label needs --districts.")
    if budget is not None and len(budget) != 1:
        raise click.UsageError(f"--budget takes one value here, not {len(budget)}.")
    refuse_same_file(data=data, public=public, districts=districts, ledger=ledger)
    if unit is not None and (unit == "record") == (user is not None):
        raise click.UsageError(f"--unit {unit} needs --user COLUMN; --unit record goes without it.")
    if unit not in (None, "record", "user") and time is None:
        raise click.UsageError(f"--unit {unit} needs --time COLUMN.")
    refuse_unasked_people(data, user, unit, lat=lat, lon=lon)
    from snhkit.widgets.own_file import OwnFile

    def full(path: Path | None) -> str | None:
        return None if path is None else str(path.resolve())

    columns = {"lat": lat, "lon": lon, "user": user, "time": time, "tz": tz}
    file = OwnFile(
        path=str(data.absolute()),
        lat=center[0],
        lon=center[1],
        side_m=round(1000 * side_km, 3),
        ledger=full(ledger),
        budget=None if budget is None else budget[0],
        public=full(public),
        districts=full(districts),
        label=label,
        columns=tuple((name, column) for name, column in columns.items() if column is not None),
        max_per_user=max_per_user,
        kind="user" if unit in (None, "record") else unit,
        n_public=n_public,
        title=title or "",
    )
    refuse_new_account(file.account, budget)
    return file
