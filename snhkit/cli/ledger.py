"""The command that shows a ledger."""

import click

from snhkit.cli.output import say
from snhkit.cli.types import INPUT_FILE

__all__ = ["show_ledger"]


@click.command("ledger")
@click.argument("file", type=INPUT_FILE)
def show_ledger(file) -> None:
    """Show the spends of a dataset and the budget that is left.

    \b
    Example:
      snhkit ledger trips.csv.ledger
    """
    from snhkit.privacy import read_ledger

    say(repr(read_ledger(file)))
