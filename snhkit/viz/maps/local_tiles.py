"""Map tiles of a local MBTiles file around a region, embedded in the map's page.

Apart from ``maps.py``, since the file is read only if somebody gives one, and may be hostile.
"""

import base64
import math
import os
import sqlite3
from pathlib import Path
from typing import Any

from branca.element import MacroElement
from jinja2 import Template

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.untrusted import parsing

__all__ = ["LocalTiles", "is_local"]

_MOST_BYTES, _MOST_TILES = 8_000_000, 600  # in one page
_DEEPEST = 19
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"RIFF": "webp"}
_MARGIN = 0.5  # sides of the region


def is_local(tiles: object) -> bool:
    """Return whether tiles are those of a local MBTiles file."""
    return isinstance(tiles, (str, os.PathLike)) and str(tiles).lower().endswith(".mbtiles")


class LocalTiles(MacroElement):
    """A background of a map, from a file, so that no server sees where somebody looks."""

    _template = Template(
        "{% macro script(this, kwargs) %}snhkit.localTiles("
        "{{ this._parent.get_name() }}, {{ this.tiles|tojson }}, {{ this.options|tojson }});"
        "{% endmacro %}"
    )

    def __init__(self, path: str | os.PathLike[str], region: Region, attr: str | None) -> None:
        super().__init__()
        file = Path(path)
        if not file.is_file():
            raise InputError(f"tiles: there is no file {file}.")
        with parsing(file.name, "MBTiles"):
            self.tiles, told = _read(file, region)
        if not self.tiles:
            raise InputError(f"{file.name}: it has no tile of the region; leave tiles out.")
        zooms = [int(key.partition("/")[0]) for key in self.tiles]
        self.options: dict[str, Any] = {
            "minNativeZoom": min(zooms),
            "maxNativeZoom": max(zooms),
            "attribution": attr or told,
        }


def _read(file: Path, region: Region) -> tuple[dict[str, str], str]:
    """Return tiles as data URLs by "zoom/x/y", as deep as a page can hold, and the attribution."""
    found: dict[str, str] = {}
    size = 0
    with sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True) as open_file:
        told = dict(open_file.execute("SELECT name, value FROM metadata LIMIT 100"))
        for zoom in range(_DEEPEST + 1):
            low, high = _range(region, zoom)
            rows = open_file.execute(
                "SELECT tile_column, tile_row, tile_data FROM tiles WHERE zoom_level = ? AND "
                "tile_column BETWEEN ? AND ? AND tile_row BETWEEN ? AND ? LIMIT ?",
                (zoom, low[0], high[0], low[1], high[1], _MOST_TILES),
            ).fetchall()
            size += sum(len(data) for _, _, data in rows)
            if size > _MOST_BYTES or len(found) + len(rows) > _MOST_TILES:
                break
            for x, row, data in rows:  # rows count from the south
                found[f"{zoom}/{x}/{2**zoom - 1 - row}"] = _url(bytes(data))
    open_file.close()
    return found, " ".join(str(told.get("attribution", "")).split())[:200]


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
