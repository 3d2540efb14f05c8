"""The commands that describe what there is: a release, a ledger and its entries, the cities."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from snhkit.cli.output import STANDARD_OUTPUT, say, write
from snhkit.cli.records import refuse_same_file
from snhkit.cli.types import INPUT_FILE, OutputFile
from snhkit.errors import InputError

if TYPE_CHECKING:
    from snhkit.privacy import Ledger
    from snhkit.release import Release


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--out",
    type=OutputFile(),
    default=STANDARD_OUTPUT,
    help="File to write, .json or .md [default: -, which is standard output, in Markdown].",
)
@click.option(
    "--registry",
    is_flag=True,
    help="Write a draft of an entry for OpenDP's registry of deployments instead, as YAML.",
)
def card(file, out: Path, registry: bool) -> None:
    """Write the card of a release, its description for readers.

    The card names the method, the unit of privacy, epsilon, what was public, and the checksum.

    \b
    Example:
      snhkit card trips.snh --out trips.json
    """
    refuse_same_file(file=file, out=out)
    from snhkit.loading import load
    from snhkit.release.card import card_json, card_markdown, card_registry

    as_json = out.suffix.lower() == ".json"
    form = card_registry if registry else card_json if as_json else card_markdown
    write(out, form(load(file).total()))


@click.command("ledger")
@click.argument("file", type=INPUT_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print totals and entries as JSON.")
def show_ledger(file, as_json) -> None:
    """Show what the releases of a dataset have cost, and the budget that is left.

    \b
    Example:
      snhkit ledger trips.csv.ledger
    """
    from snhkit.privacy import read_ledger, written

    ledger = read_ledger(file)
    if not as_json:
        say(repr(ledger))
        return
    entries = [
        {
            "number": entry.number,
            "when": entry.when.isoformat(),
            "who": entry.who,
            "epsilon": written(entry.epsilon),
            "delta": written(entry.delta),
            "rho": written(entry.rho),
            "state": entry.state,
            "replayable": entry.replayable,
        }
        for entry in ledger.entries
    ]
    told = {
        "budget": ledger.total,
        "delta": ledger.delta,
        "spent": ledger.spent,
        "left": ledger.remaining,
    }
    say(
        json.dumps(
            {name: written(value) for name, value in told.items()} | {"entries": entries}, indent=1
        )
    )


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--ledger",
    type=INPUT_FILE,
    required=True,
    help="Ledger file of the records, which only their owner has.",
)
def verify(file, ledger) -> None:
    """Check that a release is recorded in a ledger, as its owner can.

    The exit code is 0 if an entry has the checksum of the file, and the same method, epsilon and
    delta; otherwise, one line says what differs.

    \b
    Example:
      snhkit verify trips.snh --ledger trips.csv.ledger
    """
    from snhkit.loading import load
    from snhkit.privacy import read_ledger

    made = load(file).total()
    number = _entry_of(file, made, read_ledger(ledger))
    say(f"{made}\nRecorded as entry {number} of {ledger}.")


def _entry_of(file: Path, release: "Release", ledger: "Ledger") -> int:
    """Return the number of the release's ledger entry; raise InputError if no entry matches."""
    checksum = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    entries = [entry for entry in ledger.entries if entry.checksum == checksum]
    if not entries:
        raise InputError(
            f"{file}: no release in the ledger has the checksum {checksum}; the file was changed, "
            "or belongs to another ledger."
        )
    entry = entries[-1]
    wanted = {
        "method": (release.method, entry.who),
        "epsilon": (release.epsilon, entry.epsilon),
        "delta": (release.delta, entry.delta),
        "replayable": (release.replayable, entry.replayable),
    }
    for name, (said, charged) in wanted.items():
        if said != charged:
            raise InputError(
                f"{file}: {name} is {said}, but {charged} in entry {entry.number} of the ledger."
            )
    return entry.number


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
