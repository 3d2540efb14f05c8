"""Handouts: what of a lecture is printed, and that it takes two pages at most."""

import base64
import io
import shutil
import subprocess

import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

from snhkit.cli.course import course
from snhkit.errors import InputError
from snhkit.teaching import handouts
from snhkit.teaching.copies import lectures
from snhkit.teaching.handouts import handout, handout_pdf

TEXT = """# Title

Prose that is not printed. So the cost is

$$a^2 + b$$

> **Theorem.** It holds for $\\varepsilon$.

- a point

*Proof.* Long. ∎

**In short.** It is so."""


def picture() -> str:
    figure, axis = plt.subplots(figsize=(6, 5))
    axis.plot([1, 2])
    content = io.BytesIO()
    figure.savefig(content, format="png")
    plt.close(figure)
    return base64.b64encode(content.getvalue()).decode()


def lecture(times: int = 1, **metadata: str):
    output = {"output_type": "display_data", "metadata": {}, "data": {"image/png": picture()}}
    text = {"cell_type": "markdown", "metadata": {}, "source": TEXT}
    figure = {"cell_type": "code", "source": "draw()", "outputs": [output], "metadata": metadata}
    return {"cells": [text, figure] * times}


def pages(path) -> int:
    told = subprocess.run(["pdfinfo", path], capture_output=True, text=True, check=True).stdout
    return int(told.split("Pages:")[1].split()[0])


needs_printing = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("pdfinfo")),
    reason="needs chromium, and pdfinfo of poppler-utils",
)


def test_a_handout_has_headings_formulas_boxes_lists_and_figures():
    page = handout(lecture(alt="A <rising> line.", caption="A line."))
    assert page.count("<h1") == page.count("<blockquote>") == page.count("<li>") == 1
    assert page.count("<math") == 2
    assert "So the cost is" in page
    assert "In short." in page
    assert 'alt="A &lt;rising&gt; line."' in page
    assert "<figcaption>A line.</figcaption>" in page
    assert not any(word in page for word in ("Prose", "Proof", "draw()", "$"))


@needs_printing
@pytest.mark.browser
@pytest.mark.parametrize(("times", "expected"), [(1, 1), (14, 2)])
def test_a_handout_has_at_most_two_pages(times, expected, tmp_path):
    (tmp_path / "a.pdf").write_bytes(handout_pdf(lecture(times, alt="A line.")))
    assert pages(tmp_path / "a.pdf") == expected


def test_without_a_browser_or_with_a_broken_one_there_is_an_error(monkeypatch):
    monkeypatch.setattr(handouts, "_BROWSERS", ("no-such-browser",))
    with pytest.raises(InputError, match="not on the PATH"):
        handout_pdf(lecture())
    monkeypatch.setattr(handouts, "_BROWSERS", ("false",))
    with pytest.raises(InputError, match="did not print"):
        handout_pdf(lecture())


@needs_printing
@pytest.mark.release
@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
@pytest.mark.parametrize("path", lectures(), ids=lambda path: path.stem)
def test_the_handout_of_every_lecture_has_one_or_two_pages(path, tmp_path):
    words = ["--out", str(tmp_path / "class"), "--handouts", "--lecture", path.stem]
    assert CliRunner().invoke(course, words).exit_code == 0
    assert pages(tmp_path / "class" / "handouts" / f"{path.stem}.pdf") in (1, 2)
