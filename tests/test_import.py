"""What ``import snhkit`` brings, and which way the package's arrows point."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import snhkit

HEAVY = (
    "jax", "optax", "scipy", "sklearn", "pandas", "pyarrow", "geopandas", "shapely", "pyproj",
    "matplotlib", "folium", "ipywidgets", "anywidget", "IPython", "numpy",
)  # fmt: skip
ROOT = Path(__file__).parents[1]


def test_import_brings_no_large_library():
    code = f"import sys, snhkit; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_type_checkers_see_the_same_names():
    stub = Path(snhkit.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    lazy = [node for node in ast.walk(ast.parse(stub)) if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname for node in lazy for alias in node.names}
    assert seen == set(snhkit.__all__) <= set(dir(snhkit))


def test_a_name_that_is_not_there_is_missed():
    assert not hasattr(snhkit, "fit_region")
    assert isinstance(snhkit.__version__, str)


def test_arrows_point_down_only():
    if importlib.util.find_spec("importlinter") is None:
        pytest.skip("import-linter is not installed: it comes with the extra dev")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("the contracts are in pyproject.toml of the source tree, which is not here")
    # A process of its own: the linter changes the import path and the logging.
    found = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()",
         "--no-cache"],
        cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
