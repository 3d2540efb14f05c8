"""Command-line options for files of records and their region, and functions that read them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snhkit.cli.output import say
from snhkit.cli.types import (
    INPUT_FILE,
    SIZES_SHOWN,
    CellWidth,
    Epsilons,
    LatLon,
    OutputFile,
    Positive,
    Range,
    Whole,
)
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError

if TYPE_CHECKING:
    from snhkit.builders import Tessellation
    from snhkit.data.counting.exact import ExactCounts
    from snhkit.geometry import Points, Region


def together(*options):
    """Return a decorator that adds several options to a command, in this order."""

    def add(command):
        for option in reversed(options):
            command = option(command)
        return command

    return add


region_options = together(
    click.option("--center", type=LatLon(), help="Centre of the region, in degrees."),
    click.option(
        "--side-km", type=Positive(), metavar="KM", help="Side of the region, in kilometres."
    ),
    click.option(
        "--public",
        type=INPUT_FILE,
        help="File of public points near which queries are expected.",
    ),
)
place_options = together(
    click.option(
        "--data",
        type=click.Path(exists=True, path_type=Path),
        help="File of private records: .npy, .csv(.gz), .parquet, ...; snhkit release also "
        "takes a folder.",
    ),
    region_options,
    click.option(
        "--lat", metavar="COLUMN", help="Column of latitudes, if its name is not a common one."
    ),
    click.option(
        "--lon", metavar="COLUMN", help="Column of longitudes, if its name is not a common one."
    ),
)


people_options = together(
    click.option(
        "--user",
        metavar="COLUMN",
        help="Column of user ids; privacy then protects all records of a user, not only one "
        "record.",
    ),
    click.option(
        "--max-per-user",
        type=Whole(1),
        metavar="N",
        help="With --user: largest number of records of a user (and window of --unit) that "
        "are counted, chosen at random.",
    ),
    click.option(
        "--unit",
        metavar="UNIT",
        help="With --user and --time: user-day, user-week and user-N-days protect all records "
        "of a user in one window of 1, 7 or N days; user protects all records of a user "
        "[default: user]. Without --user, record states that each record is of another person.",
    ),
    click.option(
        "--n-public",
        is_flag=True,
        help="Declare that the number of records in the region is public; otherwise, a method "
        "that needs the number spends a part of epsilon on a noisy number.",
    ),
)


account_options = together(
    click.option(
        "--budget",
        type=Epsilons(),
        metavar="E",
        help="The total epsilon of all releases of --data; required for the first release only.",
    ),
    click.option(
        "--ledger",
        type=OutputFile(),
        help="The ledger file of --data [default: the path of --data, with .ledger added].",
    ),
)


def sizes_option(what: str):
    """Return a decorator that adds --sizes-m, the smallest and the largest side of ``what``."""
    return click.option(
        "--sizes-m",
        type=Range(),
        default=DEFAULT_SIZES_M,
        show_default=SIZES_SHOWN,
        help=f"Smallest and largest side of the {what}, in metres.",
    )


records_options = together(
    place_options,
    click.option(
        "--cell-m",
        type=CellWidth(),
        help="Cell width of grids. By default, the width follows from the number of records, "
        "epsilon, and a noisy measurement of how clustered the records are, for up to 3 % of "
        "epsilon. The word auto uses --public instead of the measurement.",
    ),
)
districts_options = together(
    click.option(
        "--districts",
        type=INPUT_FILE,
        help="File of polygons that do not overlap, each of which gets a count: .geojson, .gpkg or "
        ".parquet.",
    ),
    click.option(
        "--label",
        metavar="COLUMN",
        help="Column of the districts' names [default: row numbers].",
    ),
)


def tessellation(path: Path | None, label: str | None) -> "Tessellation | None":
    """Return the builder that counts the districts of a file; None if there is no file."""
    if path is None:
        if label is not None:
            raise click.UsageError("--label needs --districts.")
        return None
    from snhkit.builders import Tessellation

    return Tessellation(path, label=label)


def refuse_same_file(**paths: Path | None) -> None:
    """Raise UsageError if two options name the same file."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is not None and (other := seen.setdefault(path.resolve(), name)) != name:
            raise click.UsageError(
                f"{other} and {name} are the same file, {path}; name different files."
            )


def refuse_unasked_people(
    data: Path, user: str | None, unit: str | None, **columns: str | None
) -> None:
    """Raise UsageError if nobody said how often a person may appear, but a column has ids."""
    if user is not None or unit is not None:
        return
    from snhkit.data.sources.opening import people_column

    with named_as_options():
        found = people_column(data, **columns)
    if found is not None:
        raise click.UsageError(
            f"the column {found!r} of {data} looks like people, who may appear more than once: "
            f"give --user {found} and --max-per-user N, or --unit record if each record is of "
            "another person. Nothing was read."
        )


def synthetic(city: str) -> "tuple[Points, Points, str, str]":
    """Return records, public points, title and a note on what is invented, for a synthetic city."""
    from snhkit.data import city as city_of
    from snhkit.data import synthetic_points

    place = city_of(city)
    about = "Streets, venues and people are invented; only the place on the map is real."
    public = synthetic_points(place, world="public")
    return synthetic_points(place), public, f"{place.name}, synthetic", about


def read(
    data: Path,
    *,
    center: tuple[float, float] | None,
    side_km: float | None,
    public: Path | None,
    lat: str | None,
    lon: str | None,
    user: str | None = None,
) -> "tuple[Points, Points | None]":
    """Return the private records and the public points in the region that the options declare."""
    region = declared_region(center, side_km)
    records = read_file(data, region, lat=lat, lon=lon, user=user)
    return records, None if public is None else read_file(public, region)


def counted(data: Path, **where: Any) -> "tuple[Points | ExactCounts, Points | None]":
    """Return what ``read`` does, but records of folders and large files are counted as they lie."""
    from snhkit.data import scan_points
    from snhkit.data.sources.files import is_large

    if not is_large(data):
        return read(data, **where)
    region = declared_region(where["center"], where["side_km"])
    with named_as_options():
        records = scan_points(data, region, lat=where["lat"], lon=where["lon"], report=tell)
    return records, None if where["public"] is None else read_file(where["public"], region)


def declared_region(center: tuple[float, float] | None, side_km: float | None) -> "Region":
    """Return the square region of --center and --side-km; raise UsageError if one is missing."""
    from snhkit.geometry import Region

    if center is None or side_km is None:
        raise click.UsageError("--data needs --center LAT,LON and --side-km KM (the region).")
    return Region.around(*center, side_m=1000 * side_km)


def read_file(path: Path, region: "Region", **columns: Any) -> "Points":
    """Return the points of a file in a region; ``columns`` are arguments of ``read_points``."""
    from snhkit.data import read_points

    with named_as_options():
        return read_points(path, region, **columns, report=tell)


def tell(report: object) -> None:
    """Print on standard error which rows of a file were left out."""
    say(str(report), err=True)


@contextmanager
def named_as_options() -> Iterator[None]:
    """Replace Python arguments such as lat= by options such as --lat in messages of InputError."""
    try:
        yield
    except InputError as error:
        options = r"\b(lat|lon|user|time)="
        raise InputError(re.sub(options, r"--\1 ", str(error))) from None


def region_sentence(region: "Region") -> str:
    """Return a sentence with the region in which the records of a file lie."""
    side = f"{region.side_m / 1000:g} km"
    return f"Records of a file, in the {side} square around {region.lat:g}, {region.lon:g}."
