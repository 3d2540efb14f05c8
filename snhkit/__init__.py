"""Private locations in, range counts out.

The public names are loaded at first use, so that ``import snhkit`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snhkit.builders import DAWA as DAWA
    from snhkit.builders import HDMM as HDMM
    from snhkit.builders import PGM as PGM
    from snhkit.builders import AdaptiveGrid as AdaptiveGrid
    from snhkit.builders import HierarchicalGrid as HierarchicalGrid
    from snhkit.builders import Identity as Identity
    from snhkit.builders import Privelet as Privelet
    from snhkit.builders import PrivTree as PrivTree
    from snhkit.builders import QuadTree as QuadTree
    from snhkit.builders import UniformGrid as UniformGrid
    from snhkit.data import CITIES as CITIES
    from snhkit.data import city as city
    from snhkit.data import read_points as read_points
    from snhkit.data import synthetic_points as synthetic_points
    from snhkit.dataset import PrivateDataset as PrivateDataset
    from snhkit.experiment import METHODS as METHODS
    from snhkit.experiment import compare as compare
    from snhkit.geometry import Points as Points
    from snhkit.geometry import RangeQueries as RangeQueries
    from snhkit.geometry import Region as Region
    from snhkit.geometry import exact_counts as exact_counts
    from snhkit.neural import DPSGD as DPSGD
    from snhkit.neural import SNH as SNH
    from snhkit.privacy import Budget as Budget
    from snhkit.privacy import Ledger as Ledger
    from snhkit.release import Release as Release
    from snhkit.release_file import load as load
    from snhkit.select import ParamSelect as ParamSelect
    from snhkit.viz.districts import district_map as district_map
    from snhkit.viz.maps import compare_map as compare_map
    from snhkit.widgets.opening import explore as explore

_HOME = {
    "AdaptiveGrid": "builders",
    "Budget": "privacy",
    "CITIES": "data",
    "DAWA": "builders",
    "DPSGD": "neural",
    "HDMM": "builders",
    "HierarchicalGrid": "builders",
    "Identity": "builders",
    "Ledger": "privacy",
    "METHODS": "experiment",
    "PGM": "builders",
    "ParamSelect": "select",
    "Points": "geometry",
    "PrivTree": "builders",
    "PrivateDataset": "dataset",
    "Privelet": "builders",
    "QuadTree": "builders",
    "RangeQueries": "geometry",
    "Region": "geometry",
    "Release": "release",
    "SNH": "neural",
    "UniformGrid": "builders",
    "city": "data",
    "compare": "experiment",
    "compare_map": "viz.maps",
    "district_map": "viz.districts",
    "exact_counts": "geometry",
    "explore": "widgets.opening",
    "load": "release_file",
    "read_points": "data",
    "synthetic_points": "data",
}

__all__ = [
    "CITIES",
    "DAWA",
    "DPSGD",
    "HDMM",
    "METHODS",
    "PGM",
    "SNH",
    "AdaptiveGrid",
    "Budget",
    "HierarchicalGrid",
    "Identity",
    "Ledger",
    "ParamSelect",
    "Points",
    "PrivTree",
    "PrivateDataset",
    "Privelet",
    "QuadTree",
    "RangeQueries",
    "Region",
    "Release",
    "UniformGrid",
    "city",
    "compare",
    "compare_map",
    "district_map",
    "exact_counts",
    "explore",
    "load",
    "read_points",
    "synthetic_points",
]
__version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("snhkit")
    if name not in _HOME:
        raise AttributeError(f"module 'snhkit' has no attribute {name!r}")
    return getattr(import_module(f"snhkit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
