"""Map tiles of a local MBTiles file around a region, embedded in the map's page.

Apart from ``maps.py``, since the file is read only if somebody gives one, and may be hostile.
"""

import base64
import math
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.untrusted import immutable, parsing

_MOST_BYTES, _MOST_TILES = 8_000_000, 600  # in one page
_DEEPEST = 19
_MOST_TILE = 1_000_000  # bytes of a value of the file
_SECONDS, _STEPS = 10.0, 1_000  # in all, and instructions of SQLite between two looks at the clock
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"RIFF": "webp"}
_MARGIN = 0.5  # sides of the region


def is_local(tiles: object) -> bool:
    """Return whether tiles are those of a local MBTiles file."""
    return isinstance(tiles, (str, os.PathLike)) and str(tiles).lower().endswith(".mbtiles")


def local_tiles(
    path: str | os.PathLike[str], region: Region, attr: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the tiles of a file and Leaflet's options, so that no server sees where one looks."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"tiles: there is no file {file}.")
    with parsing(file.name, "MBTiles"):
        tiles, told = _read(file, region)
    if not tiles:
        raise InputError(f"{file.name}: it has no tile of the region; leave tiles out.")
    zooms = [int(key.partition("/")[0]) for key in tiles]
    zoomed = {"minNativeZoom": min(zooms), "maxNativeZoom": max(zooms)}
    return tiles, {**zoomed, "attribution": attr or told}


def _read(file: Path, region: Region) -> tuple[dict[str, str], str]:
    """Return tiles as data URLs by "zoom/x/y", as deep as a page can hold, and the attribution."""
    found: dict[str, str] = {}
    size, end = 0, time.monotonic() + _SECONDS
    with immutable(file) as database:  # whose tables may be views with endless queries
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_TILE)
        database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        database.set_authorizer(lambda what, *_: 0 if what in _ALLOWED else sqlite3.SQLITE_DENY)
        told = database.execute("SELECT value FROM metadata WHERE name = 'attribution'").fetchone()
        for zoom in range(_DEEPEST + 1):
            low, high = _range(region, zoom)
            tiles: dict[str, str] = {}
            for x, row, data in database.execute(
                "SELECT tile_column, tile_row, tile_data FROM tiles WHERE zoom_level = ? AND "
                "tile_column BETWEEN ? AND ? AND tile_row BETWEEN ? AND ?",
                (zoom, low[0], high[0], low[1], high[1]),
            ):
                size += len(data)
                if size > _MOST_BYTES or len(found) + len(tiles) >= _MOST_TILES:
                    return found, _line(told)
                tiles[f"{zoom}/{x}/{2**zoom - 1 - row}"] = _url(data)  # rows count from the south
            found |= tiles
    return found, _line(told)


def _line(told: tuple[Any] | None) -> str:
    """Return the attribution that a row of metadata holds, as a short line of text."""
    return " ".join(str((told or [""])[0])[:1000].split())[:200]


def _range(region: Region, zoom: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the columns and rows of the first and the last tile around a region."""
    south, west, north, east = region.bounds
    high, wide = _MARGIN * (north - south), _MARGIN * (east - west)
    top = 2**zoom - 1

    def tile(lat: float, lon: float) -> tuple[int, int]:
        sine = math.sin(math.radians(min(max(lat, -85), 85)))
        x, y = (lon + 180) / 360, 0.5 + math.atanh(sine) / (2 * math.pi)
        return tuple(min(max(int(at * 2**zoom), 0), top) for at in (x, y))  # type: ignore[return-value]

    return tile(south - high, west - wide), tile(north + high, east + wide)


def _url(data: bytes) -> str:
    kind = next((kind for start, kind in _KINDS.items() if data.startswith(start)), None)
    if kind is None:
        raise InputError("a tile is neither PNG, JPEG nor WebP; vector tiles cannot be shown.")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
