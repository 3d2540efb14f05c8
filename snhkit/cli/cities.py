"""The command that lists the twelve cities of the SNH paper."""

import json
from dataclasses import asdict

import click

from snhkit.cli.output import STANDARD_OUTPUT, say, write

__all__ = ["cities"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def cities(as_json) -> None:
    """List the twelve cities of the SNH paper (Zeighami et al., PVLDB 2022).

    The commands compare and explore use a synthetic version of each city.
    """
    from snhkit.data import CITIES

    if as_json:
        found = [asdict(place) for place in CITIES.values()]
        write(STANDARD_OUTPUT, json.dumps(found, indent=1) + "\n")
        return
    for key, place in CITIES.items():
        say(
            f"{key:14} {place.name:16} {place.lat:8.3f} {place.lon:9.3f}  "
            f"{place.side_m / 1000:5.2f} km  {place.density} density"
        )
