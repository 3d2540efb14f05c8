"""The command that finds a release's entry in a ledger."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from snhkit.cli.output import say
from snhkit.cli.types import INPUT_FILE
from snhkit.errors import InputError

if TYPE_CHECKING:
    from snhkit.privacy import Ledger
    from snhkit.release import Release

__all__ = ["verify"]


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

    made = load(file)
    number = _entry_of(file, made, read_ledger(ledger))
    say(f"{made}\nRecorded as entry {number} of {ledger}.")


def _entry_of(file: Path, release: "Release", ledger: "Ledger") -> int:
    """Return the number of the release's ledger entry; raise InputError if no entry matches."""
    import hashlib

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
