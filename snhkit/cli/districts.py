"""The command-line options for counts of districts, whose polygons are in a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from snhkit.cli.types import INPUT_FILE

if TYPE_CHECKING:
    from snhkit.builders import Tessellation

__all__ = ["districts_options", "tessellation"]


def districts_options(command):
    """Add the options --districts, a file of polygons, and --label, the column of their names."""
    label = click.option(
        "--label",
        metavar="COLUMN",
        help="With --districts: column of the districts' names [default: row numbers].",
    )
    file = click.option(
        "--districts",
        type=INPUT_FILE,
        help="File of polygons that do not overlap, each of which gets a count: .geojson, .gpkg or "
        ".parquet.",
    )
    return file(label(command))


def tessellation(path: Path | None, label: str | None) -> "Tessellation | None":
    """Return the builder that counts the districts of a file; None if there is no file."""
    if path is None:
        if label is not None:
            raise click.UsageError("--label needs --districts.")
        return None
    from snhkit.builders import Tessellation

    return Tessellation(path, label=label)
