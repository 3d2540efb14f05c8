"""Tiles of a local file, which may be hostile, in a map's page."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.viz.maps.maps import base_map, to_html

CITY = Region.around(lat=37.76, lon=-122.43, side_m=12_000)
PNG = b"\x89PNG\r\n\x1a\n" + b"x"


@pytest.fixture
def tiles(tmp_path):
    def made(data: bytes = PNG, zooms=(0, 1, 12), attribution="<b>Us"):
        path = tmp_path / "city.mbtiles"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as file:
            file.execute("CREATE TABLE metadata (name text, value text)")
            file.execute("INSERT INTO metadata VALUES ('attribution', ?)", (attribution,))
            file.execute(
                "CREATE TABLE tiles (zoom_level int, tile_column int, tile_row int, tile_data blob)"
            )
            for zoom in zooms:
                # San Francisco: column 655 and row 1583 from the north at zoom 12
                x, y = (655 >> 12 - zoom), (1583 >> 12 - zoom)
                row = 2**zoom - 1 - y
                file.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)", (zoom, x, row, data))
                file.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)", (zoom, x, row + 900, b"far"))
        file.close()
        return path

    return made


def test_tiles_of_the_region_are_in_the_page_and_nothing_is_requested(tiles):
    page = to_html(base_map(CITY, tiles=tiles()))
    for key in ("0/0/0", "1/0/0", "12/655/1583"):
        assert f'"{key}": "data:image/png;base64,' in page
    assert "default-src 'none'" in page
    assert "<b>Us" not in page
    assert '"maxNativeZoom": 12' in page


@pytest.mark.parametrize(
    ("given", "says"),
    [({"data": b"<svg onload=alert(1)>"}, "neither PNG"), ({"zooms": ()}, "no tile of the region")],
)
def test_what_is_no_picture_or_elsewhere_is_refused(tiles, given, says):
    with pytest.raises(InputError, match=says):
        base_map(CITY, tiles=tiles(**given))


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        base_map(CITY, tiles=tmp_path / "none.mbtiles")
    (tmp_path / "no.mbtiles").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match=r"no\.mbtiles: could not be read as MBTiles"):
        base_map(CITY, tiles=tmp_path / "no.mbtiles")


def test_a_page_holds_no_more_than_it_can(tiles, monkeypatch):
    monkeypatch.setattr("snhkit.viz.maps.local_tiles._MOST_BYTES", 2 * len(PNG))
    page = to_html(base_map(CITY, tiles=tiles()))
    assert '"1/0/0"' in page
    assert '"12/655/1583"' not in page


ENDLESS = "WITH RECURSIVE a(z) AS (SELECT 0 UNION ALL SELECT z FROM a) SELECT z, z, z, z FROM a"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (ENDLESS, "not authorized"),
        ("SELECT 0, 0, 0, zeroblob(900000)", "not authorized"),
        ("SELECT s, s, s, s FROM (SELECT a.i - b.i - c.i - 999 AS s FROM t a, t b, t c)", "interr"),
    ],
)
def test_endless_queries_of_a_file_end(tmp_path, monkeypatch, query, says):
    monkeypatch.setattr("snhkit.viz.maps.local_tiles._SECONDS", 0.01)
    path = tmp_path / "city.mbtiles"
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE metadata (name text, value text)")
        file.execute("CREATE TABLE t (i int)")
        file.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(200)])
        names = "zoom_level, tile_column, tile_row, tile_data"
        file.execute(f"CREATE VIEW tiles ({names}) AS {query}")
    with pytest.raises(InputError, match=says):
        base_map(CITY, tiles=path)


def test_a_large_tile_is_refused(tiles):
    with pytest.raises(InputError, match="too big"):
        base_map(CITY, tiles=tiles(data=PNG * 200_000))


def test_an_unfinished_write_of_another_program_is_left_to_it(tiles, tmp_path):
    with contextlib.closing(sqlite3.connect(tiles())) as file:
        file.execute("PRAGMA journal_mode=wal")
        file.execute("DELETE FROM tiles")
        file.commit()
        there = Path(shutil.copytree(tmp_path, tmp_path / "there"))
    (there / "city.mbtiles-shm").unlink()
    before = {path.name: path.read_bytes() for path in there.iterdir()}
    assert len(before) == 2
    assert "655/1583" in to_html(base_map(CITY, tiles=there / "city.mbtiles"))
    assert {path.name: path.read_bytes() for path in there.iterdir()} == before
