"""Options for files of records and their region, and functions that read or count the records."""

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    from distributed import Client

    from snhkit.builders import Tessellation
    from snhkit.data.counting.exact import ExactCounts
    from snhkit.dataset import PrivateDataset
    from snhkit.geometry import Points, Region

_TIMEOUT_S = 10  # seconds to wait for a scheduler's answer
_NAMES = ("time", "tz", "since", "until", "spill", "scheduler", "workers")


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


def refuse_new_account(ledger: Path, budget: object) -> None:
    """Raise UsageError if a ledger does not exist yet and no budget is given for it."""
    if budget is None and not ledger.exists():
        raise click.UsageError(
            f"The ledger {str(ledger)!r} does not exist yet. Create it by adding --budget E, where "
            "E is the total epsilon of all releases of these records."
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


tz_option = click.option(
    "--tz",
    metavar="ZONE",
    help="Time zone of hours and days, and of times without one, such as Europe/Brussels.",
)


scan_options = together(
    click.option(
        "--time",
        metavar="COLUMN",
        help="Column of times; needed for --since, --until and units such as user-day.",
    ),
    tz_option,
    click.option(
        "--since", metavar="TIME", help="Use only rows from this time on, such as 2026-11-01."
    ),
    click.option("--until", metavar="TIME", help="Use only rows before this time."),
    click.option(
        "--spill",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="With --user or --by: folder for temporary copies of the records that are kept.",
    ),
    click.option(
        "--workers",
        type=Whole(1, 1024),
        metavar="N",
        help="Count the records in N processes of a Dask cluster on this machine.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Count the records on the Dask cluster of this scheduler.",
    ),
)


@contextmanager
def opened(
    data: Path,
    user: str | None,
    terms: dict[str, Any],
    options: dict[str, Any],
    scanned: bool = False,
) -> "Iterator[tuple[PrivateDataset, Points | None]]":
    """Yield dataset and public points; folders and large files are counted as they are read."""
    from snhkit.data.sources.files import is_large
    from snhkit.dataset import PrivateDataset

    scan = {name: options[name] for name in _NAMES}
    where = {name: value for name, value in options.items() if name not in _NAMES}
    if scan["workers"] is not None and scan["scheduler"] is not None:
        raise click.UsageError(
            "give either --workers, which starts a cluster, or --scheduler, which joins one."
        )
    if not (scanned or any(scan.values()) or is_large(data)):
        records, public = read(data, user=user, **where)
        yield PrivateDataset(records, **terms), public
        return
    region = declared_region(where["center"], where["side_km"])
    columns = {"lat": where["lat"], "lon": where["lon"], "user": user}
    public = None if where["public"] is None else read_file(where["public"], region)
    with _cluster(scan.pop("scheduler"), scan.pop("workers")) as client:
        with named_as_options():
            dataset = PrivateDataset.scan(
                data, region, **terms, **columns, **scan, report=tell, client=client
            )
        yield dataset, public


@contextmanager
def _cluster(scheduler: str | None, workers: int | None) -> "Iterator[Client | None]":
    """Yield a connection to the chosen Dask cluster, or None; print the dashboard's address."""
    if scheduler is None and workers is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise click.UsageError('Dask is not installed: pip install "snhkit[dask]".') from None
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that the dashboard's port is taken
        where: Any = scheduler
        if scheduler is None:
            where = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, silence_logs=50)
            )
        try:
            client = stack.enter_context(Client(where, timeout=_TIMEOUT_S))
        except (OSError, TimeoutError, ValueError) as failure:
            reason = str(failure).partition("\n")[0][:160]
            raise click.UsageError(
                f"No Dask scheduler answers at {scheduler} ({reason}). Nothing was spent."
            ) from None
        found: Any = client.ncores()
        say(f"Dask: {len(found)} workers; dashboard {client.dashboard_link}", err=True)
        yield client
