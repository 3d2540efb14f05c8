"""The command that opens the notebooks or the explorer."""

from pathlib import Path

import click

__all__ = ["explore"]


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("snhkit-notebooks"),
    show_default=True,
    help="Folder for the copy; existing notebooks in it are kept. Not for --app.",
)
@click.option(
    "--app", "as_app", is_flag=True, help="Open the explorer alone, as an app without code (Voila)."
)
@click.option("--browser/--no-browser", default=True, help="Open a browser [default: yes].")
def explore(folder, as_app, browser) -> None:
    """Open the notebooks in JupyterLab, or the explorer as an app.

    The notebooks are a copy that you can change. The server accepts connections from this machine
    only, prints its address, and ends on Ctrl-C.
    """
    from snhkit.cli.launch import explore_in_jupyter, explore_in_voila

    if as_app:
        explore_in_voila(browser=browser)
    else:
        explore_in_jupyter(folder, browser=browser)
