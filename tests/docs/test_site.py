"""The built site is read from a folder, without a network.

    sphinx-build -W docs docs/_build/html
    SNHKIT_SITE=docs/_build/html pytest tests/docs/test_site.py

Without SNHKIT_SITE only the search for such loads is tested, on pages made up here.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[2]
LOADING = {"script", "img", "iframe", "link", "source", "video", "audio", "embed", "object", "use"}
PASSIVE_LINKS = {"next", "prev", "index", "search", "author", "canonical", "license"}
OUTSIDE = r"(?:https?:)?//[^'\")]+"
IN_STYLE = re.compile(rf"url\(\s*['\"]?({OUTSIDE})|@import\s+['\"]({OUTSIDE})")


class Page(HTMLParser):
    """What a page loads by itself, what it links to, its places and texts of pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.alts: list[str] = []
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self._style = tag == "style"
        self.places |= {value for name, value in attrs if name in ("id", "name") and value}
        if tag == "img":
            self.alts.append(given.get("alt") or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADING and not (tag == "link" and given.get("rel") in PASSIVE_LINKS):
            names = ("src", "href", "data", "srcset", "poster", "xlink:href")
            self.loads += [given[name] for name in names if given.get(name)]
        if given.get("srcdoc"):
            self.loads += Page(given["srcdoc"]).loads
        self._in_style(given.get("style") or "")

    def handle_endtag(self, tag):
        self._style = self._style and tag != "style"

    def handle_data(self, data):
        if self._style:
            self._in_style(data)

    def _in_style(self, text: str) -> None:
        self.loads += [one or other for one, other in IN_STYLE.findall(text)]

    def outside(self) -> list[str]:
        """What the page would load from a network."""
        return [load for load in self.loads if re.match(r"(https?:)?//", load.strip())]


@pytest.mark.parametrize(
    "text",
    [
        "<script src='https://cdn.example/a.js'></script>",
        "<link rel='stylesheet' href='//cdn.example/a.css'>",
        "<style>@import 'https://fonts.example/a';</style>",
        "<style>p { background: url(https://cdn.example/a.png) }</style>",
        "<p style='background: url(\"http://cdn.example/a.png\")'>",
        "<iframe srcdoc='&lt;img src=&quot;https://tiles.example/1.png&quot;&gt;'></iframe>",
    ],
)
def test_what_comes_from_the_network_is_found(text):
    assert len(Page(text).outside()) == 1


def test_links_that_a_person_follows_are_not_loads():
    page = Page("<a href='https://example.org'>x</a><img src='a.png'><link rel='next' href='b'>")
    assert page.outside() == []
    assert page.links == ["https://example.org"]


@pytest.fixture(scope="module")
def site() -> Path:
    if "SNHKIT_SITE" not in os.environ:
        pytest.skip("no site: name one in SNHKIT_SITE")
    folder = Path(os.environ["SNHKIT_SITE"]).resolve()
    assert (folder / "index.html").is_file(), folder
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    found = [path for path in site.rglob("*.html") if "_static" not in path.parts]  # templates
    return {path: Page(path.read_text(encoding="utf-8")) for path in found}


def test_no_page_loads_anything_from_the_network(pages):
    assert {path.name: page.outside() for path, page in pages.items() if page.outside()} == {}


def test_no_style_sheet_loads_anything_from_the_network(site):
    sheets = {path.name: path.read_text(encoding="utf-8") for path in site.rglob("*.css")}
    assert sheets
    assert {name: IN_STYLE.findall(text) for name, text in sheets.items()
            if IN_STYLE.search(text)} == {}  # fmt: skip


def test_what_a_page_loads_is_there(pages):
    for path, page in pages.items():
        for load in page.loads:
            if not re.match(r"(data|blob|https?):|//|#", load):
                assert (path.parent / unquote(load.partition("?")[0])).exists(), (path.name, load)


def test_links_inside_the_site_lead_to_a_place_on_a_page(pages):
    dead = []
    for path, page in pages.items():
        for link in page.links:
            target, place = urldefrag(link)
            if re.match(r"\w+:|//", target):
                continue
            there = (path.parent / unquote(target)).resolve() if target else path
            known = pages.get(there)
            if not there.exists() or (known and place and unquote(place) not in known.places):
                dead.append((path.name, link))
    assert dead == []


def test_lectures_have_outputs(site):
    for notebook in ROOT.glob("notebooks/*.ipynb"):
        page = (site / "lectures" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert "cell_output" in page
        assert "<img" in page
        assert "Traceback (most recent call last)" not in page


def test_every_picture_has_a_text_that_is_no_file_name(pages):
    alts = [(path.name, alt) for path, page in pages.items() for alt in page.alts]
    assert len(alts) > 80
    missing = r"\s*|No description.*|.*\.(png|svg|webp)"
    assert [found for found in alts if re.fullmatch(missing, found[1])] == []


def test_formulas_are_mathml(site):
    page = (site / "lectures" / "02_privacy_by_hand.html").read_text(encoding="utf-8")
    assert page.count("<math") > 10
    assert r"\varepsilon" not in re.sub(r"<(pre|annotation)\b.*?</\1>", "", page, flags=re.DOTALL)


def test_examples_in_docstrings_are_cross_linked(site):
    page = (site / "api" / "generated" / "snhkit.PrivateDataset.html").read_text(encoding="utf-8")
    examples = page.split("Examples</p>")[1]
    assert "sphinx-codeautolink-a" in examples
