"""Pages made from the templates, scripts and styles of this folder, and from packed data.

Apart from the reports, so that a server shows a page at once: it imports none of the methods.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

_HERE = Path(__file__).parent


@cache
def environment() -> Environment:
    """Return the Jinja templates, which escape every value that is not ``Markup``."""
    return Environment(
        loader=PackageLoader("snhkit.viz.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, **values: Any) -> str:
    """Return a page made from a template; styles, scripts and data are those of this package."""
    ours = {name: Markup(values[name]) for name in ("css", "js", "data") if name in values}  # noqa: S704
    made = environment().get_template(template)
    return made.render(**(values | ours), version=version("snhkit"))


def packed(header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> bytes:
    """Return JSON values and arrays as compressed bytes, which ``counts.js`` reads."""
    places, parts, at = {}, [], 0
    for name, array in arrays.items():
        small = _small(np.ascontiguousarray(array))
        data = small.tobytes()
        places[name] = [small.dtype.name, at, small.size]
        parts.append(data)
        at += len(data)
    text = json.dumps({**header, "arrays": places}, separators=(",", ":")).encode()
    return zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(parts), 9)


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return the header and the arrays that ``packed`` has written; for files of this package."""
    content = zlib.decompress(data)
    end = 4 + int.from_bytes(content[:4], "little")
    header = json.loads(content[4:end])
    arrays = {
        name: np.frombuffer(content, np.dtype(kind).newbyteorder("<"), size, end + at)
        for name, (kind, at, size) in header.pop("arrays").items()
    }
    return header, arrays


def _small(array: NDArray) -> NDArray:
    whole = np.issubdtype(array.dtype, np.integer) or bool((array == np.rint(array)).all())
    if not whole:
        return array.astype("<f8")
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    for kind in ("i1", "u1", "<i2", "<u2", "<i4", "<u4"):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return array.astype(kind)
    return array.astype("<f8")


def script(data: bytes, *parts: str) -> dict[str, str]:
    """Return compressed bytes as base64, and the scripts and styles of this folder, joined."""
    text = {
        kind: "\n".join(
            (_HERE / f"{part}.{kind}").read_text(encoding="utf-8")
            for part in parts
            if (_HERE / f"{part}.{kind}").exists()
        )
        for kind in ("js", "css")
    }
    return {"data": base64.b64encode(data).decode("ascii")} | text
