"""The command that shows a ledger: the budget of a dataset and what was spent."""

import json

import click

from snhkit.cli.output import say
from snhkit.cli.types import INPUT_FILE

__all__ = ["show_ledger"]


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
