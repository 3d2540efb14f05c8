"""The records that a command reads, and their region."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from snhkit.cli.output import say
from snhkit.cli.types import INPUT_FILE, CellWidth, LatLon
from snhkit.errors import InputError

if TYPE_CHECKING:
    from snhkit.geometry import Points, Region

__all__ = [
    "read",
    "records_options",
    "refuse_same_file",
    "region_points",
    "region_sentence",
    "synthetic",
]


def records_options(command):
    """Add the options that name the records, their region and the cell width."""
    options = [
        click.option(
            "--data", type=INPUT_FILE, help="Private records: .npy, .csv(.gz), .parquet, ..."
        ),
        click.option("--center", type=LatLon(), help="Centre of the region, in degrees."),
        click.option(
            "--side-km",
            type=click.FloatRange(0, min_open=True),
            metavar="KM",
            help="Side of the region.",
        ),
        click.option(
            "--public", type=INPUT_FILE, help="Public points: where queries are expected."
        ),
        click.option("--lat", metavar="COLUMN", help="Latitude in --data, if not a usual name."),
        click.option("--lon", metavar="COLUMN", help="Longitude in --data, if not a usual name."),
        click.option(
            "--cell-m",
            type=CellWidth(),
            help="Cell width [default: from n and epsilon]; auto: also from --public; bought: "
            "also from how evenly the records are spread, for up to 3 % of epsilon "
            "[default of denoised].",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def refuse_same_file(**paths: Path | None) -> None:
    """Raise UsageError if two options name the same file."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is not None and (other := seen.setdefault(path.resolve(), name)) != name:
            raise click.UsageError(f"{other} and {name} are the same file, {path}.")


def synthetic(city: str) -> "tuple[Points, Points, str, str]":
    """Return records, public points, a title and a sentence on the origin of a synthetic city."""
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
    """Return the private records and the public points of the region that the options declare."""
    from snhkit.geometry import Region

    if center is None or side_km is None:
        raise click.UsageError("--data needs --center LAT,LON and --side-km KM: the region.")
    region = Region.around(*center, side_m=1000 * side_km)
    records = _points(data, region, lat=lat, lon=lon, user=user)
    return records, None if public is None else _points(public, region)


def region_points(path: Path, center: tuple[float, float], side_km: float) -> "Points":
    """Return the public points of a file in the region that the options declare."""
    from snhkit.geometry import Region

    return _points(path, Region.around(*center, side_m=1000 * side_km))


def _points(path: Path, region: "Region", **columns: str | None) -> "Points":
    from snhkit.data import read_points

    try:
        return read_points(path, region, **columns, report=lambda told: say(str(told), err=True))
    except InputError as error:  # the reader names arguments of Python, such as lat=1
        raise InputError(re.sub(r"\b(lat|lon|user)=", r"--\1 ", str(error))) from None


def region_sentence(region: "Region") -> str:
    """Return a sentence on the region of records from a file."""
    side = f"{region.side_m / 1000:g} km"
    return f"Records of a file, in the {side} square around {region.lat:g}, {region.lon:g}."
