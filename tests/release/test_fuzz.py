"""Release files of every kind, changed at random, load or end in ReleaseFileError."""

import itertools
import random
import runpy
from functools import cache
from pathlib import Path

import pytest

from snhkit import load
from snhkit.loading import _kind

FUZZ = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fuzz_files.py"))
MODELS = (
    "grid", "grid, blocks", "grid, axes", "partition", "tessellation", "denoised",
    "kind snh, encoder", "kind snh, paper's network", "dpsgd",
)  # fmt: skip


@cache
def parts() -> dict:
    """The description and the arrays of a file of each model."""
    return {name: FUZZ["parts"](model) for name, model in FUZZ["models"]().items()}


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_changed_it_loads_or_is_refused(name, tmp_path):
    draw = random.Random(name)
    found = [
        FUZZ["tried"](FUZZ["changed"](*parts()[name], draw)[1], tmp_path / "changed.snh")
        for _ in range(60)
    ]
    assert set(found) == {"loaded", "refused"}


@pytest.mark.parametrize("name", MODELS)
def test_unchanged_files_load(name, tmp_path):
    header, arrays = parts()[name]
    (tmp_path / "a.snh").write_bytes(FUZZ["encoded"](header, arrays))
    assert {"format": 1, **load(tmp_path / "a.snh").description()} == header


def test_every_kind_is_changed():
    assert set(parts()) == set(MODELS)
    told = {header["kind"] for header, _ in parts().values()}
    assert told == {"grid", "partition", "tessellation", "denoised", "snh", "dpsgd"}
    assert all(_kind(kind).kind == kind for kind in told)


def test_small_files_that_ask_for_much_memory_are_bounded(tmp_path):
    """The limits themselves, since the memory of a process that runs other tests tells nothing."""
    bombs = dict(itertools.islice(FUZZ["bombs"](), 5))
    found = {name: FUZZ["tried"](data, tmp_path / "bomb.snh") for name, data in bombs.items()}
    refused = {name for name, what in found.items() if what == "refused"}
    assert refused == {"3,000,000 lists", "50,000 arrays", "100 million tiles"}
