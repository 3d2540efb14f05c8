"""The command that writes the story of epsilon, a page for a course or a web site."""

import click

from snhkit.cli.output import say, write
from snhkit.cli.types import OutputFile

__all__ = ["story"]


@click.command()
@click.option("--city", default="san_francisco", show_default=True, help="Key of the city.")
@click.option(
    "--out", type=OutputFile(), required=True, help="The HTML file; - is standard output."
)
@click.option(
    "--anew", is_flag=True, help="Build the releases again, which takes minutes, also of the "
    "default city, whose releases are part of snhkit.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing file of --out.")
def story(city, out, anew, force) -> None:
    """Write one HTML page that shows what epsilon does to a map of people.

    The page shows an invented city beside releases of it, with a slider for epsilon and a switch of
    methods; boxes that a reader draws are answered in the page. It needs no network and no Python.
    Noise comes from seeds, so the page is the same each time.

    \b
    Example:
      snhkit story --out story.html
    """
    if out.is_file() and not force:
        raise click.UsageError(f"{str(out)!r} exists; --force replaces it.")
    from snhkit.data import city as find_city
    from snhkit.viz.reports.story import SHIPPED, make_story, shipped_story, story_html

    key = find_city(city).key
    data = shipped_story() if key == SHIPPED and not anew else make_story(key)
    page = story_html(data)
    write(out, page)
    say(f"Written to {out}: {len(page.encode()) / 1e6:.1f} MB, opens without a network.", err=True)
