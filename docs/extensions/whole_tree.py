"""Links to pages that stand at the root of the project, where hosts look for them."""

from sphinx.application import Sphinx

AT_ROOT = {"../CONTRIBUTING.md": "/contributing.md", "../CHANGELOG.md": "/changelog.md"}


def to_site(app: Sphinx, page: str, source: list[str]) -> None:
    """Point such links to the pages of the site that include them."""
    for link, target in AT_ROOT.items():
        source[0] = source[0].replace(f"]({link}", f"]({target}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Rewrite pages as they are read."""
    app.connect("source-read", to_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
