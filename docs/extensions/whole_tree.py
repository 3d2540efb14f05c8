"""Sphinx extension that redirects links to files at the root of the project to site pages."""

from sphinx.application import Sphinx

AT_ROOT = {"../CONTRIBUTING.md": "/contributing.md", "../CHANGELOG.md": "/changelog.md"}


def to_site(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace links to files at the root by links to the pages that include these files."""
    for link, target in AT_ROOT.items():
        source[0] = source[0].replace(f"]({link}", f"]({target}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension, which rewrites pages as Sphinx reads them."""
    app.connect("source-read", to_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
