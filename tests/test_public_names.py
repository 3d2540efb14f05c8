"""The public names are these, and each has a full numpydoc docstring, as have its methods."""

import inspect

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import snhkit

CONSTANTS = ["CITIES", "METHODS"]
MODULES = ["districts"]
NAMES = [
    "AdaptiveGrid", "Budget", "BudgetExceeded", "By",
    "CITIES", "DAWA", "DPSGD", "DenoisedGrid",
    "FeatureGrid", "HDMM", "HTF", "HierarchicalGrid", "Identity", "InputError", "Ledger", "METHODS",
    "MLP", "Networks", "NoisyQuantile", "PGM", "ParamSelect", "Points", "Prior", "PrivTree",
    "PrivateDataset", "Privelet", "QuadTree", "RangeQueries", "Region", "Release",
    "ReleaseFileError", "SNH", "SnhkitError", "Tessellation", "UniformGrid", "city", "compare",
    "compare_map", "compare_sizes", "district_map", "districts", "epsilon_for", "exact_counts",
    "expected_error", "explore", "load", "read_boxes", "read_points", "recommend", "save_page",
    "scan_points", "synthetic_points",
]  # fmt: skip
SUMMARY = {"GL08", "SS01", "SS03", "SS04", "SS06"}
"""There is a docstring, with a summary of one line that ends with a period and is not indented."""
PARAMETERS = {"PR01", "PR02", "PR03", "PR04", "PR07"}
"""Every parameter is documented, in order, with a type and a description."""
LISTED = {"PR02", "PR03", "PR07"}
"""What is listed as a parameter is one, and described."""
RETURNS = {"RT01", "RT03", "YD01"}
EXAMPLES = {"EX01"}


def faults(name: str, wanted: set[str]) -> list[str]:
    """What numpydoc finds wrong with the docstring of a name of snhkit, of these kinds."""
    found = validate(f"snhkit.{name}")["errors"]
    return [f"{name}: {code} {text}" for code, text in found if code in wanted]


def classes() -> list[str]:
    return [name for name in NAMES if inspect.isclass(getattr(snhkit, name))]


def members(name: str) -> list[str]:
    """The public methods and properties that a class of snhkit has from snhkit itself."""
    found = []
    for member, value in inspect.getmembers_static(getattr(snhkit, name)):
        function = getattr(value, "fget", None) or getattr(value, "func", None)
        function = function or getattr(value, "__func__", value)
        ours = (getattr(function, "__module__", None) or "").startswith("snhkit")
        if ours and not member.startswith("_") and inspect.isfunction(function):
            found.append(f"{name}.{member}")
    return found


def test_the_public_names_are_these():
    assert sorted(snhkit.__all__) == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CONSTANTS + MODULES])
def test_a_public_name_has_a_full_docstring(name):
    thing = getattr(snhkit, name)
    wanted = SUMMARY | PARAMETERS | EXAMPLES
    if not inspect.isclass(thing):
        wanted |= RETURNS
    assert faults(name, wanted) == []
    (first,) = get_doc_object(thing)["Summary"]
    assert first.endswith(".")
    assert len(first) < 100


@pytest.mark.parametrize("name", [member for name in classes() for member in members(name)])
def test_a_public_method_has_a_summary(name):
    assert faults(name, SUMMARY | LISTED) == []


def test_a_poor_docstring_is_found(monkeypatch):
    def poor(a, b):
        """does something

        Parameters
        ----------
        b : int
        """

    monkeypatch.setattr(snhkit, "poor", poor, raising=False)
    codes = {fault.split()[1] for fault in faults("poor", SUMMARY | PARAMETERS | EXAMPLES)}
    assert codes >= {"SS03", "PR01", "PR07", "EX01"}
