"""The table of methods in docs/methods.md is that of the registry METHODS."""

import re
from pathlib import Path

import pytest

import snhkit
from snhkit.methods import METHODS

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from the source tree"
)


def rows_of_table(page: str, header: str) -> list[list[str]]:
    """The cells of the table whose header begins so, without backticks."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith(header)]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
    return rows


def test_the_page_of_methods_lists_every_method_as_the_registry_has_it():
    rows = rows_of_table("docs/methods.md", "| method | in Python |")
    assert [(key, title) for key, _, title, *_ in rows] == [
        (key, method.title) for key, method in METHODS.items()
    ]
    for key, name, _, *said in rows:
        start = snhkit
        for part in name.split("."):
            start = getattr(start, part)
        assert start() == METHODS[key].builder(), f"{key} does not build {name}()"
        assert all(said)


def test_it_names_the_extra_of_every_method_that_needs_one():
    rows = rows_of_table("docs/methods.md", "| method | in Python |")
    told = {row[0]: re.findall(r"snhkit\[(\w+)\]", row[3]) for row in rows}
    extras = {key: getattr(method.builder(), "extra", None) for key, method in METHODS.items()}
    assert told == {key: [extra.name] if extra else [] for key, extra in extras.items()}
