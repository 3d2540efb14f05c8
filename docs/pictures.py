"""Write the pictures of the documentation: python docs/pictures.py [--help] WHAT.

``first`` draws one invented city as UG, SNH and the denoised grid release it, beside the truth.
``methods`` draws the expected errors of methods by the size of squares. ``ecosystem`` runs the
blocks of docs/howto/ecosystem.md and keeps the pictures and pages that they save; it needs
Chromium. All write to docs/gallery.
"""

import argparse
import contextlib
import re
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from PIL import Image

import snhkit as snh
from snhkit.methods import title
from snhkit.metrics import band_name
from snhkit.privacy import PrivacyUnit
from snhkit.viz.figures import method_styles
from snhkit.viz.maps.surface import UNIT, ColourScale, Surface
from snhkit.widgets import samples
from snhkit.widgets.session import synthetic

GALLERY = Path(__file__).parent / "gallery"
CITY, N, EPSILON, SIZES_M = "san_francisco", 100_000, 0.2, (25.0, 100.0)
DRAWN = ("UG", "Identity", "AG", "PrivTree", "DAWA", "HDMM", "SNH", "Denoised grid")


def first() -> None:
    """Draw UG, SNH, the denoised grid and the truth of one invented city."""
    session = synthetic(CITY, N, 3, PrivacyUnit("record"))
    shown = {}
    boxes = snh.RangeQueries.sample(session.invented_records, 5_000, SIZES_M, seed=1)
    truth = session.truth(boxes)
    for key in ("ug", "snh", "denoised"):
        built = session.build(key, EPSILON, SIZES_M)
        session.keep(built)
        off = np.abs(built.release.answer(boxes) - truth) / np.maximum(truth, N / 1_000)
        shown[f"{built.title}\nerror {off.mean():.0%}"] = built.surface
    shown["Truth\n(these people are invented)"] = session.true_surface
    view = samples.window(session)
    figure = draw(shown, view)
    figure.savefig(GALLERY / "first.png", dpi=110)


def methods() -> None:
    """Draw the ratio of each method's expected error to the smallest, by the size of squares."""
    found = runpy.run_path(str(GALLERY.parents[1] / "benchmarks" / "which_method.py"))["errors"]
    ratios: dict[str, dict[tuple, list[float]]] = {}
    for (_, _, _, band), case in found("rel_error").items():
        for name, error in case.items():
            of = ratios.setdefault(title(name), {}).setdefault(band, [])
            of.append(np.log(error / min(case.values())))
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axis = figure.subplots()
    for name, style in method_styles(DRAWN).items():
        means = [np.exp(np.mean(logs)) for logs in ratios[name].values()]
        axis.plot([band_name(band) for band in ratios[name]], means, label=name, **style.line)
    axis.set(yscale="log", xlabel="side of the squares", ylabel="error divided by the smallest")
    axis.set_yticks([1, 1.5, 2, 3, 4.5], ["1", "1.5", "2", "3", "4.5"], minor=False)
    axis.minorticks_off()
    axis.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.savefig(GALLERY / "methods.png", dpi=110)


def draw(shown: dict[str, Surface], view: snh.RangeQueries) -> Figure:
    """Return the part of surfaces that a view shows, side by side on one scale."""
    west, south, side = float(view.x[0]), float(view.y[0]), float(view.width[0])
    scale = ColourScale.shared(shown.values())
    figure = Figure(figsize=(11.6, 3.5), layout="compressed")
    axes = figure.subplots(1, len(shown), sharex=True, sharey=True)
    for axis, (name, surface) in zip(axes, shown.items(), strict=True):
        whole = surface.grid.region.side_m
        axis.imshow(
            surface.density.T, origin="lower", extent=(0, whole, 0, whole), cmap=scale.cmap,
            norm=scale.norm, interpolation="nearest",
        )  # fmt: skip
        axis.set(xlim=(west, west + side), ylim=(south, south + side), xticks=[], yticks=[])
        axis.set_title(name, fontsize=12)
    bar = figure.colorbar(
        ScalarMappable(scale.norm, scale.cmap), ax=list(axes), ticks=list(scale.ticks), pad=0.01
    )
    bar.set_label(UNIT)
    figure.supxlabel(
        f"{side / 1_000:g} km of a city of {N:,} records, released at ε = {EPSILON:g}; error: mean "
        f"relative error of squares of {SIZES_M[0]:g} to {SIZES_M[1]:g} m",
        fontsize=10,
    )
    return figure


def ecosystem(chromium: str) -> None:
    """Run the blocks of the page on other tools, without a network, and keep what they draw."""
    import offlinefolium
    from playwright.sync_api import sync_playwright

    page = (GALLERY.parent / "howto" / "ecosystem.md").read_text(encoding="utf-8")
    program: dict = {}
    with (
        tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder),
        patch.dict(sys.modules, folium=offlinefolium), sync_playwright() as play,
    ):  # fmt: skip
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(block, program)  # noqa: S102 - our own page
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 640, "height": 480})
        shown.goto(Path("explore.html").absolute().as_uri())
        shown.wait_for_timeout(3_000)
        shown.screenshot(path="explore.png")
        browser.close()
        for path in Path().glob("*.png"):
            picture = Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE)
            picture.save(GALLERY / f"ecosystem_{path.name}", optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the pictures of the documentation.")
    parser.add_argument("what", choices=["first", "methods", "ecosystem"])
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    given = parser.parse_args()
    if given.what == "ecosystem":
        ecosystem(given.chromium)
    else:
        {"first": first, "methods": methods}[given.what]()
