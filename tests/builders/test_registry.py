"""The contract and the audits have every method; a package of one's own adds another."""

import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snhkit.builders.base import hyperparameters
from snhkit.methods import METHODS, key_of, title_of
from snhkit.neural import Prior

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="not run from the source tree"
)


def kinds(builders) -> set[type]:
    return {type(builder) for builder in builders}


def test_the_contract_and_the_audits_have_every_method():
    wanted = kinds(method.builder() for method in METHODS.values())
    contract = runpy.run_path(str(HERE / "test_contract.py"))["BUILDERS"]
    audits = runpy.run_path(str(ROOT / "benchmarks" / "audits.py"))["METHODS"]
    assert wanted - kinds(contract.values()) == set()
    assert wanted - kinds(audits.values()) == set()


@pytest.mark.parametrize("key", METHODS)
def test_a_release_is_called_what_built_it(key):
    builder = METHODS[key].builder()
    made: Any = SimpleNamespace(
        method=type(builder).__name__, hyperparameters=hyperparameters(builder)
    )
    assert (key_of(made), title_of(made)) == (key, METHODS[key].title)


def test_snh_on_a_denoised_grid_has_no_key_and_a_title_of_its_own():
    builder = replace(METHODS["snh"].builder(), prior=Prior())
    made: Any = SimpleNamespace(method="SNH", hyperparameters=hyperparameters(builder))
    assert (key_of(made), title_of(made)) == (None, "SNH (on a denoised grid)")


TRIED = """
import sys
import snhkit as snh
from snhkit.cli.main import app
from snhkit.methods import METHODS
from snhkit.viz.figures import method_styles

assert list(METHODS)[-1] == "quarters" and "broken" not in METHODS
words = "compare --methods quarters,ug --city fargo --n 500 --epsilon 0.5 --queries 9"
app(words.split(), standalone_mode=False)
explorer = snh.explore(city="fargo", n=500, methods=["quarters"])
assert explorer._controls.ticks["quarters"].value
styles = method_styles(["Quarters", "UG"])
assert styles["Quarters"] != styles["UG"]
records = snh.synthetic_points("fargo", n=500)
data = snh.PrivateDataset(records, budget=1, unit="record")
release = data.release(METHODS["quarters"].builder(), epsilon=0.5)
low, high = release.interval(snh.RangeQueries.squares(records.region, [5_000, 5_000], 800))[0]
assert low < high
"""


def test_a_package_of_ones_own_adds_the_method_of_contributing(tmp_path):
    """The recipe of CONTRIBUTING.md, followed in a folder on the path."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Add a method")[1]
    module = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    told = re.search(r'```toml\n\[project.entry-points."(.*?)"\]\n(.*?)```', page, re.DOTALL)
    group, entry = told.groups()
    (tmp_path / "my_package.py").write_text(module, encoding="utf-8")
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    lines = [f"[{group}]", entry.replace(chr(34), ""), "broken = my_package:gone"]
    (info / "entry_points.txt").write_text("\n".join([*lines, "ug = my_package:QUARTERS"]))
    other = tmp_path / "zother-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: zother\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("\n".join(lines[:2]))
    done = subprocess.run(
        [sys.executable, "-c", TRIED],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Quarters" in done.stdout
    assert "my-package: the method broken is left out" in done.stderr
    assert "my-package: ug is left out: it is the name of another method" in done.stderr
    assert "quarters is left out: it is the name of another method" in done.stderr
