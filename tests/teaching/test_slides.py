"""Slides: which cells, and a page that needs no network."""

import json
import re

import pytest

from snhkit.teaching import without_solutions
from snhkit.teaching.copies import lectures
from snhkit.teaching.kernels import run
from snhkit.teaching.slides import slides


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
        code("e", "from tqdm.notebook import tqdm\nfor _ in tqdm([1], 'long work'): pass"),
    ],
}


def test_every_lecture_has_slides():
    for path in lectures():
        cells = without_solutions(json.loads(path.read_text(encoding="utf-8")))["cells"]
        kinds = [cell["metadata"]["slideshow"]["slide_type"] for cell in cells]
        assert sum(kind in ("slide", "subslide") for kind in kinds) >= 8, path.stem


def test_hidden_cells_and_checks_are_left_out():
    kinds = {"a": "slide", "b": "-", "c": "skip", "d": "notes", "e": "subslide", "f": "-"}
    cells = [cell("markdown", name, f"text {name}", kind) for name, kind in kinds.items()]
    cells[-1] |= {"metadata": {"tags": ["check"]}}
    page = slides(LECTURE | {"cells": cells})
    assert [name for name in kinds if f"text {name}" in page] == ["a", "b", "e"]
    assert page.count("<section>") == page.count("</section>") == 2


def test_a_figure_has_the_text_of_its_cell():
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "AAAA"}}
    drawn = code("f", "draw()") | {"outputs": [picture]}
    drawn["metadata"]["alt"] = "A rising curve."
    page = slides(LECTURE | {"cells": [LECTURE["cells"][0], drawn]})
    assert page.count("<img") == page.count('alt="A rising curve."') == 1


@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
def test_a_page_has_outputs_and_formulas_and_loads_nothing():
    page = slides(run(LECTURE))
    assert page.count("<section>") == 2
    assert "six 6" in page
    assert page.count("<math") == 2
    assert page.count("this part is interactive") == 1
    assert "%|" not in page  # the bar of progress
    assert "widget-state" not in page
    assert "$" not in re.sub(r"<script>.*", "", page, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=['\"]?(?:https?:)?//", page) == []


def test_cells_that_do_not_fit_go_on_to_the_next_page(chromium, tmp_path):
    many = [cell("markdown", f"m{k}", f"Line {k}. " * 40, "-") for k in range(9)]
    tall = code("t", "\n".join(f"x{k} = {k}" for k in range(60)))
    lecture = LECTURE | {"cells": [cell("markdown", "a", "# Title", "slide"), *many, tall]}
    file = tmp_path / "slides.html"
    file.write_text(slides(lecture), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelector('footer').textContent")
    heights = page.evaluate("[...document.querySelectorAll('section')].map(s => s.scrollHeight)")
    texts = page.locator("section").all_inner_texts()
    assert len(heights) > 2
    assert max(heights[:-1]) <= 721
    assert all(text.strip() for text in texts)
    assert [f"Line {k}." in " ".join(texts) for k in range(9)] == [True] * 9
