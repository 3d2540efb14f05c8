"""What the pages say of the source tree is so: rooms, paths, public names, kinds of file."""

import ast
import importlib
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import snhkit
from snhkit import loading

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/howto/*.md")]
TOP = r"(?:snhkit|docs|tests|benchmarks|notebooks|\.ci|\.github)/[\w./-]*"
PLACEHOLDER = re.compile(r"NN_|NAME|X\.Y")

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from the source tree"
)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def layers() -> list[str]:
    """The rooms of the import contract, from above to below."""
    project = tomllib.loads(text_of("pyproject.toml"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    assert contract["exhaustive"]
    return contract["layers"]


def test_the_picture_of_the_house_is_that_of_the_import_contract():
    picture = text_of("docs/architecture.md").split("<!-- rooms -->")[1].split("<!-- /rooms -->")[0]
    rows = re.findall(r"^│ (\w+(?: \| \w+)*) ", picture, re.MULTILINE)
    assert rows == layers()


def test_the_table_of_dependencies_is_pyprojects():
    table = text_of("docs/architecture.md").split("## Dependencies")[1]
    rows = re.findall(r"^\| ([a-z][\w, -]*) \|", table, re.MULTILINE)[1:]
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    names = [re.split(r"[^\w-]", wanted)[0] for wanted in project["dependencies"]]
    assert sorted(name for row in rows for name in row.split(", ")) == sorted(names)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_paths_that_a_page_names_exist(page):
    named = re.findall(rf"`({TOP})`", page.read_text(encoding="utf-8"))
    missing = [name for name in named if not PLACEHOLDER.search(name)]
    assert [name for name in missing if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()
            and not link.startswith("lectures/")] == []  # fmt: skip


@pytest.fixture
def reference(monkeypatch) -> ModuleType:
    """The extension that writes the API reference."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    return importlib.import_module("reference")


def test_the_reference_lists_every_public_name_once(reference):
    pages = [reference.front(), *(reference.page(home) for home in reference.HOMES)]
    listed = [
        f"{part.partition(chr(10))[0].strip()}.{name}"
        for page in pages
        for part in page.split(".. currentmodule::")[1:]
        for name in re.findall(r"^(?:   |\.\. py:data:: )(\w+)$", part, re.MULTILINE)
    ]
    public = {f"snhkit.{name}": None for name in snhkit.__all__}
    for module in set(public) & set(reference.HOMES):  # a link to the page of the module
        assert f"[{module}]({module}.md)" in reference.front()
        del public[module]
    for home in reference.HOMES:
        module = importlib.import_module(home)
        linked = set(re.findall(r"<[\w.]+\.(\w+)>", reference.page(home)))
        public |= {f"{home}.{name}": None for name in module.__all__ if name not in linked}
    assert sorted(listed) == sorted(public)


def test_public_constants_say_what_they_are(reference):
    for module in ("snhkit", *reference.HOMES):
        for name in importlib.import_module(module).__all__:
            thing = getattr(importlib.import_module(module), name)
            if not reference.documents_itself(thing):
                assert reference.comment(module, name), f"{module}.{name}: no string after it"


def test_lectures_import_only_from_modules_of_the_reference(reference):
    used = {
        module
        for notebook in ROOT.glob("notebooks/*.ipynb")
        for module in re.findall(r"from (snhkit[\w.]*) import", notebook.read_text("utf-8"))
    }
    assert used - {"snhkit", "snhkit.errors", *reference.HOMES} == set()


def test_the_file_format_describes_every_kind_of_model():
    page = text_of("docs/file_format.md")
    table = page.split("## Kinds")[1].split("## ")[0]
    kinds = re.findall(r"^\| `(\w+)` \| `([\w/.]+)`", table, re.MULTILINE)
    for kind, source in kinds:
        model = loading._kind(kind)
        assert model.kind == kind
        assert model.__module__.replace(".", "/") + ".py" == source
    tree = ast.parse(text_of("snhkit/loading.py"))
    cases = [node.pattern for node in ast.walk(tree) if isinstance(node, ast.match_case)]
    loadable = [case for case in cases if isinstance(case, ast.MatchValue)]
    assert len(kinds) == len(loadable) - 1  # "prior" is refused


def test_the_file_format_describes_every_key():
    records = snhkit.synthetic_points("fargo", n=100)
    budget = snhkit.Budget(1, delta="1e-6")  # which all keys need
    data = snhkit.PrivateDataset(records, budget=budget, unit="record", n_public=True)
    release = data.release(snhkit.UniformGrid(), epsilon=1, delta="1e-6")
    table = text_of("docs/file_format.md").split("## The description")[1].split("## ")[0]
    keys = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(keys) == sorted(["format", *release.description()])
