"""Comparing releases, on a case worked by hand."""

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.experiment import OWNER_ONLY
from snhkit.experiment.compare import Comparison, Plan, run
from snhkit.experiment.evaluation import anywhere

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
    """A release that answers the boxes around records as it was told, and others with 3 each."""

    epsilon = Fraction(1, 5)
    region = CITY

    def __init__(self, *counts: float) -> None:
        self.counts = np.array(counts, float)

    def answer(self, queries: snh.RangeQueries) -> np.ndarray:
        around = len(queries) == 3 and queries.x.tolist() == [0, 500, 900]
        return self.counts if around else np.full(len(queries), 3.0)

    def to_bytes(self) -> bytes:
        return b"12345"


class Exactly:
    """A release without noise."""

    epsilon = Fraction(1, 5)
    region = CITY

    def __init__(self, records: snh.Points) -> None:
        self.records = records

    def answer(self, queries: snh.RangeQueries) -> np.ndarray:
        return snh.exact_counts(self.records, queries).astype(float)

    def to_bytes(self) -> bytes:
        return b""


def test_by_hand(records, boxes):
    releases = {"right": Told(1_500, 500, 0), "wrong": Told(1_350, 600, -4)}
    table = snh.compare(releases, boxes, truth=records)
    assert list(table.columns) == [
        "method", "epsilon", "rel_error", "abs_error", "abs_error_anywhere", "adds_up",
        "query_us", "bytes",
    ]  # fmt: skip
    elsewhere = snh.exact_counts(records, anywhere(boxes))
    assert table["abs_error_anywhere"].tolist() == pytest.approx([np.abs(elsewhere - 3).mean()] * 2)
    assert table["adds_up"].tolist() == [100 * 3 / 2_000] * 2  # 100 tiles, 2,000 records
    assert table["method"].tolist() == ["right", "wrong"]
    assert table["epsilon"].tolist() == [0.2, 0.2]
    assert table["rel_error"].tolist() == pytest.approx([0, (0.1 + 0.2 + 4 / 2) / 3])
    assert table["abs_error"].tolist() == pytest.approx([0, (150 + 100 + 4) / 3])
    assert table["bytes"].tolist() == [5, 5]
    assert (table["query_us"] >= 0).all()
    assert table.attrs["warning"] == OWNER_ONLY


def test_without_noise_nothing_errs_and_answers_add_up(records, boxes):
    releases = {"exact": Exactly(records)}
    (row,) = snh.compare(releases, boxes, truth=records).to_dict("records")
    assert [row[k] for k in ("rel_error", "abs_error", "abs_error_anywhere", "adds_up")] == [
        0, 0, 0, 1,
    ]  # fmt: skip
    sizes = snh.compare_sizes(releases, truth=records)
    assert sizes[["rel_error", "abs_error_anywhere"]].to_numpy().tolist() == [[0, 0]] * 3


def test_errors_by_size_have_a_row_for_each_release_and_each_band_that_fits(records):
    sizes = snh.compare_sizes({"one": Told(), "two": Told()}, truth=records, count=50)
    assert sizes.attrs["warning"] == OWNER_ONLY
    assert sizes["method"].tolist() == ["one"] * 3 + ["two"] * 3
    assert sizes["size"].tolist() == ["25-100 m", "100-300 m", "300-1,000 m"] * 2
    assert sizes["from_m"].tolist() == [25, 100, 300] * 2
    assert sizes["to_m"].tolist() == [100, 300, 1_000] * 2
    around = snh.RangeQueries.sample(records, 50, (100, 300))
    true, elsewhere = (snh.exact_counts(records, b) for b in (around, anywhere(around)))
    assert sizes["rel_error"][1] == pytest.approx(snh_relative(np.full(50, 3.0), true))
    assert sizes["abs_error_anywhere"][1] == pytest.approx(np.abs(elsewhere - 3).mean())


def snh_relative(answers: np.ndarray, true: np.ndarray) -> float:
    """With 2,000 records psi is 2."""
    return float(np.mean(np.abs(answers - true) / np.maximum(true, 2)))


def test_no_record_no_band(records):
    with pytest.raises(InputError, match="holds no records in the region"):
        snh.compare_sizes({"one": Told()}, truth=snh.Points(CITY, []))


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
        "method", "epsilon", "rel_error", "abs_error", "abs_error_anywhere", "adds_up",
        "build_s", "query_us", "bytes",
    ]  # fmt: skip
    assert list(zip(found.table["method"], found.table["epsilon"], strict=True)) == list(
        found.releases
    )
    assert (found.table["build_s"] > 0).all()
    assert found.table.attrs["warning"] == OWNER_ONLY
    assert (
        found.sizes["method"].tolist()
        == ["ug"] * 3 + ["identity"] * 3 + ["ug"] * 3 + ["identity"] * 3
    )
    rows = json.loads(json.dumps(found.rows()))
    assert [(row["method"], row["epsilon"]) for row in rows] == list(found.releases)
    for k, row in enumerate(rows):
        assert list(row) == [*found.table.columns, "sizes", "warning"]
        assert row["warning"] == OWNER_ONLY
        assert [band["rel_error"] for band in row["sizes"]] == list(
            found.sizes["rel_error"][3 * k : 3 * k + 3]
        )


def test_a_builder_without_a_short_name_takes_part_under_its_title(records, boxes):
    plan = Plan(("ug",), ("0.1",), builders={"Identity, 50 m": snh.Identity(50)})
    found = run(records, None, boxes, plan)
    assert list(found.releases) == [("ug", 0.1), ("Identity, 50 m", 0.1)]
    assert found.table["method"].tolist() == ["ug", "Identity, 50 m"]
    assert found.releases["Identity, 50 m", 0.1].hyperparameters == {"cell_m": 50}
    assert found.dataset.ledger.remaining == 0


@pytest.mark.parametrize("name", ["ug", "UG"])
def test_a_builder_cannot_take_the_name_of_a_method(name):
    with pytest.raises(InputError, match=f"'{name}' is the name of a method; give the builder"):
        Plan(("ug",), (1,), builders={name: snh.Identity(50)})


def test_a_weaker_promise_is_told():
    releases = {
        ("ug", 1.0): 0,
        ("dpsgd", 1.0): Fraction(1, 10**6),
        ("dpsgd", 2.0): Fraction(1, 10**6),
    }
    told = {key: SimpleNamespace(delta=delta) for key, delta in releases.items()}
    comparison = Comparison(None, None, told, None)  # pyright: ignore[reportArgumentType]
    assert comparison.cautions == [
        "DP-SGD guarantees only (epsilon, delta)-differential privacy, with delta = 0.000001. "
        "It is a demonstration and must not be published."
    ]


def test_run_passes_the_cell_width_on_and_keeps_seeds_apart_from_real_noise(records, boxes):
    plans = [Plan(("identity",), (1,), cell_m=100, seed=seed) for seed in (7, 7, None)]
    releases = [run(records, None, boxes, plan).releases["identity", 1.0] for plan in plans]
    assert [release.replayable for release in releases] == [True, True, False]
    assert releases[0].hyperparameters["cell_m"] == 100
    answers = [release.answer(boxes).tolist() for release in releases]
    assert answers[0] == answers[1] != answers[2]
