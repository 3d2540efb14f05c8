"""Take the pictures of the README from the notebooks' cells that are tagged "gallery".

    python docs/gallery.py [notebook ...]

runs each notebook in Voila, takes a picture of that cell's output in Chromium, and writes
docs/gallery/NAME.png (below 200 kB) and the README's table of pictures, with the caption in the
cell's metadata. The command needs Chromium (on the path or in SNHKIT_CHROMIUM) and the extra
"test". It ends with an error that names every notebook without a picture.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageChops, ImageColor
from playwright.sync_api import Browser, sync_playwright

from snhkit.viz.maps.surface import COLOURS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "gallery"
TAG, MOST_BYTES, LONGEST_S = "gallery", 200_000, 240
MARGIN = 12  # pixels
MARKS = ("<!-- gallery -->", "<!-- /gallery -->")


def main(names: list[str]) -> int:
    """Take the pictures of some notebooks, or of all, and return the exit code."""
    notebooks = [Path(name) for name in names] or sorted(ROOT.glob("notebooks/*.ipynb"))
    chromium = os.environ.get("SNHKIT_CHROMIUM") or shutil.which("chromium")
    FOLDER.mkdir(exist_ok=True)
    failed = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for notebook in notebooks:
            print(f"{notebook.stem} …", flush=True)
            try:
                picture = small(photograph(browser, notebook))
            except Exception as error:
                failed.append(f"{notebook.stem}: {error}")
                continue
            target = FOLDER / f"{notebook.stem}.png"
            target.write_bytes(picture)
            print(f"  {target.relative_to(ROOT)}, {len(picture) / 1000:,.0f} kB", flush=True)
        browser.close()
    show()
    print("\n".join(failed), file=sys.stderr)
    return bool(failed)


def title_and_caption(notebook: Path) -> tuple[str, str]:
    """Return the first heading and the caption; raise ValueError unless one code cell is tagged."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [cell for cell in cells if TAG in cell["metadata"].get("tags", [])]
    if len(tagged) != 1 or tagged[0]["cell_type"] != "code":
        raise ValueError(f"{len(tagged)} cells are tagged {TAG!r}, must be one, of code")
    heading = re.sub(r"^#+ *", "", "".join(cells[0]["source"]).partition("\n")[0])
    return heading, tagged[0]["metadata"]["caption"]


def minutes(notebook: Path) -> int:
    """Return how long a lecture takes, as its first cell says."""
    first = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
    (found,) = re.findall(r"takes\W+(?:about )?(\d+) minutes", first)
    return int(found)


def photograph(browser: Browser, notebook: Path) -> bytes:
    """Return a picture of the tagged cell's output as PNG bytes."""
    title_and_caption(notebook)
    with served(notebook) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(url, timeout=1000 * LONGEST_S)
        cell = page.locator(f".celltag_{TAG} .jp-OutputArea")
        cell.first.wait_for(timeout=60_000)
        page.wait_for_timeout(3_000)  # maps and widgets are drawn after they are there
        wrong = page.locator(".jp-OutputArea-output", has_text="Traceback (most recent call last)")
        if wrong.count():
            raise RuntimeError(wrong.first.inner_text()[-300:])
        pictures = cell.locator("img.jp-RenderedImage, .jp-RenderedImage img")
        what = pictures.first if pictures.count() == 1 else cell.first
        box = what.bounding_box()
        if not box or min(box["width"], box["height"]) < 50:
            raise RuntimeError("its tagged cell shows nothing")
        page.set_viewport_size({"width": 1280, "height": max(800, int(box["height"]) + 50)})
        what.scroll_into_view_if_needed()
        page.wait_for_timeout(5_000)  # frames out of view are not drawn
        return what.screenshot()


@contextmanager
def served(notebook: Path) -> Iterator[str]:
    """Serve a copy of the notebook with Voila in a with statement, and yield the page's address."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(notebook, folder))
        log = Path(folder) / "voila.log"
        words = ["--token", "--no-browser", "--Voila.ip=127.0.0.1", "--show_tracebacks=True"]
        words += ["--VoilaConfiguration.template=snhkit"]
        ours = {"JUPYTER_PATH": str(ROOT / "snhkit" / "cli" / "_jupyter"), "PYTHONPATH": str(ROOT)}
        with log.open("wb") as out:
            voila = subprocess.Popen(  # noqa: S603 - our own interpreter and words
                [sys.executable, "-m", "voila", *words, str(copy)],
                stdout=out,
                stderr=out,
                env={**os.environ, **ours},
            )
        try:
            while not (found := re.search(r"http://127\S*token=\w+", log.read_text("utf-8"))):
                if voila.poll() is not None:
                    raise RuntimeError(log.read_text("utf-8")[-500:])
                time.sleep(0.2)
            yield found[0]
        finally:
            voila.terminate()
            voila.wait(30)


def small(png: bytes) -> bytes:
    """Return a picture of at most ``MOST_BYTES``, with fewer colours and, if need be, pixels."""
    image, scale = Image.open(io.BytesIO(png)).convert("RGB"), 1.0
    blank = Image.new("RGB", image.size, image.getpixel((image.width - 1, image.height - 1)))
    image = image.crop(ImageChops.difference(image, blank).getbbox())
    framed = blank.resize((image.width + 2 * MARGIN, image.height + 2 * MARGIN))
    framed.paste(image, (MARGIN, MARGIN))
    out = io.BytesIO()
    framed.save(out, "PNG", optimize=True)
    while out.tell() > MOST_BYTES:
        size = (int(framed.width * scale), int(framed.height * scale))
        less = framed.resize(size, Image.Resampling.LANCZOS)
        # Bars of methods are few pixels, whose colours would be merged.
        colours = Image.new("P", (1, 1))
        own = [part for colour in COLOURS for part in ImageColor.getrgb(colour)]
        colours.putpalette([*(less.quantize(256 - len(COLOURS)).getpalette() or ()), *own])
        fewer = less.quantize(palette=colours, dither=Image.Dither.NONE)
        out = io.BytesIO()
        fewer.save(out, "PNG", optimize=True)
        scale *= 0.85
    return out.getvalue()


def show() -> None:
    """Write the table of the pictures into the README, between its marks."""
    rows = []
    for notebook in sorted(ROOT.glob("notebooks/*.ipynb")):
        if (FOLDER / f"{notebook.stem}.png").exists():
            where, (name, says) = f"docs/gallery/{notebook.stem}.png", title_and_caption(notebook)
            link = f"[{name}](notebooks/{notebook.name}), {minutes(notebook)} minutes"
            rows.append(f"| {link}<br>{says} | ![]({where}) |")
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    table = "\n".join([MARKS[0], "| lecture | |", "|---|---|", *rows, MARKS[1]])
    readme.write_text(before + table + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
