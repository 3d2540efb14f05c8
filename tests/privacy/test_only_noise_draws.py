"""Scans of the source: privacy noise is drawn in one file only."""

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import snhkit

ROOT = Path(snhkit.__file__).parent
NOISE = ROOT / "privacy" / "noise.py"
SECRET = {
    "urandom", "getrandom", "secrets", "SystemRandom", "laplace", "dlaplace", "make_laplace",
    "gauss", "normalvariate", "make_gaussian",
}  # fmt: skip
DEMONSTRATION = "gaussian_for_demonstration"

# Besides entropy.py, not privacy noise: a token that names a page, the key of fingerprints, and
# what hand-ins of students must not guess.
ALLOWED = {
    "privacy/entropy.py": {"urandom"},
    "widgets/draw_map.py": {"secrets"},
    "privacy/fingerprint.py": {"urandom"},
    "teaching/league.py": {"secrets"},
    "cli/course.py": {"secrets"},  # the key of a class
}


def names(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                found.update(name.split("."))
            case ast.ImportFrom(module=str(name)):
                found.update(name.split("."))
    return found


def unseeded(tree: ast.AST) -> bool:
    """Return whether a generator is made without a seed, which draws the system's entropy."""
    makers = {"default_rng", "SeedSequence", "PCG64", "Philox", "Random"}
    return any(
        isinstance(node, ast.Call)
        and not node.args
        and not node.keywords
        and names(node.func) & makers
        for node in ast.walk(tree)
    )


def claims_parallel(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and names(node.func) & {"Spend", "replace"}
        and any(
            isinstance(value, ast.Constant) and value.value == "parallel"
            for value in [*node.args, *(keyword.value for keyword in node.keywords)]
        )
        for node in ast.walk(tree)
    )


def makes_histogram(tree: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and "Histogram" in names(n.func) for n in ast.walk(tree))


@cache
def trees() -> dict[str, ast.Module]:
    """Return the parsed modules of the package by their paths."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in ROOT.rglob("*.py")
    }


def where(found: Callable[[ast.AST], object]) -> set[str]:
    """Return the modules in which something is found."""
    return {path for path, tree in trees().items() if found(tree)}


def test_the_whole_package_is_scanned():
    assert len(trees()) > 200
    assert {"__init__.py", "privacy/noise.py", "neural/networks/train.py"} < set(trees())


def test_only_grids_and_partitions_make_a_histogram():
    makers = {f"geometry/{name}.py" for name in ("grid", "histogram", "partition")}
    makers.add("release/polygon_model.py")
    makers.add("data/counting/exact.py")  # only of proven cells
    assert where(makes_histogram) == makers


def test_no_other_module_draws_privacy_noise():
    assert where(unseeded) == set()
    secret = {path: names(tree) & SECRET for path, tree in trees().items()}
    assert {path: found for path, found in secret.items() if found} == ALLOWED
    assert where(claims_parallel) == {"privacy/noise.py", "privacy/spend.py"}


@pytest.mark.parametrize(
    "line",
    [
        "import secrets",
        "from os import urandom",
        "import os; os.urandom(8)",
        "rng.laplace(size=3)",
        "import numpy.random.laplace",
        "from scipy.stats import dlaplace as d",
    ],
)
def test_the_scan_finds_secret_draws(line: str):
    assert names(ast.parse(line)) & SECRET


def test_the_scan_finds_missing_seeds_and_parallel_claims():
    assert unseeded(ast.parse("np.random.default_rng().normal()"))
    assert not unseeded(ast.parse("np.random.default_rng(seed)"))
    assert claims_parallel(ast.parse("Spend(e, 'x', 'parallel')"))
    assert claims_parallel(ast.parse("spend.Spend(e, 'x', composition='parallel')"))
    assert not claims_parallel(ast.parse("Spend(e, 'parallel lines')"))


def sampler(source: str) -> ast.Module:
    """Parse the module of the noise, without the function that is for demonstrations."""
    tree = ast.parse(source)
    tree.body = [n for n in tree.body if getattr(n, "name", None) != DEMONSTRATION]
    return tree


def floats(tree: ast.AST) -> set[str]:
    """Return the names and constants in a tree that make floating-point numbers."""
    makers = {
        "float", "float64", "float32", "exp", "log", "log1p", "sqrt", "cos", "sin", "pi", "random",
        "uniform", "normal", "standard_normal", "ndtri",
    }  # fmt: skip
    constants = {
        str(n.value)
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and type(n.value) is float
    }
    return (names(tree) & makers) | constants


def test_no_float_enters_the_sampler():
    source = NOISE.read_text(encoding="utf-8")
    tree = sampler(source)
    assert len(tree.body) == len(ast.parse(source).body) - 1
    assert DEMONSTRATION not in names(tree)  # nothing else in the file calls it
    assert floats(tree) == set()
    divisions = [n for n in ast.walk(tree) if isinstance(n, ast.Div)]
    assert len(divisions) == 1  # count / 64, words of signs


@pytest.mark.parametrize(
    "function",
    [
        "def gaussian(count, std): return std * np.sqrt(2)",
        "def also_for_demonstration(n): return n * 0.5",
        "def rounded(n): return n.astype(np.float32)",
        "def outer():\n    def gaussian_for_demonstration(n): return n * 0.5",
    ],
)
def test_the_scan_finds_a_float_in_any_other_function(function: str):
    assert floats(sampler(NOISE.read_text(encoding="utf-8") + "\n\n" + function))


def test_only_noisy_gradients_are_drawn_in_floating_point():
    """Only ``gradients.py`` draws Gaussian noise, and only DP-SGD uses it."""
    assert where(lambda tree: DEMONSTRATION in names(tree)) == {"privacy/gradients.py"}
    assert where(lambda tree: "gradient_noise" in names(tree)) == {"privacy/measurements.py"}


def test_only_grids_and_partitions_are_declared_proven():
    """What carries ``@proven`` may be counted in private records, at one epsilon for all cells."""
    assert where(lambda tree: "proven" in names(tree)) == {
        "geometry/grid.py",
        "geometry/partition.py",
        "release/polygon_model.py",
    }
