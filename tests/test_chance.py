"""Tests do not fail by chance, or say how rarely: what ``conftest.py`` promises of all others."""

import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from snhkit.privacy import SystemEntropy


def seeded(request: pytest.FixtureRequest, name: str) -> list[int]:
    """The first words that a test or fixture of this name is given."""
    seed = [request.config.getoption("noise_seed"), zlib.crc32(name.encode())]
    return np.random.PCG64(seed).random_raw(4).tolist()


def plugin_of(request: pytest.FixtureRequest) -> Any:
    return request.config.pluginmanager.get_plugin("noise")


def system() -> list[int]:
    return SystemEntropy().words(4).tolist()


@pytest.fixture
def own() -> list[int]:
    return system()


@pytest.fixture(scope="module")
def shared() -> list[int]:
    return system()


def test_noise_is_repeatable_and_each_tests_own(request, own):
    assert own == seeded(request, request.node.nodeid)
    assert system() != own


def test_what_tests_share_does_not_depend_on_which_is_first(request, shared):
    assert shared == seeded(request, "tests/test_chance.py::shared[0]")
    assert system() == seeded(request, request.node.nodeid)


@pytest.mark.chance(1e-70)
def test_marked_tests_draw_fresh_noise(request, own):
    assert own != seeded(request, request.node.nodeid)
    assert system() != own


def collect(request: pytest.FixtureRequest, *rates: float) -> None:
    marks = (pytest.mark.chance(rate) for rate in rates)
    items = [
        SimpleNamespace(nodeid=f"test_{i}", get_closest_marker=lambda _, mark=mark.mark: mark)
        for i, mark in enumerate(marks)
    ]
    plugin_of(request).pytest_collection_modifyitems(request.config, items)


@pytest.mark.parametrize("rates", [(2e-5,), (1e-7,) * 101, (0,), (-1e-7,)])
def test_chances_that_add_up_to_too_much_are_refused(request, rates, monkeypatch):
    monkeypatch.setattr(plugin_of(request), "repeats", None)
    collect(request, 1e-7, 1e-6)
    with pytest.raises(pytest.UsageError, match=r"add up to at most 1e-05:\n.* test_0"):
        collect(request, *rates)
