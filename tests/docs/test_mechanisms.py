"""The page of mechanisms names functions and tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mechanisms.md"

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from the source tree"
)


def sections() -> dict[str, str]:
    """Return the text of each section by its heading."""
    _, *parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {part.partition("\n")[0]: part for part in parts}


def defined(path: str) -> set[str]:
    """Return the functions and classes of a file, and the methods of classes as Class.method."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            found |= {f"{node.name}.{part.name}" for part in ast.walk(node)
                      if part is not node and isinstance(part, ast.FunctionDef)}  # fmt: skip
    return found


@pytest.mark.parametrize("heading", sections())
def test_each_section_states_the_same_things(heading):
    rows = re.findall(r"^\| (\w[\w ]*) \|", sections()[heading], re.MULTILINE)
    assert rows[-2:] == ["function", "guarded by"]
    assert "theorem" in rows


@pytest.mark.parametrize("heading", sections())
def test_the_functions_and_the_tests_exist(heading):
    functions = re.findall(r"`(snhkit/[\w/.]+\.py):([\w.]+)`", sections()[heading])
    tests = re.findall(r"`(tests/[\w/.]+\.py)::([\w.]+)`", sections()[heading])
    assert functions
    assert tests
    for path, name in functions + tests:
        assert name in defined(path), f"{path} has no {name}"


def test_all_functions_that_draw_noise_are_on_the_page():
    """Those of ``privacy`` that take records and an entropy."""
    page = PAGE.read_text(encoding="utf-8")
    for path in sorted((ROOT / "snhkit" / "privacy").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name = node.name if isinstance(node, ast.FunctionDef) else ""
            if re.match(r"noisy_(?!gradient)|gradient_noise", name):
                assert f":{name}`" in page, f"{path.name}:{name}"
