"""Comparing releases, on a case worked by hand."""

import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.experiment import METHODS, OWNER_ONLY, method
from snhkit.experiment.run import Comparison, Plan, run

CITY = snh.Region.around(lat=43.04, lon=-87.91, side_m=1_000)


@pytest.fixture
def records() -> snh.Points:
    """2,000 records, so psi is 2: 1,500 at one place and 500 at another."""
    return snh.Points(CITY, np.repeat([[50.0, 50.0], [550.0, 550.0]], [1_500, 500], axis=0))


@pytest.fixture
def boxes() -> snh.RangeQueries:
    """Around the first place, around the second, and around nothing."""
    return snh.RangeQueries(CITY, [0, 500, 900], [0, 500, 900], [100] * 3, [100] * 3)


class Told:
    """A release that answers what it was told."""

    epsilon = Fraction(1, 5)

    def __init__(self, *counts: float) -> None:
        self.counts = np.array(counts, float)

    def answer(self, _queries: snh.RangeQueries) -> np.ndarray:
        return self.counts

    def to_bytes(self) -> bytes:
        return b"12345"


def test_by_hand(records, boxes):
    releases = {"right": Told(1_500, 500, 0), "wrong": Told(1_350, 600, -4)}
    table = snh.compare(releases, boxes, truth=records)
    assert list(table.columns) == [
        "method", "epsilon", "rel_error", "abs_error", "query_us", "bytes",
    ]  # fmt: skip
    assert table["method"].tolist() == ["right", "wrong"]
    assert table["epsilon"].tolist() == [0.2, 0.2]
    assert table["rel_error"].tolist() == pytest.approx([0, (0.1 + 0.2 + 4 / 2) / 3])
    assert table["abs_error"].tolist() == pytest.approx([0, (150 + 100 + 4) / 3])
    assert table["bytes"].tolist() == [5, 5]
    assert (table["query_us"] >= 0).all()
    assert table.attrs["warning"] == OWNER_ONLY


def test_bytes_are_those_of_the_saved_file(records, boxes, tmp_path):
    data = snh.PrivateDataset(records, budget=1, unit="record", n="public")
    release = data.release(snh.UniformGrid(), epsilon=1)
    size = release.save(tmp_path / "a.snh").stat().st_size
    assert snh.compare({"UG": release}, boxes, truth=records)["bytes"].tolist() == [size]


def test_run_spends_what_it_planned_and_no_more(records, boxes):
    found = run(records, None, boxes, Plan(("ug", "identity"), ("0.1", "0.2"), cell_m=50))
    ledger = found.dataset.ledger
    assert ledger.total == Fraction(6, 10)  # (0.1 + 0.2) for each of two
    assert ledger.remaining == 0
    assert list(found.releases) == [
        ("ug", 0.1), ("identity", 0.1), ("ug", 0.2), ("identity", 0.2),
    ]  # fmt: skip
    assert [release.epsilon for release in found.releases.values()] == [
        Fraction(1, 10), Fraction(1, 10), Fraction(1, 5), Fraction(1, 5),
    ]  # fmt: skip
    assert list(found.table.columns) == [
        "method", "epsilon", "rel_error", "abs_error", "build_s", "query_us", "bytes",
    ]  # fmt: skip
    assert list(zip(found.table["method"], found.table["epsilon"], strict=True)) == list(
        found.releases
    )
    assert (found.table["build_s"] > 0).all()
    assert found.table.attrs["warning"] == OWNER_ONLY


def test_a_weaker_promise_is_told():
    releases = {
        ("ug", 1.0): 0,
        ("dpsgd", 1.0): Fraction(1, 10**6),
        ("dpsgd", 2.0): Fraction(1, 10**6),
    }
    told = {key: SimpleNamespace(delta=delta) for key, delta in releases.items()}
    comparison = Comparison(None, told, None)  # pyright: ignore[reportArgumentType]
    assert comparison.cautions == [
        "DP-SGD promises less than pure epsilon: delta = 0.000001. A demonstration, not to publish."
    ]


def test_run_passes_the_cell_width_on_and_keeps_seeds_apart_from_real_noise(records, boxes):
    plans = [Plan(("identity",), (1,), cell_m=100, seed=seed) for seed in (7, 7, None)]
    releases = [run(records, None, boxes, plan).releases["identity", 1.0] for plan in plans]
    assert [release.replayable for release in releases] == [True, True, False]
    assert releases[0].hyperparameters["cell_m"] == 100
    answers = [release.answer(boxes).tolist() for release in releases]
    assert answers[0] == answers[1]


def test_methods_have_titles_and_builders():
    assert [METHODS[name].title for name in ("ug", "snh", "denoised")] == [
        "UG",
        "SNH",
        "Denoised grid",
    ]
    assert METHODS["identity"].builder(cell_m=30) == snh.Identity(30)
    assert METHODS["ug"].builder(cell_m=30) == snh.UniformGrid()
    assert METHODS["snh"].builder(sizes_m=(50, 200), cell_m=30) == snh.SNH(30, (50, 200))


def test_a_misspelt_method_is_told_what_there_is():
    with pytest.raises(InputError, match=re.escape("'identiy'; there are ug, identity, ag, ")):
        method("identiy")
    with pytest.raises(InputError, match="Did you mean identity"):
        method("identiy")
