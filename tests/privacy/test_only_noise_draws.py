"""Scans of the source: privacy noise is drawn in one file only."""

import ast
from pathlib import Path

import pytest

import snhkit

ROOT = Path(snhkit.__file__).parent
NOISE = ROOT / "privacy" / "noise.py"
ENTROPY = ROOT / "privacy" / "entropy.py"
SECRET = {
    "urandom", "getrandom", "secrets", "SystemRandom", "laplace", "dlaplace", "make_laplace",
    "gauss", "normalvariate", "make_gaussian",
}  # fmt: skip
DEMONSTRATION = "gaussian_for_demonstration"

# Not privacy noise: a token that names a page, and the key of a ledger's fingerprints.
ALLOWED = {"widgets/draw_map.py": {"secrets"}, "privacy/fingerprint.py": {"urandom"}}


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


MODULES = pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)


@MODULES
def test_only_grids_and_partitions_make_a_histogram(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    makers = {ROOT / "geometry" / f"{name}.py" for name in ("grid", "histogram", "partition")}
    makers.add(ROOT / "release" / "polygon_partition.py")
    makers.add(ROOT / "data" / "counting" / "pass_counts.py")  # only of proven cells
    assert makes_histogram(tree) == (path in makers)


@MODULES
def test_no_other_module_draws_privacy_noise(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not unseeded(tree)
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), set())
    assert names(tree) & SECRET <= ({"urandom"} if path == ENTROPY else allowed)
    assert claims_parallel(tree) == (path == NOISE)


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


def test_no_float_enters_exact_draws():
    tree = ast.parse(NOISE.with_name("exact_draws.py").read_text(encoding="utf-8"))
    assert floats(tree) == set()
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Div)]


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


@MODULES
def test_only_noisy_gradients_are_drawn_in_floating_point(path: Path):
    """Only ``gradients.py`` draws Gaussian noise, and only DP-SGD uses it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    relative = path.relative_to(ROOT).as_posix()
    assert (DEMONSTRATION in names(tree)) == (
        relative in {"privacy/__init__.py", "privacy/gradients.py"}
    )
    assert ("gradient_noise" in names(tree)) == (
        relative in {"privacy/__init__.py", "privacy/measurements.py"}
    )


@MODULES
def test_only_grids_and_partitions_are_declared_proven(path: Path):
    """What carries ``@proven`` may be counted in private records, at one epsilon for all cells."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    relative = path.relative_to(ROOT).as_posix()
    assert ("proven" in names(tree)) == (
        relative
        in {
            "geometry/grid.py",
            "geometry/partition.py",
            "release/polygon_partition.py",
        }
    )
