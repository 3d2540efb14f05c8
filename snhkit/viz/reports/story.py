"""A page that shows what epsilon does: an invented city beside its releases, and one slider."""

from functools import cache
from importlib import resources

from snhkit.viz.reports.rendering import rendered, script, unpacked

SHIPPED = "san_francisco"
"""The city whose story is part of the package, so that it opens at once."""


def story_html(data: bytes) -> str:
    """Return one HTML page that tells a story; the page needs no network and no Python."""
    header, _ = unpacked(data)
    parts = script(data, "counts", "city", "story")
    return rendered("story.html.j2", title=header["title"], source=header["source"], **parts)


@cache
def shipped_story() -> bytes:
    """Return the data of the story of ``SHIPPED``, which ``make_story`` made."""
    folder = resources.files("snhkit.viz.reports")
    return folder.joinpath(f"story_{SHIPPED}.bin").read_bytes()
