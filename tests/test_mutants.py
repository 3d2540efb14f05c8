"""Each planted fault has a place in the source tree, and names tests that exist."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="not run from the source tree"
)


def test_each_fault_can_be_planted_and_is_named_once():
    """``python benchmarks/mutants.py`` plants them, and runs their tests."""
    faults = runpy.run_path(str(ROOT / "benchmarks" / "mutants.py"))["faults"]()
    assert len(faults) >= 64
    assert len({fault.name for fault in faults}) == len(faults)
    for fault in faults:
        assert fault.planted(ROOT)
        for test in fault.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), test
            for part in filter(None, name.partition("[")[0].split("::")):
                assert part in (ROOT / path).read_text(encoding="utf-8"), test


def test_a_fault_whose_place_is_gone_is_an_error(tmp_path):
    kind = runpy.run_path(str(ROOT / "benchmarks" / "mutants.py"))["Fault"]
    (tmp_path / "a.py").write_text("one two two")
    assert kind("", "a.py", "one", "1", ()).planted(tmp_path) == "1 two two"
    for file, old in (("a.py", "two"), ("a.py", "three"), ("b.py", "one")):
        with pytest.raises(ValueError, match="must occur once"):
            kind("", file, old, "", ()).planted(tmp_path)


def test_the_faults_of_each_promise_are_in_the_list():
    faults = runpy.run_path(str(ROOT / "benchmarks" / "mutants.py"))["faults"]()
    page = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    head = "| promise | mechanism | proven | tested | planted faults |"
    rows = page.partition(head)[2].partition("\n\n")[0].strip().splitlines()[1:]
    told = [f"{fault.name} {fault.file}" for fault in faults]
    patterns = [re.findall("`([^`]+)`", row.rpartition(" | ")[2]) for row in rows]
    assert len(patterns) > 10
    for pattern in (each.replace("\\|", "|") for row in patterns for each in row):
        assert any(re.search(pattern, text) for text in told), pattern
