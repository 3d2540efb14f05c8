"""The command that checks a release's signature and its entry in a ledger."""

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
@click.option("--key", type=INPUT_FILE, help="Public key of the person who signed the release.")
@click.option("--signature", type=INPUT_FILE, help="File of the signature [default: FILE.sig].")
@click.option(
    "--ledger", type=INPUT_FILE, help="Ledger file of the records, which only their owner has."
)
def verify(file, key, signature, ledger) -> None:
    """Check that a release was signed with a given key, or is recorded in a given ledger.

    The exit code is 0 if all requested checks succeed; otherwise, one line says which one failed.

    \b
    Example:
      snhkit verify trips.snh --key owner.key.pub
      snhkit verify trips.snh --ledger trips.csv.ledger
    """
    if key is None and ledger is None:
        raise click.UsageError("give --key PUBLIC, --ledger LEDGER, or both.")
    from snhkit.loading import load
    from snhkit.privacy import read_ledger
    from snhkit.release.signature import check_signature, key_name, signature_path

    made = load(file)
    told = [str(made)]
    if key is not None:
        check_signature(file.read_bytes(), signature or signature_path(file), key)
        told.append(f"Signed by the key {key_name(key)}.")
    if ledger is not None:
        number = _entry_of(file, made, read_ledger(ledger))
        told.append(f"Recorded as entry {number} of {ledger}.")
    say("\n".join(told))


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
