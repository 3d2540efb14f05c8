"""The command that writes the card of a release."""

from pathlib import Path

import click

from snhkit.cli.output import STANDARD_OUTPUT, write
from snhkit.cli.records import refuse_same_file
from snhkit.cli.types import INPUT_FILE, OutputFile

__all__ = ["card"]


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--out",
    type=OutputFile(),
    default=STANDARD_OUTPUT,
    help="File to write, .json or .md [default: -, which is standard output, in Markdown].",
)
def card(file, out: Path) -> None:
    """Write the card of a release, its description for readers.

    The card names the method, the unit of privacy, epsilon, what was public, and the checksum.

    \b
    Example:
      snhkit card trips.snh --out trips.json
    """
    refuse_same_file(file=file, out=out)
    from snhkit.loading import load
    from snhkit.release import card_json, card_markdown

    made = load(file)
    write(out, card_json(made) if out.suffix.lower() == ".json" else card_markdown(made))
