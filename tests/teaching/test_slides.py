"""Slides: which cells, and a page that needs no network."""

import json
import re

import pytest

from snhkit.teaching import without_solutions
from snhkit.teaching.running import run
from snhkit.teaching.slides import parts, slides
from snhkit.teaching.sources import lectures


def cell(kind, name, source, slide, **more):
    made = {"cell_type": kind, "id": name, "source": source, **more}
    return made | {"metadata": {"slideshow": {"slide_type": slide}}}


def code(name, source):
    return cell("code", name, source, "-", outputs=[], execution_count=None)


LECTURE = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "cells": [
        cell("markdown", "a", "# Title\n\n$$a^2 + b$$ and $\\varepsilon$.", "slide"),
        code("b", "print('six', 2 * 3)"),
        cell("markdown", "c", "**Next**", "subslide"),
        code("d", "from ipywidgets import IntSlider\nIntSlider()"),
    ],
}


@pytest.mark.parametrize("path", lectures(), ids=lambda path: path.stem)
def test_every_lecture_has_a_slide_for_each_of_its_sections(path):
    lecture = without_solutions(json.loads(path.read_text(encoding="utf-8")))
    pages = parts(lecture)
    titles = [p for p in pages if "".join(p[0]["source"]).startswith("#")]
    assert len(pages) >= 8
    assert len(titles) >= 3
    assert all("slideshow" in c["metadata"] for c in lecture["cells"])


@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
def test_a_page_has_outputs_and_formulas_and_loads_nothing():
    page = slides(run(LECTURE))
    assert page.count("<section>") == 2
    assert "six 6" in page
    assert page.count("<math") == 2
    assert "can be moved and played with" in page
    assert "$" not in re.sub(r"<script>.*", "", page, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=['\"]?(?:https?:)?//", page) == []
