"""Every code block of every page runs: Python as one program a page, commands as typed."""

import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import geopandas as gpd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

from snhkit import Region, synthetic_points
from snhkit.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if "_build" not in path.parts
}
SLOW = {"snh", "snh-paper", "denoised", "dpsgd"}
TOOLS = {
    "export", "git", "lint-imports", "pip", "pre-commit", "pyright", "pytest", "python", "ruff",
    "source", "sphinx-build", "twine",
}  # fmt: skip
SIGNING = {"openssl", "ssh-keygen"}
"""Programs whose blocks run as they are, if they are installed."""
MADE = {".venv/bin/activate", "docs/_build/html", "dist", "dist/*", "."}
"""Paths in commands that the commands make."""

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from the source tree"
)


@dataclass(frozen=True)
class Block:
    language: str
    line: int
    text: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, without MyST's directives."""
    found, language, start, lines = [], None, 0, []
    for number, line in enumerate(page.splitlines(), start=1):
        fence = re.match(r"\s*```(.*)", line)
        if fence and language is None:
            language, start, lines = fence[1].strip(), number, []
        elif fence:
            if language is not None and not language.startswith("{"):
                found.append(Block(language, start, "\n".join(lines) + "\n"))
            language = None
        else:
            lines.append(line)
    assert language is None, f"the block of line {start} has no end"
    return found


def commands(text: str) -> list[list[str]]:
    """The words of each command of a shell block."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    parts = [part for line in lines for part in line.split("&&")]
    return [words for part in parts if (words := shlex.split(part, comments=True))]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """trips.csv, checkins.csv, boxes.csv and districts.geojson, in the square of the pages."""
    folder = tmp_path_factory.mktemp("pages")
    city = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
    for name, world, n in (("trips.csv", "private", 20_000), ("checkins.csv", "public", 500)):
        points = synthetic_points("san_francisco", n=n, world=world)
        lat, lon = points.region.to_latlon(points.xy)
        inside = city.contains(city.to_xy(lat, lon))
        rows = pd.DataFrame({"lat": lat, "lon": lon, "person": points.user})
        rows[inside].to_csv(folder / name, index=False)
    sides = {"south": [37.76, 37.75], "west": [-122.45, -122.42]}
    sides |= {"north": [37.77, 37.76], "east": [-122.44, -122.41]}
    pd.DataFrame(sides).to_csv(folder / "boxes.csv", index=False)
    west, south = np.meshgrid([-122.46, -122.44, -122.42], [37.74, 37.76])
    shapes = shapely.box(west.ravel(), south.ravel(), west.ravel() + 0.02, south.ravel() + 0.02)
    frame = gpd.GeoDataFrame({"name": list("ABCDEF")}, geometry=shapes, crs=4326)
    frame.to_file(folder / "districts.geojson", driver="GeoJSON")
    return folder


def test_blocks_are_found_and_commands_told_apart():
    page = "a\n```python\nx = 1\n```\n```{toctree}\nb\n```\n  ```bash\na b && c \\\n  d # e\n```\n"
    assert blocks(page) == [
        Block("python", 2, "x = 1\n"),
        Block("bash", 8, "a b && c \\\n  d # e\n"),
    ]
    assert commands(blocks(page)[1].text) == [["a", "b"], ["c", "d"]]
    with pytest.raises(AssertionError, match="line 1"):
        blocks("```python\nx")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_runs(page):
    found = blocks(PAGES[page].read_text(encoding="utf-8"))
    assert {block.language for block in found} <= {"python", "bash", "text", "toml"}
    drawn = [block for block in found if block.language == "text"]
    assert len(drawn) == (page == "CONTRIBUTING.md")  # the picture of the rooms


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(PAGES[p].read_text("utf-8"))])
def test_the_code_blocks_of_a_page_run(page, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    program: dict[str, object] = {"__name__": "page"}
    for block in blocks(PAGES[page].read_text(encoding="utf-8")):
        if block.language == "python":
            # Padded, so that an error names the line of the page.
            text = "\n" * block.line + block.text
            exec(compile(text, page, "exec"), program)
        elif block.language == "bash" and (tool := block.text.split()[0]) in SIGNING:
            if shutil.which(tool):
                subprocess.run(["bash", "-ec", block.text], check=True, capture_output=True)
        elif block.language == "bash":
            for words in commands(block.text):
                run(words)
    plt.close("all")


def run(words: list[str]) -> None:
    """Run a command of snhkit, or check that another one names what there is."""
    if words[0] == "snhkit":
        run_snhkit(words[1:])
        return
    assert words[0] in TOOLS, words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = ""
    for word in words[1:]:
        if extras := re.search(r"\.\[([\w,]+)\]$", word):
            assert set(extras[1].split(",")) <= set(project["optional-dependencies"]), words
        elif word.startswith("--") and text:
            assert f'"{word}"' in text or word == "--help", f"{words}: no option {word}"
        elif ("/" in word or word in ("docs", "tests")) and words[0] != "export":
            there = any(ROOT.glob(word)) if "*" in word else (ROOT / word).exists()
            assert word in MADE or there, f"{words}: no file {word}"
            if word.endswith(".py") and "*" not in word:
                text = (ROOT / word).read_text(encoding="utf-8")


def run_snhkit(words: list[str]) -> None:
    """Run it; with a quick method where it names a slow one, and not if it opens a browser."""
    name, *rest = words
    app.commands[name].make_context(name, list(rest))
    if name == "explore" or (name == "compare" and "--methods" not in rest):
        return
    quick = [words[0], *("ug" if word in SLOW else word for word in rest)]
    done = CliRunner().invoke(app, quick)
    assert done.exit_code == 0, (quick, done.output, done.exception)
