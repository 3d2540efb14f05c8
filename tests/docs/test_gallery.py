"""The pictures of the README."""

import io
import runpy
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image

from snhkit.viz.maps.surface import COLOURS

GALLERY = Path(__file__).parents[2] / "docs" / "gallery.py"


def test_a_picture_with_fewer_colours_keeps_those_of_the_methods_apart():
    gallery = runpy.run_path(str(GALLERY))
    rng = np.random.default_rng(1)
    shares = rng.random((400, 600)) ** 3
    pixels = (matplotlib.colormaps["viridis"](shares)[..., :3] * 255).astype(np.uint8)
    wanted = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in COLOURS]
    for k, colour in enumerate(wanted):
        pixels[20 * k + 5 : 20 * k + 17, 5:45] = colour
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    assert len(png.getvalue()) > gallery["MOST_BYTES"]
    small = gallery["small"](png.getvalue())
    assert len(small) <= gallery["MOST_BYTES"]
    kept = np.asarray(Image.open(io.BytesIO(small)).convert("RGB")).astype(int)
    for colour in wanted:
        assert np.abs(kept - colour).max(axis=-1).min() <= 4, colour
