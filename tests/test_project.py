"""The source tree agrees with itself."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "snhkit"
CONDA = {"h3": "h3-py", "matplotlib": "matplotlib-base"}
"""Names on PyPI to names on conda-forge, where they differ."""

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from the source tree"
)


def _bounds(requirements: list[str]) -> dict[str, str]:
    """Name to what follows it."""
    split = [re.fullmatch(r"([\w.-]+)(.*)", text.replace(" ", "")) for text in requirements]
    assert all(split), requirements
    return {found[1]: found[2] for found in split if found}


def test_environment_yml_is_pyprojects_equal():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (ours,) = [text for text in extras["test"] if text.startswith("snhkit[")]
    named = ours.removeprefix("snhkit[").removesuffix("]").split(",")
    wanted = [*project["dependencies"], *extras["test"], *(p for e in named for p in extras[e])]
    wanted = [text for text in wanted if not text.startswith("snhkit[")]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [line for line in environment["dependencies"] if isinstance(line, str)]
    (pip,) = [line["pip"] for line in environment["dependencies"] if isinstance(line, dict)]
    from_conda, from_pip = _bounds(conda), _bounds([p for p in pip if not p.startswith("-")])
    assert from_conda.pop("python") == project["requires-python"]
    assert from_conda.pop("pip") == ""
    assert not set(from_conda) & set(from_pip)
    in_pypi_names = {pypi: from_conda.pop(name) for pypi, name in CONDA.items()}
    assert in_pypi_names | from_conda | from_pip == _bounds(wanted)
    assert "-e . --no-deps" in pip


def test_the_conda_recipe_is_pyprojects_equal():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    version = re.search(r'{% set version = "(.*)" %}', text)
    assert version is not None
    assert version[1] == project["project"]["version"]
    plain = re.sub(r"{%.*%}", "", text).replace("{{", "").replace("}}", "")
    needs = {k: _bounds(v) for k, v in yaml.safe_load(plain)["requirements"].items()}
    python, wanted = project["project"]["requires-python"], project["project"]["dependencies"]
    assert needs["host"] == {
        "python": python,
        "pip": "",
        **_bounds(project["build-system"]["requires"]),
    }
    in_conda = {CONDA.get(name, name): bound for name, bound in _bounds(wanted).items()}
    assert needs["run"] == {"python": python} | in_conda


@pytest.mark.parametrize("notebook", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda p: p.name)
def test_the_readme_shows_each_notebooks_main_picture(notebook):
    """``python docs/gallery.py`` makes it from the cell tagged "gallery"."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    (shown,) = [cell for cell in cells if "gallery" in cell["metadata"].get("tags", [])]
    assert shown["cell_type"] == "code"
    picture = ROOT / "docs" / "gallery" / f"{notebook.stem}.png"
    assert picture.stat().st_size < 200_000
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in readme if picture.relative_to(ROOT).as_posix() in line]
    assert f"<br>{shown['metadata']['caption']} |" in row


def test_the_package_names_no_address_on_the_network_but_one_to_read():
    files = [p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".js", ".css", ".html", ".j2")]
    assert files
    address = re.compile(r"(https?:)?//[\w-]+(\.[\w-]+)+\.?/")
    told = {p.name: m[0] for p in files if (m := address.search(p.read_text(encoding="utf-8")))}
    assert told == {"questions.py": "https://desfontain.es/"}  # a link, which nothing loads
