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
from click import Context
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
    "check-jsonschema", "export", "git", "lint-imports", "pip", "pre-commit", "pyright", "pytest",
    "python", "ruff", "source", "sphinx-build", "twine", "zizmor",
}  # fmt: skip
SIGNING = {"openssl", "ssh-keygen"}
"""Programs whose blocks run as they are, if they are installed."""
LAYOUTS = {
    "bikes/1.csv": "ride_id,started_at,start_lat,start_lng\n"
    "A,2026-11-01 08:00:00,37.76,-122.43\nB,2026-11-01 09:00:00,37.77,-122.42\n",
    "bikes/2.csv": "ride_id,started_at,start_lat,start_lng\n"
    "C,2026-11-02 08:00:00,37.76,-122.43\nD,2026-11-02 09:00:00,37.77,-122.42\n",
    "movebank.csv": "event-id,timestamp,location-long,location-lat,individual-local-identifier\n"
    "1,2026-11-01 08:00:00.000,-122.43,37.76,Ada\n2,2026-11-01 09:00:00.000,-122.43,37.76,Ada\n"
    "3,2026-11-01 08:00:00.000,-122.43,37.76,Bo\n",
    "taxis/1.txt": "1,2008-02-02 15:36:08,-122.43,37.76\n" * 3,
    "taxis/2.txt": "2,2008-02-02 15:36:08,-122.42,37.77\n" * 3,
    "geolife/000/a.plt": "x\n" * 6 + "37.76,-122.43,0,492,39744.1,2008-10-23,02:53:04\n" * 2,
    "geolife/001/b.plt": "x\n" * 6 + "37.77,-122.43,0,492,39744.1,2008-10-23,02:53:04\n",
    "police.csv": 'id,Location\n1,"(37.76, -122.43)"\n2,"(37.77, -122.42)"\n',
    "postgis.csv": "id,geom\n1,POINT (-122.43 37.76)\n2,POINT (-122.42 37.77)\n",
    "phones.csv": "lat_e6,lon_e6\n37760000,-122430000\n37770000,-122420000\n",
    "metres.csv": "x,y\n550000,4179500\n551000,4180000\n",
    "free_bike_status.json": '{"data": {"bikes": [{"lat": 37.76, "lon": -122.43}, '
    '{"lat": 37.77, "lon": -122.42}]}}',
    "mds_trips.json": '{"trips": [{"end_location": {"lat": 37.76, "lng": -122.43}}, '
    '{"end_location": {"lat": 37.77, "lng": -122.42}}]}',
    "walk.gpx": '<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>'
    '<trkpt lat="37.76" lon="-122.43"/><trkpt lat="37.77" lon="-122.42"/></trkseg></trk></gpx>',
    "places.kml": '<kml xmlns="http://www.opengis.net/kml/2.2"><Placemark><Point><coordinates>'
    "-122.43,37.76,0</coordinates></Point></Placemark></kml>",
    "Records.json": '{"locations": [{"latitudeE7": 377600000, "longitudeE7": -1224300000, '
    '"timestamp": "2020-11-01T08:00:00Z"}, {"latitudeE7": 377700000, "longitudeE7": -1224200000, '
    '"timestamp": "2020-11-01T09:00:00.5Z"}]}',
    "Timeline.json": '{"semanticSegments": [{"visit": {}}, {"timelinePath": ['
    '{"point": "37.76\u00b0, -122.43\u00b0", "time": "2026-11-01T08:00:00.000-07:00"}, '
    '{"point": "37.77\u00b0, -122.42\u00b0", "time": "2026-11-01T09:00:00.000-07:00"}]}]}',
}
"""Small files of the layouts of docs/howto/layouts.md."""
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
        rows["started"] = pd.to_datetime(points.time, unit="s")
        rows["vehicle"] = np.where(points.user % 3 == 0, "bike", "scooter")
        rows[inside].to_csv(folder / name, index=False)
    sides = {"south": [37.76, 37.75], "west": [-122.45, -122.42]}
    sides |= {"north": [37.77, 37.76], "east": [-122.44, -122.41]}
    pd.DataFrame(sides).to_csv(folder / "boxes.csv", index=False)
    west, south = np.meshgrid([-122.46, -122.44, -122.42], [37.74, 37.76])
    shapes = shapely.box(west.ravel(), south.ravel(), west.ravel() + 0.02, south.ravel() + 0.02)
    frame = gpd.GeoDataFrame({"name": list("ABCDEF")}, geometry=shapes, crs=4326)
    frame.to_file(folder / "districts.geojson", driver="GeoJSON")
    for name, text in LAYOUTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    lat, lon = [37.76, 37.77], [-122.43, -122.42]
    trips = pd.DataFrame({"pickup_latitude": lat, "pickup_longitude": lon})
    trips.to_parquet(folder / "yellow.parquet")
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
    assert len(drawn) == (page == "docs/architecture.md")  # the picture of the rooms


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(PAGES[p].read_text("utf-8"))])
def test_the_code_blocks_of_a_page_run(page, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # The figures of a comparison's page, which take seconds, are drawn in tests/cli.
    monkeypatch.setattr("snhkit.viz.reports.report.report_html", lambda *_, **__: "a page")
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
    # Commands keep the help options of their first context, so it has to be the real one.
    parent = Context(app, **app.context_settings)
    app.commands[name].make_context(name, list(rest), parent=parent)
    if name == "explore" or (name == "compare" and "--methods" not in rest):
        return
    quick = [words[0], *("ug" if word in SLOW else word for word in rest)]
    done = CliRunner().invoke(app, quick)
    assert done.exit_code == 0, (quick, done.output, done.exception)
